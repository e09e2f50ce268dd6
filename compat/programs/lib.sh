# lib.sh: what the recipes in this directory and the scripts that run them share (bash, sourced).
#
# A recipe is one file per program. It says what to install, starts the program, loads it, and judges
# the result. It never knows whether it runs natively: it puts the words it is given ("$@") in front
# of the command under test, and of that command alone, so that clients and checkers stay native.
#
# A recipe defines
#	recipe_packages		Debian packages
#	recipe_commands		commands that must be found
#	recipe_about		one line: what it exercises
#	recipe_better		lower | higher: which way its figure counts
#	recipe_quick		not empty: needs only what scripts/setup installs, and a few seconds
#	recipe_says		what weft says of it, if anything
#	recipe_run [WORD...]	one run under WORD...; sets figure, unit and answer, returns 0;
#				or sets why and returns 1 when anything is wrong;
#				a run of several loads adds each with `measured`
# answer is what must be the same natively and under weft: a checksum, a count of failures.
#
# Everything is bounded: a program that hangs is killed, and that is a failure with its reason.

weft_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
weft_build=${BUILD:-$weft_root/build}
# The one place that knows where the launcher is.
weft_launcher=${WEFT_LAUNCHER:-$weft_build/weft}
weft_data=$weft_build/data
run_limit=${RUN_LIMIT:-120}
# The distribution's own, before one that only looks for another.
weft_python=/usr/bin/python3
[ -x $weft_python ] || weft_python=python3
# Servers are there.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

say() { printf '%s\n' "$*" >&2; }

now_ms() { echo $(($(date +%s%N) / 1000000)); }

# apart: from here on what `under` runs has a CPU, and this script with all else that it starts another.  So a server and its
# client do not take each other's, as on machines of their own.
apart() {
	if ! have taskset || [ "$(nproc)" -lt 2 ]; then
		say "${why:-one CPU only}; server and client share it"
		return 1
	fi
	server_cpu=0
	taskset -cp 1 $$ >/dev/null
	export ECHO_CLIENT_CPU=1
}

# under PROCS: sets the array prefix to the words that run a command with so many processors.
# PROCS is a number, or native, or pinned (native on one processor), or default (weft chooses).
under() {
	case $1 in
	native) prefix=() ;;
	pinned) prefix=(taskset -c 0) ;;
	default) prefix=("$weft_launcher" --) ;;
	*) prefix=("$weft_launcher" "--procs=$1" --) ;;
	esac
	[ -z "${server_cpu:-}" ] || prefix=(taskset -c "$server_cpu" "${prefix[@]}")
}

# compile TARGET SOURCE...: a program for measuring, by the C compiler or Go's, unless it is newer than the sources and
# the headers beside them.
compile() {
	local target=$1 f fresh=

	shift
	if [ -x "$target" ]; then
		fresh=yes
		for f in "$@" "$(dirname "$1")"/*.h; do
			[ ! "$f" -nt "$target" ] || fresh=
		done
	fi
	[ -z "$fresh" ] || return 0
	case $1 in
	*.go) (cd "$(dirname "$1")" && GO111MODULE=off go build -o "$target" "$(basename "$1")") ;;
	*) "${CC:-cc}" -std=gnu11 -O2 -g -pthread -o "$target" "$@" ;;
	esac
}

# Sets why and fails unless the launcher really preloads: a missing library would go unnoticed.
weft_works() {
	if [ ! -x "$weft_launcher" ]; then
		why="$weft_launcher is not built (run scripts/setup)"
		return 1
	fi
	# grep, not sh: a shell may read the file in pieces and miss the line.
	if ! timeout 10 "$weft_launcher" --procs=1 -- cat /proc/self/maps 2>/dev/null |
		grep -q libweft; then
		why="$weft_launcher does not load libweft.so into a program (run scripts/setup)"
		return 1
	fi
	# Loaded is not enough: where it does not understand the libc, weft steps aside, and every test
	# of programs would pass on the kernel's threads.
	if [ -x "$weft_build/weft-bench" ]; then
		local kernel

		kernel=$(timeout 20 "$weft_launcher" --procs=2 -- "$weft_build/weft-bench" -n 200 park \
			2>&1 | awk '$1 == "park-kernel" { print int($2) }')
		if [ "${kernel:-999}" -ge 100 ]; then
			why="200 parked threads take ${kernel:-no} kernel threads: weft is not at work"
			return 1
		fi
	fi
}

have() {
	local c

	for c in "$@"; do
		if ! command -v "$c" >/dev/null; then
			why="$c is not installed"
			return 1
		fi
	done
}

# bounded SECONDS COMMAND...: run it; on a hang kill it and set why.
bounded() {
	local seconds=$1 status

	shift
	timeout -k 3 "$seconds" "$@"
	status=$?
	case $status in
	0) ;;
	124 | 137) why="hangs: killed after $seconds s" ;;
	13[0-9] | 14[0-9]) why="died of signal $((status - 128))" ;;
	*) why="exit status $status" ;;
	esac
	return $status
}

# measured LABEL VALUE UNIT: one of several figures of a run; of ms and us less is better, of anything else more.
measures=()
measured() { measures+=("$1 $2 $3"); }

# Processor time of the server and of the children it has now, in ms.
server_ms() {
	local pids

	pids=$(cat "/proc/$server_pid/task/"*/children 2>/dev/null)
	for pid in $server_pid $pids; do
		sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null
	done | awk -v tick="$(getconf CLK_TCK)" '{ n += $12 + $13 } END { printf "%d", n * 1000 / tick }'
}

