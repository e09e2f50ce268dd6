# dnsmasq: a name server without threads, asked by dnsperf; a control.
. "$weft_root/compat/programs/dns.bash"
recipe_packages="dnsmasq-base dnsperf bind9-dnsutils"
recipe_commands=(dnsmasq dig)
recipe_about="a name server without threads"
recipe_better=higher

recipe_run() {
	dns_run "$@" dnsmasq --conf-file=/dev/null --no-daemon --no-resolv --no-hosts --listen-address=127.0.0.1 \
		--bind-interfaces --port=PORT --user=root --pid-file= --address=/one.test/192.0.2.1 --address=/two.test/192.0.2.2
}
