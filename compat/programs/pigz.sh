# pigz: a pool of compressing threads and one that writes in order, over condvars (yarn).
recipe_packages="pigz"
recipe_commands=(pigz openssl)
recipe_about="a pool of compressing threads and one that writes in order, over condvars (yarn)"
recipe_better=lower
pack_command=(pigz -nc -p8)
unpack_command=(pigz -dc -p8)

recipe_run() {
	compress_run "$@"
}
