# knot: an authoritative name server with pools of UDP, TCP and background threads, and RCU.
. "$weft_root/compat/programs/dns.bash"
recipe_packages="knot bind9-dnsutils"
recipe_commands=(knotd dig)
recipe_about="pools of threads for UDP, TCP and the background, RCU between them, LMDB"
recipe_better=higher

recipe_run() {
	local dir

	server_dir
	printf '$ORIGIN test.\n$TTL 60\n@ SOA ns root 1 60 60 60 60\n@ NS ns\nns A 192.0.2.9\none A 192.0.2.1\ntwo A 192.0.2.2\n' >"$dir/test.zone"
	port=$(free_port)
	cat >"$dir/conf" <<-END
		server:
		    rundir: "$dir"
		    listen: 127.0.0.1@$port
		    udp-workers: 4
		    tcp-workers: 4
		    background-workers: 2
		database:
		    storage: "$dir"
		zone:
		  - domain: test
		    storage: "$dir"
		    file: test.zone
	END
	start_server "$port" "$@" knotd -c "$dir/conf" || return 1
	dns_answers "$port" || abandon_server || return 1
	stop_server
}
