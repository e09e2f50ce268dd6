#!/usr/bin/env bash
# guests: run-times that manage kernel threads themselves (Go, sanitizers, valgrind, qemu-user) work under weft as without it, and
# so do programs on a kernel that keeps no robust lists, as an emulator does.
#
# Each is known by what it is.  weft leaves its process alone and says so in one line that names it; of a Go program
# that is a child it says nothing.  What is not installed is skipped.

. "$(dirname "$0")/lib.sh"

here=$top/tests/e2e/guests
cd "$tmp" || exit 2
export GOCACHE=$tmp/gocache HOME=$tmp GOFLAGS=-mod=mod GO111MODULE=off

plain="manages kernel threads itself (running with plain pthreads)"

# same NAME LINE WORD...: WORD... prints natively what it prints under weft, twice (REPEAT) at each number of Ps; on
# standard error stands LINE, a word of weft's own, once in each run (empty: nothing).
same()
{
	local name=$1 line=$2 procs i status said
	shift 2
	timeout 60 "$@" >native 2>native.err || { verdict 1 "$name natively" "status $?, $(head -n 1 native.err)"; return; }
	for procs in 1 2 8; do
		for i in $(seq "${REPEAT:-2}"); do
			# shellcheck disable=SC2086
			timeout "${LIMIT:-60}" "$weft" --procs=$procs ${options-} -- "$@" >out 2>err
			status=$?
			said=$(sed -n 's/^weft\(\[[0-9]*\]\)*: //p' err)
			[ $status -eq 0 ] && cmp -s native out && [ "$said" = "$line" ] || break 2
		done
		status=-1
	done
	[ "$status" -eq -1 ]
	verdict $? "$name" "procs=$procs, run $i: status $status, said '$said', $(diff native out | head -n 3 | tr '\n' ' ')$(head -n 1 err)"
}

# --- Go ---
if command -v go >/dev/null && [ "$(go env CGO_ENABLED)" = 1 ]; then
	if ! go build -o cgo "$here/cgo.go" 2>err || ! go build -buildmode=c-shared -o libwork.so "$here/library.go" 2>err ||
		! ${CC:-cc} -O2 -DLINKED -o linked "$here/library.c" ./libwork.so -pthread || ! ${CC:-cc} -O2 -o loads "$here/library.c" -pthread; then
		verdict 1 "Go builds" "$(head -n 1 err)"
	else
		go="a Go program, whose run-time $plain"
		same "a Go program with threads of C" "./cgo: $go" ./cgo
		same "a Go program as a child" "" sh -c './cgo | cat'
		strip -o stripped cgo && same "a stripped Go program" "./stripped: $go" ./stripped
		same "a Go library that the program is linked with" "threads: Go's run-time $plain" ./linked
		later="threads: Go's run-time manages kernel threads itself (each new thread is a plain pthread)"
		same "a Go library that is loaded beside threads" "$later" ./loads
		options="-o slice=200us" same "the same, preempted often" "$later" ./loads
		options="-o chaos=7" same "the same, in a random order" "$later" ./loads
	fi
else
	echo "# no Go with cgo here"
fi

# --- sanitizers ---
for cc in gcc clang; do
	for sanitizer in thread address leak memory; do
		case $sanitizer in
		thread) what=ThreadSanitizer ;;
		address) what=AddressSanitizer ;;
		leak) what=LeakSanitizer ;;
		memory) what=MemorySanitizer ;;
		esac
		# gcc's AddressSanitizer wants to come first among the libraries and leaves otherwise.
		[ $cc-$sanitizer != gcc-address ] || export ASAN_OPTIONS=verify_asan_link_order=0
		if $cc -g -O1 -fsanitize=$sanitizer -o "$cc-$sanitizer" "$here/sane.c" -pthread 2>/dev/null &&
			"./$cc-$sanitizer" >/dev/null 2>&1; then
			same "$what of $cc" "threads: $what $plain" "./$cc-$sanitizer"
		else
			echo "# no $what of $cc here"
		fi
		unset ASAN_OPTIONS
	done
	# It must still find what it is for.
	if [ -x $cc-thread ] && $cc -g -O1 -fsanitize=thread -DRACE -o $cc-race "$here/sane.c" -pthread; then
		timeout 60 "$weft" ./$cc-race >out 2>&1
		[ $? -eq 66 ] && grep -q 'ThreadSanitizer: data race' out
		verdict $? "ThreadSanitizer of $cc finds a race" "$(head -n 3 out)"
	fi
done

# --- valgrind ---
if command -v valgrind >/dev/null && ${CC:-cc} -g -o plain "$here/sane.c" -pthread &&
	valgrind -q ./plain >/dev/null 2>&1; then
	same "a program under valgrind" "threads: valgrind $plain" valgrind -q --error-exitcode=9 ./plain
	same "a program under helgrind" "threads: valgrind $plain" valgrind -q --tool=helgrind --error-exitcode=9 ./plain
else
	echo "# no valgrind here"
fi

# --- a malloc whose lock is held while the first thread is made: weft's own threads cannot allocate then ---
# gcc leaves out a malloc() whose memory is freed at once, which here is the first.
${CC:-cc} -O1 -fno-builtin -o profiler "$here/malloc-makes-a-thread.c" -pthread &&
	REPEAT=1 LIMIT=10 same "a malloc that makes the first thread, in no time" \
		"self-test: a thread of its own hangs, as when malloc makes the first thread (running with plain pthreads)" ./profiler

# --- kernels without a list of robust mutexes: libc does without it, weft cannot ---
robust="robust lists: the kernel keeps none for this process, as under an emulator or a filter (running with plain pthreads)"
${CC:-cc} -g -O1 -o plain "$here/sane.c" -pthread
if ${CC:-cc} -o without "$here/without.c" 2>/dev/null && ./without 273 true; then
	same "a kernel that registers no robust list" "$robust" ./without 273 ./plain
	same "a kernel that tells no robust list" "$robust" ./without 274 ./plain
	for call in tgkill:234 wait4:61; do
		same "a kernel without ${call%:*}" \
			"${call%:*}: refused, and the self-test needs it (running with plain pthreads)" ./without ${call#*:} ./plain
	done
	same "a kernel without sigaltstack" "" ./without 131 ./plain
	options="-o slice=200us" same "the same, preempted often" "" ./without 131 ./plain
else
	echo "# no filters of system calls here"
fi
# --- qemu-user: it signals its guest's threads by their kernel's ids ---
if command -v qemu-x86_64 >/dev/null && qemu-x86_64 ./plain >/dev/null 2>&1; then
	qemu="threads: qemu's emulation of a program $plain"
	same "a program under qemu's emulation" "$qemu"$'\n'"$robust" qemu-x86_64 ./plain
	if ${CC:-cc} -O1 -static -o kills "$here/kills.c" -pthread 2>/dev/null; then
		LIMIT=20 same "a static one that signals its threads" "$qemu" qemu-x86_64 ./kills
	else
		echo "# no static libc here"
	fi
else
	echo "# no qemu-user here"
fi

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
