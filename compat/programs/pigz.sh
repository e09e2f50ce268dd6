# pigz: a pool of compressing threads and one that writes in order, over condvars (yarn).
recipe_packages="pigz"
recipe_commands=(pigz openssl)
recipe_about="a pool of compressing threads and one that writes in order, over condvars (yarn)"
recipe_better=lower

recipe_run() {
	compress_run "$@" -- pigz -nc -p8 -- pigz -dc -p8
}
