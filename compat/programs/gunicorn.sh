# gunicorn: workers of eight threads each that a master forks; each connection kept goes back to a poller.
recipe_packages="gunicorn"
recipe_commands=(gunicorn)
recipe_about="a master and two workers with a pool of eight threads each"
recipe_better=higher

recipe_run() {
	local port dir

	wsgi_dir
	serve_http "$port" /some/path "$@" "$weft_python" "$(command -v gunicorn)" --chdir "$dir" \
		-b "127.0.0.1:$port" -w 2 --threads 8 --keep-alive 20 wsgi_app:application
}
