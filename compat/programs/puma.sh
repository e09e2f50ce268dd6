# puma: a reactor and a pool of Ruby threads.
recipe_packages="puma ruby"
recipe_commands=(puma ruby)
recipe_about="a reactor and a pool of sixteen Ruby threads"
recipe_better=higher

recipe_run() {
	local port dir

	server_dir
	port=$(free_port)
	cat >"$dir/config.ru" <<-'END'
		require "digest"
		run ->(env) { sleep 0.001; [200, { "Content-Type" => "text/plain" }, [Digest::SHA256.hexdigest(env["PATH_INFO"])]] }
	END
	export HOME=$dir
	serve_http "$port" /some/path "$@" ruby "$(command -v puma)" -q -b "tcp://127.0.0.1:$port" -t 4:16 "$dir/config.ru"
}
