# tomcat: Java's NIO, a poller and a pool that grows to two hundred threads.
recipe_packages="tomcat10 default-jdk-headless"
recipe_commands=(java)
recipe_about="a poller and a pool of threads in Java; a static page and a servlet page"
recipe_better=higher

recipe_run() {
	local port dir base=/usr/share/tomcat10

	server_dir
	[ -d $base/lib ] || { why="tomcat10 is not installed"; return 1; }
	port=$(free_port)
	mkdir -p "$dir"/{conf,webapps/ROOT,temp,logs,work}
	cp /etc/tomcat10/web.xml "$dir/conf/" 2>/dev/null
	printf '<Server port="-1"><Service name="C"><Connector address="127.0.0.1" port="%d" maxKeepAliveRequests="-1"/><Engine name="C" defaultHost="localhost"><Host name="localhost" appBase="webapps"/></Engine></Service></Server>\n' \
		"$port" >"$dir/conf/server.xml"
	head -c 20000 "$(sample_file 1)" >"$dir/webapps/ROOT/body.txt"
	serve_http "$port" /body.txt "$@" java -Xmx256m -Dcatalina.home=$base -Dcatalina.base="$dir" -Djava.io.tmpdir="$dir/temp" \
		-cp "$base/bin/bootstrap.jar:$base/bin/tomcat-juli.jar" org.apache.catalina.startup.Bootstrap start
}
