# nginx: event loop with a pool of 32 threads for file reads; a control more than a gain.
recipe_packages="nginx-light wrk"
recipe_commands=(nginx wrk)
recipe_about="event loop whose file reads go to a pool of threads (aio threads), in a child that SIGHUP replaces"
recipe_better=higher

recipe_run() {
	local port dir

	scratch
	port=$(free_port)
	dir=$scratch_dir/nginx
	rm -rf "$dir"
	mkdir -p "$dir/htdocs"
	chmod 755 "$scratch_dir"
	chmod 777 "$dir"
	head -c 1048576 "$(sample_file 2)" >"$dir/htdocs/body"
	head -c 16384 "$(sample_file 2)" >"$dir/htdocs/small"
	cat >"$dir/conf" <<-END
		daemon off;
		worker_processes 1;
		error_log $dir/error;
		pid $dir/pid;
		thread_pool default threads=32;
		events { worker_connections 1024; }
		http {
			access_log off;
			client_body_temp_path $dir/1;
			proxy_temp_path $dir/2;
			fastcgi_temp_path $dir/3;
			uwsgi_temp_path $dir/4;
			scgi_temp_path $dir/5;
			server {
				listen 127.0.0.1:$port;
				root $dir/htdocs;
				location / { aio threads; sendfile off; }
			}
		}
	END
	start_server "$port" "$@" nginx -p "$dir" -c "$dir/conf" || return 1
	http_load "http://127.0.0.1:$port/small" 64 before-reload || abandon_server || return 1
	reload_server || abandon_server || return 1
	http_load "http://127.0.0.1:$port/small" 64 after-reload || abandon_server || return 1
	answer="body=$(fetch_digest "http://127.0.0.1:$port/body")"
	if [ "$answer" != "body=$(digest "$dir/htdocs/body")" ]; then
		why="wrong answers: $answer"
		abandon_server
		return 1
	fi
	stop_server
}
