# mosquitto: a broker with one loop; subscribers and publishers come and go.
recipe_packages="mosquitto mosquitto-clients"
recipe_commands=(mosquitto mosquitto_pub mosquitto_sub)
recipe_about="a broker: clients with threads of libmosquitto, messages kept and counted"
recipe_better=higher

recipe_run() {
	local port sub

	scratch
	port=$(free_port)
	start_server "$port" "$@" mosquitto -p "$port" || return 1
	timeout 30 mosquitto_sub -h 127.0.0.1 -p "$port" -t t -q 1 -C 500 >"$scratch_dir/got" &
	sub=$!
	sleep 0.5
	seq 500 | bounded 30 "$@" mosquitto_pub -h 127.0.0.1 -p "$port" -t t -q 1 -l 2>"$scratch_dir/err"
	wait "$sub"
	answer=$(wc -l <"$scratch_dir/got"),$(digest "$scratch_dir/got")
	figure=1 unit=run
	stop_server
}
