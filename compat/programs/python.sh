# python: CPython threads: the interpreter lock (a timed condvar), locks that are semaphores, queues,
# conditions, events, timers and a pool. The script prints one line of sums, the same every time.
recipe_packages="python3"
recipe_commands=(python3)
recipe_about="interpreter lock, semaphore locks, bounded queues, conditions, timers, a thread pool"
recipe_better=lower

recipe_run() {
	local python start

	scratch
	# The interpreter itself, not a script that looks for one.
	python=$(python3 -c 'import os, sys; print(os.path.realpath(sys.executable))')
	start=$(now_ms)
	if ! bounded "$run_limit" "$@" "$python" "$weft_root/compat/programs/python-threads.py" \
		>"$scratch_dir/out" 2>"$scratch_dir/err"; then
		why="$why$(first_line "$scratch_dir/err")"
		return 1
	fi
	figure=$(($(now_ms) - start))
	unit=ms
	if grep -q . "$scratch_dir/out"; then
		answer=$(digest "$scratch_dir/out")
	else
		why="printed nothing"
		return 1
	fi
}
