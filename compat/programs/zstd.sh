# zstd: the zstdmt pool and zstd's asynchronous reader and writer.
recipe_packages="zstd"
recipe_commands=(zstd openssl)
recipe_about="the zstdmt pool and zstd's asynchronous reader and writer"
recipe_better=lower
pack_command=(zstd -q -c -3 -T2 -B1MiB)
unpack_command=(zstd -q -c -d)

recipe_run() {
	compress_run "$@"
}
