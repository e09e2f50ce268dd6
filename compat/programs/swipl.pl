% Queues, mutexes and signals of threads, and collectors of terms and atoms that stop the others.
:- initialization(main).
w(Q,R) :- thread_get_message(Q, M), ( M == done -> true ; M = n(X), Y is X*X, thread_send_message(R, Y), w(Q,R) ).
sum(_, 0, S, S) :- !.
sum(R, N, A, S) :- thread_get_message(R, X), A1 is A+X, N1 is N-1, sum(R, N1, A1, S).
fib(0,0) :- !. fib(1,1) :- !.
fib(N,F) :- A is N-1, B is N-2, fib(A,X), fib(B,Y), F is X+Y.
mk(0,[]) :- !. mk(N,[f(N,g(N))|T]) :- M is N-1, mk(M,T).
loop :- repeat, fail.
main :-
  message_queue_create(Q,[max_size(10)]), message_queue_create(R),
  findall(T, (between(1,8,_), thread_create(w(Q,R),T)), Ts),
  forall(between(1,5000,I), thread_send_message(Q,n(I))),
  forall(between(1,8,_), thread_send_message(Q,done)),
  sum(R,5000,0,S), writeln(S), forall(member(T,Ts), (thread_join(T,St), writeln(St))),
  numlist(10,20,L), concurrent_maplist(fib,L,Fs), writeln(Fs),
  concurrent(4,[fib(18,A),fib(19,B),fib(17,C)],[]), writeln([A,B,C]),
  first_solution(X,[(fib(22,_),X=a),(X=b)],[]), ( memberchk(X,[a,b]) -> writeln(first) ; true ),
  mutex_create(M), nb_setval(k,0), flag(cnt,_,0),
  findall(T,(between(1,6,_),
    thread_create(forall(between(1,2000,_),with_mutex(M,flag(cnt,N,N+1))),T)),T2), maplist(thread_join,T2,_),
    flag(cnt,V,V), writeln(V),
  thread_create(loop,Lp), sleep(0.1), thread_signal(Lp,throw(stop)), thread_join(Lp,St2), writeln(St2),
  findall(T,(between(1,4,_),thread_create((between(1,20,_),mk(20000,_),garbage_collect,fail;true),T)),T3),
    maplist(thread_join,T3,S3), writeln(S3),
  findall(T,(between(1,4,J),thread_create((forall(between(1,3000,K),(atom_concat(aa_,J,A1),atom_concat(A1,K,_))),
    garbage_collect_atoms),T)),T4), maplist(thread_join,T4,S4), writeln(S4),
  catch(call_with_depth_limit(fib(10,F10),1000,_),_,true), writeln(F10),
  forall(between(1,300,_),(thread_create(true,Tx),thread_join(Tx,_))),
  thread_create((thread_self(Me),thread_detach(Me),thread_exit(x)),_),
  halt(0).