# A load in three steps: load_begins; the client; load_ended LABEL RATE UNIT OPERATIONS, with what the client says.
# The processor time of each operation is the figure to trust where other programs run: a server of few kernel
# threads gets a small share of a busy machine.
load_begins() { load_ms=$(server_ms); }

load_ended() {
	figure=$2
	unit=$3
	measured "$1" "$2" "$3"
	[ "${4:-0}" -eq 0 ] ||
		measured "$1-cpu" "$(awk -v ms=$(($(server_ms) - load_ms)) -v n="$4" \
			'BEGIN { printf "%.1f", ms * 1000 / n }')" us/op
}

# quantiles LABEL FILE: lines `quantile PERCENT MICROSECONDS` of FILE as figures LABEL-pPERCENT.
quantiles() {
	local word percent us

	while read -r word percent us; do
		[ "$word" != quantile ] || measured "$1-p$percent" "$us" us
	done <"$2"
}

digest() { sha256sum "$@" | cut -c1-16; }

# sample_file MEGABYTES: the path of a file whose bytes depend on its size alone. Half is text that
# packs well, in a vocabulary of a few thousand words, half is a cipher's stream that does not.
sample_file() {
	local mb=$1
	local file=$weft_data/sample-$mb

	if [ ! -s "$file" ]; then
		mkdir -p "$weft_data"
		{
			awk -v bytes=$((mb * 524288)) 'BEGIN {
				x = 12345
				while (n < bytes) {
					x = (x * 1103515245 + 12345) % 2147483648
					w = sprintf("word%d%s", x % 4099,
						    x % 13 ? " " : "\n")
					printf "%s", w
					n += length(w)
				}
			}' | head -c $((mb * 524288))
			openssl enc -aes-128-ctr -K 00112233445566778899aabbccddeeff \
				-iv 00000000000000000000000000000000 -in /dev/zero 2>/dev/null |
				head -c $((mb * 524288))
		} >"$file.$$" && mv "$file.$$" "$file"
	fi
	echo "$file"
}

# A scratch directory that goes when the script does, and with it the server, even if we are killed.
scratch() {
	if [ -z "${scratch_dir:-}" ]; then
		scratch_dir=$(mktemp -d "${TMPDIR:-/tmp}/weft.XXXXXX")
		trap leave EXIT
		trap 'exit 143' TERM INT HUP
	fi
}

leave() {
	[ -z "${server_pid:-}" ] || kill -KILL "$server_pid" 2>/dev/null
	rm -rf "$scratch_dir"
}

