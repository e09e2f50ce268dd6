# pdns-recursor: threads that each run user-space threads of their own (contexts on small stacks).
. "$weft_root/compat/programs/dns.bash"
recipe_packages="pdns-recursor bind9-dnsutils"
recipe_commands=(pdns_recursor dig)
recipe_about="threads that switch between contexts of their own, on stacks of their own"
recipe_better=higher

recipe_run() {
	local dir

	server_dir
	printf '$TTL 60\n@ SOA ns. root. 1 60 60 60 60\n@ NS ns.test.\none A 192.0.2.1\ntwo A 192.0.2.2\n' >"$dir/zone"
	port=$(free_port)
	start_server "$port" "$@" pdns_recursor --config-dir="$dir" --socket-dir="$dir" --daemon=no --write-pid=no \
		--local-address=127.0.0.1 --local-port="$port" --threads=4 --auth-zones="test=$dir/zone" \
		--security-poll-suffix= --dnssec=off --hint-file=no --disable-syslog=yes || return 1
	dns_answers "$port" || abandon_server || return 1
	stop_server
}
