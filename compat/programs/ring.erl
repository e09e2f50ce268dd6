-module(ring).
-export([main/0]).

main() ->
    io:format("~p~n", [ring(500, 200)]),
    io:format("~p~n", [lists:sum(pmap(fun(N) -> length([X || X <- lists:seq(1, 3000), X rem N == 0]) end, lists:seq(1, 200)))]),
    io:format("~p~n", [echo(20, 30)]),
    Hash = crypto_free(lists:seq(1, 20)),
    io:format("~p~n", [Hash]),
    io:format("~s", [os:cmd("echo a child")]),
    ok = file:write_file("f", binary:copy(<<"x">>, 100000)),
    {ok, B} = file:read_file("f"),
    io:format("~p~n", [byte_size(zlib:uncompress(zlib:compress(B)))]),
    receive after 20 -> ok end,
    erlang:garbage_collect(),
    io:format("~p~n", [erlang:system_info(emu_flavor) =/= none]),
    halt(0).

ring(N, Rounds) ->
    Me = self(),
    Last = lists:foldl(fun(_, Next) -> spawn(fun() -> pass(Next) end) end, Me, lists:seq(1, N)),
    go(Last, Rounds, 0).

go(Last, 0, Sum) -> Last ! stop, receive stop -> ok end, Sum;
go(Last, R, Sum) -> Last ! R, receive R -> go(Last, R - 1, Sum + R) end.

pass(Next) -> receive stop -> Next ! stop; M -> Next ! M, pass(Next) end.

pmap(F, L) ->
    Me = self(),
    Refs = [begin Ref = make_ref(), spawn_link(fun() -> Me ! {Ref, F(X)} end), Ref end || X <- L],
    [receive {Ref, V} -> V end || Ref <- Refs].

echo(Clients, Times) ->
    {ok, L} = gen_tcp:listen(0, [binary, {active, false}, {packet, 2}, {ip, {127, 0, 0, 1}}]),
    {ok, Port} = inet:port(L),
    spawn(fun() -> accept(L) end),
    lists:sum(pmap(fun(N) ->
        {ok, S} = gen_tcp:connect({127, 0, 0, 1}, Port, [binary, {active, false}, {packet, 2}]),
        Good = length([ok || T <- lists:seq(1, Times), begin M = term_to_binary({N, T}), ok = gen_tcp:send(S, M), {ok, M} == gen_tcp:recv(S, 0) end]),
        gen_tcp:close(S), Good end, lists:seq(1, Clients))).

accept(L) ->
    {ok, S} = gen_tcp:accept(L),
    P = spawn(fun() -> receive go -> serve(S) end end),
    ok = gen_tcp:controlling_process(S, P),
    P ! go,
    accept(L).

serve(S) -> case gen_tcp:recv(S, 0) of {ok, M} -> gen_tcp:send(S, M), serve(S); _ -> ok end.

crypto_free(L) -> erlang:phash2(pmap(fun(N) -> erlang:md5(binary:copy(<<N>>, 10000)) end, L)).
