# pbzip2: producer, queue, consumers and an ordered writer; sleeps and timed condvars.
recipe_packages="pbzip2"
recipe_commands=(pbzip2 openssl)
recipe_about="producer, queue, consumers and an ordered writer; sleeps and timed condvars"
recipe_better=lower
pack_command=(pbzip2 -c -z -p8 -b1)
unpack_command=(pbzip2 -c -d -p8)

recipe_run() {
	compress_run "$@"
}
