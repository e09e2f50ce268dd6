# rabbitmq: Erlang's schedulers, a broker with durable queues; clients publish and take.
recipe_packages="rabbitmq-server amqp-tools"
recipe_commands=(erl amqp-publish amqp-get)
recipe_about="Erlang's JIT, schedulers and collector under a broker; durable messages are put and taken"
recipe_better=higher

recipe_run() {
	local port dir i plugins url

	server_dir
	port=$(free_port)
	plugins=$(ls -d /usr/lib/rabbitmq/lib/rabbitmq_server-*/plugins | tail -n 1)
	[ -d "$plugins" ] || { why="rabbitmq-server is not installed"; return 1; }
	printf 'listeners.tcp.1 = 127.0.0.1:%d\nloopback_users = none\n' "$port" >"$dir/rabbitmq.conf"
	: >"$dir/enabled"
	export HOME=$dir RABBITMQ_NODENAME=weft$port@localhost RABBITMQ_CONFIG_FILE=$dir/rabbitmq.conf RABBITMQ_MNESIA_BASE=$dir/db \
		RABBITMQ_LOG_BASE=$dir RABBITMQ_ENABLED_PLUGINS_FILE=$dir/enabled RABBITMQ_DIST_PORT=$((port + 2000)) \
		RABBITMQ_PID_FILE=$dir/pid ERL_EPMD_PORT=$((port + 3000))
	server_patience=60 start_server "$port" "$@" "${plugins%/plugins}/sbin/rabbitmq-server" || { pkill_epmd; return 1; }
	url=amqp://guest:guest@127.0.0.1:$port
	timeout 20 amqp-declare-queue --url="$url" -d -q q >/dev/null 2>"$scratch_dir/err"
	for i in $(seq 50); do
		timeout 20 amqp-publish --url="$url" -r q -p -b "message $i" 2>>"$scratch_dir/err"
	done
	answer=$(for i in $(seq 50); do timeout 20 amqp-get --url="$url" -q q 2>>"$scratch_dir/err"; echo; done | digest)
	figure=1 unit=run
	stop_server
	i=$?
	pkill_epmd
	return $i
}

# The port mapper outlives the broker that started it.
pkill_epmd() {
	epmd -port "$ERL_EPMD_PORT" -kill >/dev/null 2>&1
}
