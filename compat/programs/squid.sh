# squid: one loop, and sixteen threads for its files (aufs).
recipe_packages="squid"
recipe_commands=(squid python3)
recipe_about="an event loop whose files are read and written by threads"
recipe_better=higher

recipe_run() {
	local port dir behind

	proxy_dir
	cat >"$dir/conf" <<-END
		http_port 127.0.0.1:$port accel defaultsite=localhost
		cache_peer 127.0.0.1 parent $behind 0 no-query originserver
		http_access allow all
		cache_dir aufs $dir/cache 50 4 4
		cache_mem 1 MB
		maximum_object_size_in_memory 1 KB
		pid_filename none
		access_log none
		cache_log $dir/log
		cache_store_log none
		coredump_dir $dir
		shutdown_lifetime 0 seconds
		refresh_pattern . 1440 100% 1440 override-expire ignore-reload
	END
	mkdir -p "$dir/cache"
	chmod -R 777 "$dir"
	squid -z -N -f "$dir/conf" >/dev/null 2>&1
	prime=1
	serve_proxy "$@" squid -N -f "$dir/conf"
}
