# named: a loop per processor in threads of its own (libuv), a pool of tasks, names of two zones.
. "$weft_root/compat/programs/dns.bash"
recipe_packages="bind9 bind9-dnsutils"
recipe_commands=(named dig)
recipe_about="libuv loops in threads, a pool of workers; zones asked over UDP and TCP; stop by a signal"
recipe_better=higher

recipe_run() {
	local dir

	server_dir
	cat >"$dir/zone" <<-END
		\$TTL 60
		@ SOA ns root 1 60 60 60 60
		@ NS ns
		ns A 192.0.2.9
		one A 192.0.2.1
		two A 192.0.2.2
	END
	cat >"$dir/conf" <<-END
		options { directory "$dir"; listen-on port 0 { none; }; listen-on-v6 { none; }; recursion no;
			pid-file none; session-keyfile none; managed-keys-directory "$dir"; dnssec-validation no; };
		controls { };
		zone "test" { type primary; file "$dir/zone"; };
	END
	port=$(free_port)
	sed -i "s/listen-on port 0 { none; }/listen-on port $port { 127.0.0.1; }/" "$dir/conf"
	start_server "$port" "$@" named -g -n 4 -c "$dir/conf" || return 1
	dns_answers "$port" || abandon_server || return 1
	stop_server
}