# compress_run WORD...: pack_command and unpack_command, both under the words given; the packed bytes
# are the answer, and must unpack to the input. Data goes through files: a pipe would make the figure
# one of the pipe.
compress_run() {
	local input start

	scratch
	input=$(sample_file "${SAMPLE_MB:-24}")
	start=$(now_ms)
	if ! bounded "$run_limit" "$@" "${pack_command[@]}" \
		<"$input" >"$scratch_dir/packed" 2>"$scratch_dir/err"; then
		why="packing: $why$(first_line "$scratch_dir/err")"
		return 1
	fi
	if ! bounded "$run_limit" "$@" "${unpack_command[@]}" \
		<"$scratch_dir/packed" >"$scratch_dir/unpacked" 2>"$scratch_dir/err"; then
		why="unpacking: $why$(first_line "$scratch_dir/err")"
		return 1
	fi
	figure=$(($(now_ms) - start))
	unit=ms
	answer=$(digest <"$scratch_dir/packed")
	if ! cmp -s "$input" "$scratch_dir/unpacked"; then
		why="what was unpacked differs from what was packed"
		return 1
	fi
}

# The first line of a file as a suffix for a message, nothing when there is none.
first_line() {
	local line

	line=$(grep -m1 . "$1" 2>/dev/null) && printf ': %s' "$line"
}

# free_port: a port on 127.0.0.1 that nobody listens on now.
free_port() {
	local port=$((20000 + $$ % 10000)) tries=0

	while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
		port=$((port + 1))
		tries=$((tries + 1))
		[ $tries -lt 100 ] || return 1
	done
	echo $port
}

# Its exit status; its number is forgotten, for it may be somebody else's from now on.
reap_server() {
	local pid=$server_pid

	server_pid=
	wait "$pid"
}

# start_server PORT COMMAND...: in the background, as server_pid; returns when the port answers.
# The launcher replaces itself by the program, so the process number is the server's own.
start_server() {
	local port=$1 i

	shift
	scratch
	"$@" >"$scratch_dir/server" 2>&1 </dev/null &
	server_pid=$!
	for i in $(seq $((${server_patience:-10} * 10))); do
		if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
			return 0
		fi
		if ! kill -0 "$server_pid" 2>/dev/null; then
			reap_server
			why="the server ended with status $? before it answered$(
				first_line "$scratch_dir/server")"
			return 1
		fi
		sleep 0.1
	done
	why="the server does not answer on its port after ${server_patience:-10} s"
	kill -KILL "$server_pid" 2>/dev/null
	reap_server 2>/dev/null
	return 1
}

# stop_server [SIGNAL]: ask it to end; one that does not within ten seconds is killed, and has failed.
stop_server() {
	local i status start

	start=$(now_ms)
	kill "-${1:-TERM}" "$server_pid" 2>/dev/null
	for i in $(seq 1000); do
		if ! kill -0 "$server_pid" 2>/dev/null; then
			measured stop $(($(now_ms) - start)) ms
			reap_server
			status=$?
			# 143: the signal's default action; others catch it and return 0.
			if [ $status -ne 0 ] && [ $status -ne 143 ]; then
				why="the server ended with status $status$(
					first_line "$scratch_dir/server")"
				return 1
			fi
			return 0
		fi
		sleep 0.01
	done
	kill -KILL "$server_pid" 2>/dev/null
	reap_server 2>/dev/null
	why="the server did not end within 10 s of its signal"
	return 1
}

# reload_until COMMAND...: SIGHUP, then the command must come true within ten seconds.
reload_until() {
	local start i

	start=$(now_ms)
	kill -HUP "$server_pid"
	for i in $(seq 1000); do
		if "$@"; then
			measured reload $(($(now_ms) - start)) ms
			return 0
		fi
		sleep 0.01
	done
	return 1
}

children_are_new() {	# children_are_new OLD: there are some, and none of these
	local now

	now=$(pgrep -P "$server_pid" | sort)
	[ -n "$now" ] && [ -z "$(comm -12 <(echo "$1") <(echo "$now"))" ]
}

# reload_server: new children must take the place of all there were.
reload_server() {
	reload_until children_are_new "$(pgrep -P "$server_pid" | sort)" && return 0
	why="children of before are still there 10 s after SIGHUP, or there are none"
	return 1
}

