# unbound: a resolver whose threads each have their event loop and share caches behind locks.
. "$weft_root/compat/programs/dns.bash"
recipe_packages="unbound bind9-dnsutils"
recipe_commands=(unbound dig)
recipe_about="four threads with a loop each, caches behind locks, a pipe to each for the end"
recipe_better=higher

recipe_run() {
	local dir

	server_dir
	cat >"$dir/conf" <<-END
		server:
			num-threads: 4
			interface: 127.0.0.1
			port: PORT
			do-daemonize: no
			username: ""
			chroot: ""
			directory: "$dir"
			pidfile: ""
			use-syslog: no
			local-zone: "test." static
			local-data: "one.test. A 192.0.2.1"
			local-data: "two.test. A 192.0.2.2"
		remote-control:
			control-enable: no
	END
	port=$(free_port)
	sed -i "s/PORT/$port/" "$dir/conf"
	start_server "$port" "$@" unbound -d -c "$dir/conf" || return 1
	dns_answers "$port" || abandon_server || return 1
	stop_server
}
