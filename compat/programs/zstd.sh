# zstd: the zstdmt pool and zstd's asynchronous reader and writer.
recipe_packages="zstd"
recipe_commands=(zstd openssl)
recipe_about="the zstdmt pool and zstd's asynchronous reader and writer"
recipe_better=lower

recipe_run() {
	compress_run "$@" -- zstd -q -c -3 -T2 -B1MiB -- zstd -q -c -d
}