# One line of compat/programs/table: a command whose output is compared.
#
# RUN is bash, for an empty directory; "$@" stands in it before each command under test, $src is the folder of our own
# sources, and `sample MB` prints the path of a file of that size.  What it prints is the answer.
small() {	# small NAME PACKAGES COMMANDS ABOUT RUN
	table_names+=("$1")
	[ "$1" = "${table_wanted-}" ] || return 0
	recipe_packages=$2
	read -ra recipe_commands <<<"$3"
	recipe_about=$4
	recipe_body=$5
	recipe_better=lower
	recipe_watch=--child
	recipe_run() { small_run "$@"; }
	table_found=1
}

# The same, for a program that scripts/setup installs.
quick() {
	small "$@"
	[ "$1" != "${table_wanted-}" ] || recipe_quick=1
}

small_run() {
	local start dir

	scratch
	dir=$scratch_dir/work
	rm -rf "$dir"
	mkdir -p "$dir"
	# For clients: a server of ours beside them, natively; its address is $url.
	beside() {
		"$weft_python" "$src/http-beside.py" port &
		trap "kill $!" EXIT
		until [ -s port ]; do sleep 0.05; done
		url=http://127.0.0.1:$(cat port)/body
	}
	sample() { (set +e +o pipefail; sample_file "$@"); }
	export -f sample sample_file beside
	export weft_python weft_data src="$weft_root/compat/programs"
	start=$(now_ms)
	if ! bounded "$run_limit" env -C "$dir" bash -c "set -e -o pipefail; $recipe_body" "$recipe_name" "$@" \
		>"$scratch_dir/out" 2>"$scratch_dir/err" </dev/null; then
		why="$why$(last_line "$scratch_dir/err")"
		return 1
	fi
	figure=$(($(now_ms) - start))
	unit=ms
	if [ ! -s "$scratch_dir/out" ]; then
		why="printed nothing"
		return 1
	fi
	answer=$(digest "$scratch_dir/out")
}

# The last line of a file as a suffix for a message.
last_line() {
	local line

	line=$(grep . "$1" 2>/dev/null | tail -n 1) && [ -n "$line" ] && printf ': %s' "$line"
}

load_recipe() {
	local file=$weft_root/compat/programs/$1.sh

	recipe_name=$1
	table_wanted=$1
	table_found=
	# shellcheck source=/dev/null
	. "$weft_root/compat/programs/table"
	[ -z "$table_found" ] || return 0
	if [ ! -f "$file" ] || [ "$1" = lib ]; then
		why="no recipe compat/programs/$1.sh, and no line in compat/programs/table"
		return 1
	fi
	# shellcheck source=/dev/null
	. "$file"
}

# The names of all recipes, in order.
all_recipes() {
	local file name table_wanted= table_names=()

	# shellcheck source=/dev/null
	. "$weft_root/compat/programs/table"
	for file in "$weft_root"/compat/programs/*.sh; do
		name=$(basename "$file" .sh)
		[ "$name" = lib ] || table_names+=("$name")
	done
	printf '%s\n' "${table_names[@]}" | sort
}

# verify_program NAME: the end-to-end test of one recipe, used by tests/e2e/real-*.sh.
# One native run says what the answer is; then REPEAT runs at each number of processors.
verify_program() {
	local repeat=${REPEAT:-3} procs i passed=0 failed=0 want

	if ! load_recipe "$1" || ! have "${recipe_commands[@]}" || ! weft_works; then
		say "$1: $why"
		echo "not ok $1 cannot be tested: $why"
		echo "0 passed, 1 failed"
		return 1
	fi
	under native
	if ! recipe_run "${prefix[@]}"; then
		echo "not ok $1 natively: $why"
		echo "0 passed, 1 failed"
		return 1
	fi
	want=$answer
	echo "# $1 natively: $figure $unit, answer $want"
	for procs in ${PROCS:-1 2 8}; do
		under "$procs"
		for i in $(seq "$repeat"); do
			why=
			if ! recipe_run "${prefix[@]}"; then
				echo "not ok $1 procs=$procs run $i: $why"
			elif [ "$answer" != "$want" ]; then
				echo "not ok $1 procs=$procs run $i: answer $answer, natively $want"
			else
				echo "ok $1 procs=$procs run $i ($figure $unit)"
				passed=$((passed + 1))
				continue
			fi
			failed=$((failed + 1))
		done
	done
	echo "$passed passed, $failed failed"
	[ $failed -eq 0 ]
}

# http_load URL CONNECTIONS LABEL: three seconds of wrk; sets figure and unit, fails on any error it reports.
http_load() {
	local log=$scratch_dir/wrk

	load_begins
	if ! bounded 30 wrk -t 1 -c "$2" -d 3s --timeout 20s -s "$weft_root/compat/programs/quantiles.lua" "$1" \
		>"$log" 2>&1; then
		why="wrk: $why$(first_line "$log")"
		return 1
	fi
	figure=$(sed -n 's/^Requests\/sec: *\([0-9]*\).*/\1/p' "$log")
	if grep -q -e '^ *Socket errors' -e '^ *Non-2xx' "$log"; then
		why="wrk: $(grep -m1 -e 'Socket errors' -e Non-2xx "$log")"
		return 1
	fi
	if [ "${figure:-0}" -eq 0 ]; then
		why="no request was answered"
		return 1
	fi
	load_ended "$3" "$figure" req/s "$(awk '/requests in/ { print $1 }' "$log")"
	quantiles "$3" "$log"
}

