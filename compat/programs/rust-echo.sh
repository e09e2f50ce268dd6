# rust-echo: a thread per connection in Rust, whose locks and parking are futexes by syscall().
#
# The client is the benchmarks' own, which compares every byte.
recipe_packages="rustc"
recipe_commands=(rustc)
recipe_about="a thread per connection in Rust; 100, 1,000 and 5,000 connections, every byte compared"
recipe_better=higher

recipe_run() {
	local port program=$weft_data/rust-echo source=$weft_root/compat/programs/rust-echo.rs n
	local client=$weft_build/weft-bench log

	scratch
	log=$scratch_dir/client
	mkdir -p "$weft_data"
	if [ "$source" -nt "$program" ] && ! rustc -O -o "$program" "$source" 2>"$log"; then
		why="rustc: $(first_line "$log")"
		return 1
	fi
	[ -x "$client" ] || { why="$client is not built (run scripts/setup)"; return 1; }
	ulimit -n "$(ulimit -Hn)"
	port=$(free_port)
	start_server "$port" "$@" "$program" "$port" || return 1
	for n in ${CLIENTS:-100 1000 5000}; do
		load_begins
		if ! bounded "$run_limit" "$client" --echo-client echo "$port" "$n" "$n" >"$log" 2>&1; then
			why="$n connections: $why$(first_line "$log")"
			abandon_server
			return 1
		fi
		load_ended "$n-connections" "$(awk '$1 == "echo-rate" { print int($2) }' "$log")" req/s \
			"$(awk '$1 == "echo-answered" { print int($2) }' "$log")"
	done
	answer=every-byte
	stop_server
}
