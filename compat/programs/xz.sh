# xz: liblzma's threaded encoder and decoder: timed condvars, signals blocked in workers.
recipe_packages="xz-utils"
recipe_commands=(xz openssl)
recipe_about="liblzma's threaded encoder and decoder: timed condvars, signals blocked in workers"
recipe_better=lower

recipe_run() {
	compress_run "$@" -- xz -c -z -2 -T2 --block-size=2MiB -- xz -c -d -T2
}