# http_answers URL [REQUESTS CONNECTIONS]: asks a server over kept connections; adds what it got to answer.
http_answers() {
	local log=$scratch_dir/client

	if ! bounded 90 "$weft_python" "$weft_root/compat/programs/http-check.py" "$1" "${2:-960}" "${3:-24}" \
		>"$log" 2>&1; then
		why="client: $why$(grep -m1 error "$log")"
		return 1
	fi
	answer+=$(paste -sd, "$log")
	figure=1
	unit=run
}

# serve_http PORT PATH COMMAND...: a server that is started, asked for PATH and stopped.  Where figures are wanted it is
# loaded, too: by questions for load_path, if the caller sets it.
serve_http() {
	local port=$1 path=$2

	shift 2
	start_server "$port" "$@" || return 1
	# With prime set one request goes first, for servers that keep what another gave them.
	[ -z "${prime-}" ] || http_answers "http://127.0.0.1:$port$path" 1 1 || abandon_server || return 1
	http_answers "http://127.0.0.1:$port$path" || abandon_server || return 1
	[ -z "${with_load-}" ] || ! have wrk || http_load "http://127.0.0.1:$port${load_path:-$path}" 64 load ||
		abandon_server || return 1
	stop_server
}

# await_port PORT: until a server beside the one under test answers, ten seconds at most.
await_port() {
	local i

	for i in $(seq 100); do
		! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null || return 0
		sleep 0.1
	done
}

# server_dir: a directory of its own that a server may write, whoever it becomes.
server_dir() {
	scratch
	chmod 755 "$scratch_dir"
	dir=$scratch_dir/server.d
	rm -rf "$dir"
	mkdir -p "$dir"
	chmod 777 "$dir"
}

# proxy_dir: sets port and behind, and dir with a file in it for the server at that port.
proxy_dir() {
	server_dir
	port=$(free_port)
	behind=$((port + 1000))
	head -c 20000 "$(sample_file 1)" >"$dir/body"
}

# serve_proxy COMMAND...: as serve_http, for a proxy with a server of $dir behind it.
serve_proxy() {
	local backend status

	"$weft_python" -m http.server -b 127.0.0.1 -d "$dir" "$behind" >/dev/null 2>&1 &
	backend=$!
	await_port "$behind"
	serve_http "$port" /body "$@"
	status=$?
	kill "$backend"
	wait "$backend" 2>/dev/null
	return "$status"
}

# wsgi_dir: sets port, and dir with an application of Python in it.
wsgi_dir() {
	server_dir
	port=$(free_port)
	cp "$weft_root/compat/programs/wsgi.py" "$dir/wsgi_app.py"
}

# fetch_digest URL: of one reply's body.
fetch_digest() {
	timeout 20 python3 -c 'import sys, urllib.request
sys.stdout.buffer.write(urllib.request.urlopen(sys.argv[1], timeout=15).read())' "$1" | digest
}

# abandon_server: after a failure, keeping the reason already found.
abandon_server() {
	local reason=$why

	stop_server >/dev/null 2>&1
	why=$reason
	return 1
}
