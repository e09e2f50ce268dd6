# icecast: connection, worker and source threads; a listener gets what a source sends.
recipe_packages="icecast2"
recipe_commands=(icecast2)
recipe_about="a thread for each source, a pool for connections; its own pages"
recipe_better=higher

recipe_run() {
	local port dir

	server_dir
	port=$(free_port)
	mkdir -p "$dir/web" "$dir/log"
	chmod -R 777 "$dir"
	head -c 20000 "$(sample_file 1)" >"$dir/web/body.txt"
	cat >"$dir/conf" <<-END
		<icecast>
		<limits><clients>100</clients><sources>2</sources></limits>
		<authentication><source-password>s</source-password><admin-user>a</admin-user><admin-password>a</admin-password></authentication>
		<hostname>localhost</hostname>
		<listen-socket><port>$port</port><bind-address>127.0.0.1</bind-address></listen-socket>
		<fileserve>1</fileserve>
		<paths><basedir>$dir</basedir><logdir>$dir/log</logdir><webroot>$dir/web</webroot><adminroot>/usr/share/icecast2/admin</adminroot></paths>
		<security><chroot>0</chroot><changeowner><user>nobody</user><group>nogroup</group></changeowner></security>
		</icecast>
	END
	serve_http "$port" /body.txt "$@" icecast2 -c "$dir/conf"
}
