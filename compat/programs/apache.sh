# apache: mpm_worker, a thread per connection in two child processes that a parent forked.
#
# The parent makes no thread; each child makes 128 after the fork, and is told to leave by pthread_kill, at the
# end and when SIGHUP has the parent read its configuration again.  apache-event.sh is the same with mpm_event.
recipe_packages="apache2-bin wrk apache2-utils"
recipe_commands=(apache2 wrk ab)
recipe_about="mpm_worker: a thread per connection, made in forked children; signals at the end"
recipe_better=higher
apache_mpm=worker
apache_clients=200

recipe_run() {
	local port dir modules=/usr/lib/apache2/modules log got

	scratch
	port=$(free_port)
	dir=$scratch_dir/apache
	rm -rf "$dir"
	mkdir -p "$dir/htdocs"
	chmod 755 "$scratch_dir"
	head -c 8192 "$(sample_file 1)" >"$dir/htdocs/body"
	cat >"$dir/conf" <<-END
		ServerRoot $dir
		ServerName localhost
		Listen 127.0.0.1:$port
		PidFile $dir/pid
		ErrorLog $dir/error
		LoadModule mpm_${apache_mpm}_module $modules/mod_mpm_$apache_mpm.so
		LoadModule authz_core_module $modules/mod_authz_core.so
		ServerLimit 2
		StartServers 2
		MinSpareThreads 1
		MaxSpareThreads 256
		ThreadLimit 128
		ThreadsPerChild 128
		MaxRequestWorkers 256
		MaxKeepAliveRequests 0
		KeepAliveTimeout 60
		DocumentRoot $dir/htdocs
	END
	# Who is root has to say whom the child becomes.
	[ "$(id -u)" -ne 0 ] || cat >>"$dir/conf" <<-END
		User nobody
		Group nogroup
	END
	start_server "$port" "$@" apache2 -D FOREGROUND -f "$dir/conf" || return 1
	http_load "http://127.0.0.1:$port/body" "$apache_clients" before-reload || abandon_server || return 1
	reload_server || abandon_server || return 1
	http_load "http://127.0.0.1:$port/body" "$apache_clients" after-reload || abandon_server || return 1
	log=$scratch_dir/ab
	if ! bounded 60 ab -q -n 2000 -c 50 "http://127.0.0.1:$port/body" >"$log" 2>&1; then
		why="ab: $why$(first_line "$log")"
		abandon_server
		return 1
	fi
	got=$(fetch_digest "http://127.0.0.1:$port/body")
	answer="body=$got,failed=$(awk '/^Failed requests:/ { print $3 }' "$log")"
	if [ "$answer" != "body=$(digest "$dir/htdocs/body"),failed=0" ]; then
		why="wrong answers: $answer"
		abandon_server
		return 1
	fi
	stop_server
}
