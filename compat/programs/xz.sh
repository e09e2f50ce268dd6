# xz: liblzma's threaded encoder and decoder: timed condvars, signals blocked in workers.
recipe_packages="xz-utils"
recipe_commands=(xz openssl)
recipe_about="liblzma's threaded encoder and decoder: timed condvars, signals blocked in workers"
recipe_better=lower
pack_command=(xz -c -z -2 -T2 --block-size=2MiB)
unpack_command=(xz -c -d -T2)

recipe_run() {
	compress_run "$@"
}
