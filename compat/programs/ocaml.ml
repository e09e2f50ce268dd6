(* Threads behind the master lock, events, a condition; a spinner beside a sleeper, signals, the collector. *)
let m = Mutex.create () and c = Condition.create ()
let n = ref 0 and turn = ref 0
let threads k f = List.map (fun i -> Thread.create f i) (List.init k (fun i -> i))
let join = List.iter Thread.join

let () =
  join (threads 6 (fun _ -> for _ = 1 to 500 do Mutex.lock m; incr n; Mutex.unlock m done));
  Printf.printf "%d\n" !n;
  join (threads 3 (fun i -> for _ = 1 to 50 do
    Mutex.lock m;
    while !turn mod 3 <> i do Condition.wait c m done;
    incr turn; Condition.broadcast c; Mutex.unlock m done));
  Printf.printf "%d\n" !turn;
  let stop = ref false in
  let spinner = Thread.create (fun () -> while not !stop do ignore (Array.make 100 0); Thread.yield () done) () in
  Thread.delay 0.1;
  stop := true;
  Thread.join spinner;
  let ch = Event.new_channel () in
  let sum = ref 0 in
  let ts = threads 5 (fun i -> Event.sync (Event.send ch (i * i))) in
  for _ = 1 to 5 do sum := !sum + Event.sync (Event.receive ch) done;
  join ts;
  Printf.printf "%d\n" !sum;
  Sys.set_signal Sys.sigalrm (Sys.Signal_handle (fun _ -> raise Exit));
  (try ignore (Unix.alarm 1); while true do ignore (Sys.opaque_identity (ref 0)) done with Exit -> print_endline "alarm");
  let r, w = Unix.pipe () in
  let reader = Thread.create (fun () -> let b = Bytes.create 10 in let k = Unix.read r b 0 10 in print_endline (Bytes.sub_string b 0 k)) () in
  ignore (Unix.write_substring w "piped" 0 5);
  Thread.join reader;
  Gc.compact ();
  print_endline (String.concat " " (List.map string_of_int (List.init 5 (fun i -> i))))
