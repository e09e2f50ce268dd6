# uwsgi: four threads of Python in two processes behind a master.
recipe_packages="uwsgi-core uwsgi-plugin-python3"
recipe_commands=(uwsgi)
recipe_about="a master, two processes of four threads of Python, a connection for each request, a lock between processes"
recipe_better=higher

recipe_run() {
	local port dir

	wsgi_dir
	http_fresh=1
	export http_fresh
	serve_http "$port" /some/path "$@" uwsgi --plugin python3 --http-socket "127.0.0.1:$port" --master --processes 2 --threads 4 \
		--die-on-term --chdir "$dir" --module wsgi_app --need-app
}
