# rsyslog: input threads, queues and workers on condvars; a file gets what a socket was sent.
recipe_packages="rsyslog"
recipe_commands=(rsyslogd python3)
recipe_about="input threads, a queue, workers on condvars, files; what is queued is written at the end"
recipe_better=higher

recipe_run() {
	local port dir

	server_dir
	port=$(free_port)
	cat >"$dir/conf" <<-END
		global(workDirectory="$dir")
		module(load="imtcp")
		input(type="imtcp" address="127.0.0.1" port="$port")
		template(name="m" type="string" string="%msg%\n")
		main_queue(queue.workerThreads="4" queue.workerThreadMinimumMessages="10")
		action(type="omfile" file="$dir/log" template="m" queue.type="LinkedList" queue.saveonshutdown="on")
	END
	start_server "$port" "$@" rsyslogd -n -i "$dir/pid" -f "$dir/conf" || return 1
	timeout 60 python3 - "$port" <<-END
		import socket, sys, threading
		def send(n):
		    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
		    for i in range(200):
		        s.sendall(b"<13>Jan  1 00:00:00 h t: %d-%d\n" % (n, i))
		    s.close()
		ts = [threading.Thread(target=send, args=(n,)) for n in range(10)]
		for t in ts: t.start()
		for t in ts: t.join()
	END
	for i in $(seq 100); do
		[ "$(wc -l <"$dir/log" 2>/dev/null)" != 2000 ] || break
		sleep 0.1
	done
	stop_server || return 1
	answer=$(wc -l <"$dir/log"),$(sort "$dir/log" | digest)
	figure=1 unit=run
	[ "${answer%%,*}" = 2000 ] || why="lines written: ${answer%%,*} of 2000"
	[ -z "$why" ]
}
