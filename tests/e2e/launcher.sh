#!/usr/bin/env bash
# launcher: what weft accepts, refuses, sets and prints.  No thread is made here.

. "$(dirname "$0")/lib.sh"
cc=${CC:-cc}
chmod 755 "$tmp"

skip()
{
	echo "skip $1: $2"
}

run()	# run COMMAND...: fills status, out, err
{
	timeout 20 "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	status=$?
	out=$(cat "$tmp/out")
	err=$(cat "$tmp/err")
}

# expect NAME STATUS PATTERN: status as given, stderr matches, stdout empty.
expect()
{
	[ "$status" -eq "$2" ] && [[ $err =~ $3 ]] && [ -z "$out" ]
	verdict $? "$1" "status $status, stdout '$out', stderr '$err'"
}

# refused NAME STATUS PATTERN: the same, as one line of the form weft: what: why (what now).
refused()
{
	[ "$status" -eq "$2" ] && [[ $err =~ $3 ]] && [ -z "$out" ] &&
		[[ $err =~ ^weft:\ .+:\ .+\ \(.+\)$ ]] && [ "$(wc -l <"$tmp/err")" -eq 1 ]
	verdict $? "$1" "status $status, stdout '$out', stderr '$err'"
}

printed()	# printed NAME TEXT
{
	[ "$status" -eq 0 ] && [ "$out" = "$2" ]
	verdict $? "$1" "status $status, stdout '$out', stderr '$err'"
}

# ---- what it prints -----------------------------------------------------------------------------

run "$weft" --version
[ "$status" -eq 0 ] && [[ $out =~ ^weft\ [0-9]+\.[0-9]+\.[0-9]+$ ]] && [ -z "$err" ]
verdict $? "--version prints one line on stdout" "$out"
run "$weft" --help
help=$out
[ "$status" -eq 0 ] && [ -z "$err" ]
verdict $? "--help exits 0"
run "$weft" --options
[ "$status" -eq 0 ] && [ -n "$out" ]
verdict $? "--options lists the table"
cp "$tmp/out" "$tmp/options"
while IFS=$'\t' read -r name type _ text; do
	[[ $help == *"  $name "* && $help == *"$text"* ]]
	verdict $? "--help explains $name"
	grep -q "^\.BR $name " "$build/weft.1"
	verdict $? "the man page explains $name"
	grep -q "^OPT($name, $type," "$top/runtime/base/options.def"
	verdict $? "$name stands in options.def"
done <"$tmp/options"
[ "$(grep -c '^OPT(' "$top/runtime/base/options.def")" -eq "$(wc -l <"$tmp/options")" ]
verdict $? "no option is missing from --options"
if [ -e /dev/full ]; then
	timeout 20 "$weft" --help >/dev/full 2>"$tmp/err"
	[ $? -eq 125 ] && grep -q '^weft: standard output: ' "$tmp/err"
	verdict $? "--help to a full disk is an error"
fi
if command -v man >/dev/null; then
	warnings=$(LC_ALL=C MANROFFSEQ='' MANWIDTH=80 timeout 20 man --warnings -l "$build/weft.1" 2>&1 >/dev/null)
	[ -z "$warnings" ]
	verdict $? "the man page has no formatting errors" "$warnings"
fi

# ---- options ------------------------------------------------------------------------------------

run "$weft"; refused "no program" 125 'no program'
run "$weft" --nosuch true; refused "unknown long option" 125 '--nosuch: no such option'
run "$weft" -x true; refused "unknown short option" 125 '-x: no such option'
run "$weft" --procs; refused "missing value" 125 '--procs: its value is missing'
run "$weft" --procs=two true; refused "bad number" 125 'procs=two: not a number'
run "$weft" --procs=1,2 true; refused "two numbers" 125 'more than one'
run "$weft" -o nosuch=1 true; refused "unknown key" 125 'nosuch=1: no such option'
run "$weft" -o procs true; refused "key without value" 125 'procs: its value is missing'
run "$weft" -o without=guard+maybe true; refused "word that is not allowed" 125 'without=guard[+]maybe: holds a word'
run "$weft" -o procs=1,spin=x true; refused "second of a list" 125 'spin=x: not a time'
run env WEFT=nosuch=1 "$weft" true; refused "bad entry in the variable" 125 'WEFT: nosuch=1'
run "$weft" sh -c 'echo "$WEFT"'; printed "no option sets no variable" ""
run "$weft" --procs=3 sh -c 'echo "$WEFT"'; printed "--procs" "procs=3"
run "$weft" -p 3 sh -c 'echo "$WEFT"'; printed "-p" "procs=3"
run "$weft" -o spin=0 --option=nap=1ms --procs=2 sh -c 'echo "$WEFT"'
printed "several are joined in order" "spin=0,nap=1ms,procs=2"
run env WEFT=procs=9 "$weft" --procs=2 sh -c 'echo "$WEFT"'
printed "the command line comes after the variable" "procs=9,procs=2"
# How threads of OpenMP wait, where there are fewer Ps than CPUs.
unset OMP_WAIT_POLICY GOMP_SPINCOUNT KMP_BLOCKTIME KMP_LIBRARY
policy='echo "${OMP_WAIT_POLICY-none}"'
if [ "$(nproc)" -gt 1 ]; then
	run "$weft" --procs=1 sh -c "$policy"; printed "fewer Ps than CPUs: threads of OpenMP do not spin" passive
	run env GOMAXPROCS=1 "$weft" sh -c "$policy"; printed "the same by GOMAXPROCS" passive
	run env WEFT=procs=1 "$weft" sh -c "$policy"; printed "the same by the variable" passive
else
	skip "threads of OpenMP do not spin" "one CPU"
fi
run "$weft" sh -c "$policy"; printed "as many Ps as CPUs: nothing is said of how OpenMP waits" none
run "$weft" --procs="$(nproc)" sh -c "$policy"; printed "the same with --procs" none
run "$weft" --procs=1 -o disable sh -c "$policy"; printed "nor where weft is off" none
run env OMP_WAIT_POLICY=active "$weft" --procs=1 sh -c "$policy"; printed "what the user says of it stands" active
run env GOMP_SPINCOUNT=7 "$weft" --procs=1 sh -c "$policy"; printed "by its other names, too" none
run "$weft" echo --procs=2 -o x; printed "options after the program are its own" "--procs=2 -o x"
run "$weft" -- printf %s --help; printed "-- ends the options" "--help"

# Fifty threads that sleep are fifty kernel threads natively.
cat >"$tmp/sleepers.c" <<'X'
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void *sleeper(void *arg)
{
	usleep(300000);
	return arg;
}
int main(void)
{
	pthread_t t[50];
	int n = 0;
	DIR *d;

	for (int i = 0; i < 50; i++)
		if (pthread_create(&t[i], NULL, sleeper, NULL))
			return 1;
	for (d = opendir("/proc/self/task"); readdir(d); n++)
		;
	for (int i = 0; i < 50; i++)
		pthread_join(t[i], NULL);
	puts(n < 50 ? "few" : "many");
	return 0;
}
X
$cc -o "$tmp/sleepers" "$tmp/sleepers.c" -pthread

# ---- what is set --------------------------------------------------------------------------------

run "$weft" sh -c 'echo "$LD_PRELOAD"'; printed "the library is preloaded by its full path" "$build/libweft.so"
run "$weft" grep -c "libweft.so" /proc/self/maps
[ "$status" -eq 0 ] && [ "$out" -gt 0 ]
verdict $? "the library is mapped into the program" "$out $err"
cat >"$tmp/pre.c" <<'X'
int pre_loaded = 1;
X
$cc -shared -fPIC -o "$tmp/pre.so" "$tmp/pre.c"
run env LD_PRELOAD="$tmp/pre.so" "$weft" sh -c 'echo "$LD_PRELOAD"'
printed "other preloads are kept, behind ours" "$build/libweft.so:$tmp/pre.so"
run env LD_PRELOAD="$tmp/pre.so $build/libweft.so" "$weft" sh -c 'echo "$LD_PRELOAD"'
printed "ours is named once" "$build/libweft.so:$tmp/pre.so"
run "$weft" "$weft" --procs=2 sh -c 'echo "$LD_PRELOAD $WEFT"'
printed "weft runs weft" "$build/libweft.so procs=2"
run "$weft" -o $'procs=1\nx=\e[31m' true
refused "a message is one line, whatever is in it" 125 'procs=1.012x=.033.31m'
run env WEFT=$'procs=1\nx=\e[31m' LD_PRELOAD="$build/libweft.so" "$tmp/sleepers"
[ "$(cat "$tmp/err")" = "weft[$(sed -n 's/^weft\[\([0-9]*\).*/\1/p' "$tmp/err")]: WEFT: procs=1\\012x=\\033[31m: not a number from 0 to 4294967295 (ignored)" ]
verdict $? "nor is the library's" "$err"
loader=$(readlink -f /lib64/ld-linux-x86-64.so.2)
cp "$loader" "$tmp/ld-linux-x86-64.so.2" && cp "$loader" "$tmp/ld-own"
for l in "$loader" "$tmp/ld-linux-x86-64.so.2" "$tmp/ld-own"; do
	run "$weft" "$l" /bin/sh -c 'grep -q libweft /proc/self/maps && echo preloaded'
	printed "a loader that a program brings along: ${l##*/}" "preloaded"
done
run "$weft" "$build/libweft.so"; refused "and no other library" 126 'a shared library'
mkfifo -m 755 "$tmp/fifo" && printf '#!%s\n' "$tmp/fifo" >"$tmp/fifo-script" && chmod 755 "$tmp/fifo-script"
run "$weft" "$tmp/fifo-script"; expect "an interpreter that is a named pipe is not waited for" 126 'fifo-script: '
run "$weft" sh -c 'exit 42'; expect "the program's status is passed on" 42 '^$'
run "$weft" sh -c 'kill -TERM $$'; expect "death by signal is passed on" 143 ''
(exec -a fancy "$weft" sh -c 'echo "$0"' nothing) >"$tmp/out" 2>&1
[ "$(cat "$tmp/out")" = nothing ]
verdict $? "arguments arrive unchanged"
pid=$(sh -c 'echo $$; exec "$0" sh -c "echo \$\$"' "$weft" | uniq | wc -l)
[ "$pid" -eq 1 ]
verdict $? "weft becomes the program, same process"

# ---- finding ------------------------------------------------------------------------------------

mkdir "$tmp/bin" "$tmp/bin2" "$tmp/bin/adir"
printf '#!/bin/sh\necho script "$@"\n' >"$tmp/bin/ascript"
printf '#!/bin/sh\necho second\n' >"$tmp/bin2/notexec"
printf '#!/bin/sh\necho first\n' >"$tmp/bin/notexec"
printf 'echo plain "$@"\n' >"$tmp/bin/plain"
printf '#!/nonexistent/interp\n' >"$tmp/bin/nointerp"
printf '#!%s/bin/loop\n' "$tmp" >"$tmp/bin/loop"
printf '#!%s/bin2/../bin2/data\n' "$tmp" >"$tmp/bin/interpnotexec"
printf '\0\1\2\3\4binary' >"$tmp/bin/rubbish"
: >"$tmp/bin2/data"
chmod +x "$tmp"/bin/{ascript,plain,nointerp,loop,interpnotexec,rubbish} "$tmp/bin2/notexec"
run "$weft" no-such-program-anywhere; refused "not in PATH" 127 'not found in PATH'
run "$weft" ./no/such/program; refused "no such path" 127 'No such file'
run "$weft" ""; refused "an empty name" 127 'empty name'
run "$weft" "$tmp/bin/adir"; refused "a directory" 126 'is a directory'
run "$weft" "$tmp/bin/notexec"; refused "not executable" 126 'not executable'
run env PATH="$tmp/bin:/bin:/usr/bin" "$weft" notexec; refused "not executable, in PATH" 126 'not executable'
run env PATH="$tmp/bin:$tmp/bin2:/bin" "$weft" notexec; printed "PATH goes on behind what is not executable" second
run env PATH="$tmp/bin:/bin:/usr/bin" "$weft" adir; refused "a directory in PATH is no program" 127 'not found'
cd "$tmp/bin" || exit 2
run env PATH=":/usr/bin:/bin" "$weft" ascript a b; printed "an empty element of PATH is the current directory" "script a b"
cd / || exit 2
run "$weft" "$tmp/bin/ascript" "a  b"; printed "a script" "script a  b"
run "$weft" "$tmp/bin/plain" x; printed "a script without #!" "plain x"
run "$weft" "$tmp/bin/nointerp"; refused "a script whose interpreter is missing" 127 'interpreter /nonexistent/interp is missing'
run "$weft" "$tmp/bin/interpnotexec"; refused "a script whose interpreter is not executable" 126 'not executable'
run "$weft" "$tmp/bin/loop"; refused "a script that interprets itself" 126 'script'
run "$weft" "$tmp/bin/rubbish"; refused "a file that is no program" 126 'Exec format error'

# ---- what preloading cannot reach -----------------------------------------------------------------

printf 'int main(void) { return 7; }\n' >"$tmp/seven.c"
$cc -o "$tmp/dynamic" "$tmp/seven.c"
$cc -no-pie -o "$tmp/nopie" "$tmp/seven.c"
run "$weft" "$tmp/dynamic"; expect "a dynamic PIE runs" 7 '^$'
run "$weft" "$tmp/nopie"; expect "a dynamic executable that is not PIE runs" 7 '^$'
if $cc -static -o "$tmp/static" "$tmp/seven.c" 2>/dev/null; then
	run "$weft" "$tmp/static"; refused "static" 126 'statically linked'
	printf '#!%s/static\n' "$tmp" >"$tmp/staticscript"
	chmod +x "$tmp/staticscript"
	run "$weft" "$tmp/staticscript"; refused "a script with a static interpreter" 126 'static: statically linked'
fi
if $cc -static-pie -o "$tmp/staticpie" "$tmp/seven.c" 2>/dev/null; then
	run "$weft" "$tmp/staticpie"; refused "static-pie" 126 'static-pie'
fi
chmod +x "$tmp/pre.so"
run "$weft" "$tmp/pre.so"; refused "a shared library" 126 'shared library'
$cc -c -o "$tmp/seven.o" "$tmp/seven.c"; chmod +x "$tmp/seven.o"
run "$weft" "$tmp/seven.o"; refused "an object file" 126 'object file'
run "$weft" /lib64/ld-linux-x86-64.so.2 "$tmp/dynamic"; expect "the loader itself runs" 7 '^$'

# poke FILE OFFSET BYTES: a copy of the dynamic program with another header
poke()
{
	cp "$tmp/dynamic" "$1"
	printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}
poke "$tmp/elf32" 4 '\1'
run "$weft" "$tmp/elf32"; refused "a 32-bit program" 126 '32-bit'
poke "$tmp/aarch64" 18 '\267\0'
run "$weft" "$tmp/aarch64"; refused "a program of another machine" 126 'another machine'
poke "$tmp/bigendian" 5 '\2'
run "$weft" "$tmp/bigendian"; refused "a program of another byte order" 126 'another machine'
poke "$tmp/noheaders" 54 '\0\0' # the size of a program header
run "$weft" "$tmp/noheaders"; refused "a file whose program headers have no size" 126 'damaged ELF'
$cc -o "$tmp/musl" -Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1 "$tmp/seven.c"
run "$weft" "$tmp/musl"; refused "a musl program" 126 'musl'
$cc -o "$tmp/other" -Wl,--dynamic-linker=/system/bin/linker64 "$tmp/seven.c"
run "$weft" "$tmp/other"; refused "a program with another loader" 126 'linker64, which is not glibc'
$cc -o "$tmp/gone" -Wl,--dynamic-linker=/nonexistent/ld-linux-x86-64.so.2 "$tmp/seven.c"
run "$weft" "$tmp/gone"; refused "a program whose loader is missing" 127 'is missing'

# Privileges need root to set up and another user to try, who may not be able to reach the build directory.
public=$tmp/public/weft
mkdir -m 755 "$tmp/public"
cp "$weft" "$(dirname "$weft")/libweft.so" "$tmp/public/"
chmod 755 "$public"
chmod 644 "$tmp/public/libweft.so"
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null && setpriv --reuid=65534 true 2>/dev/null &&
   setpriv --reuid=65534 --regid=65534 --clear-groups "$public" --version >/dev/null 2>&1; then
	as_nobody() { run setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
	cp "$tmp/dynamic" "$tmp/suid"; chmod 4755 "$tmp/suid"
	cp "$tmp/dynamic" "$tmp/sgid"; chmod 2755 "$tmp/sgid"
	cp "$tmp/dynamic" "$tmp/locking"; chmod 2745 "$tmp/locking"
	cp "$tmp/dynamic" "$tmp/unreadable"; chmod 711 "$tmp/unreadable"
	as_nobody "$public" "$tmp/suid"; refused "set-user-ID" 126 'set-user-ID'
	as_nobody "$public" "$tmp/sgid"; refused "set-group-ID" 126 'set-group-ID'
	as_nobody "$public" "$tmp/locking"; expect "set-group-ID without group execution means nothing" 7 '^$'
	as_nobody "$public" "$tmp/unreadable"; expect "a program that cannot be read runs" 7 '^$'
	run "$weft" "$tmp/suid"; expect "set-user-ID of its own user means nothing" 7 '^$'
	run setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs "$public" "$tmp/suid"
	expect "set-user-ID means nothing with no_new_privs" 7 '^$'
	cp "$tmp/dynamic" "$tmp/caps"
	if command -v setcap >/dev/null && setcap cap_net_bind_service=ep "$tmp/caps" 2>/dev/null; then
		as_nobody "$public" "$tmp/caps"; refused "file capabilities" 126 'capabilities'
		run "$weft" "$tmp/caps"; expect "file capabilities mean nothing to root" 7 '^$'
	elif command -v python3 >/dev/null && python3 - "$tmp/caps" 2>/dev/null <<'X'
import os, struct, sys
os.setxattr(sys.argv[1], "security.capability", struct.pack("<IIIII", 0x02000001, 1 << 10, 0, 0, 0))
X
	then
		as_nobody "$public" "$tmp/caps"; refused "file capabilities" 126 'capabilities'
		run "$weft" "$tmp/caps"; expect "file capabilities mean nothing to root" 7 '^$'
	else
		skip "file capabilities" "cannot be set here"
	fi
else
	skip "privileges" "needs root and a place that others can read"
fi

# ---- where the library is ---------------------------------------------------------------------------

cp "$weft" "$tmp/weft-alone"
mkdir "$tmp/broken" "$tmp/a b" "$tmp/good"
cp "$weft" "$tmp/broken/weft"; echo "not a library" >"$tmp/broken/libweft.so"
cp "$weft" "$build/libweft.so" "$tmp/a b/"
cp "$weft" "$build/libweft.so" "$tmp/good/"
run "$tmp/broken/weft" true; refused "a damaged library" 125 'not a readable x86-64 library'
run "$tmp/a b/weft" true; refused "a path that LD_PRELOAD cannot hold" 125 'space, colon or dollar'
run "$tmp/good/weft" sh -c 'echo "$LD_PRELOAD"'; printed "next to the launcher" "$tmp/good/libweft.so"
ln -s "$tmp/good/weft" "$tmp/bin/weft"
run "$tmp/bin/weft" sh -c 'echo "$LD_PRELOAD"'; printed "a link to the launcher" "$tmp/good/libweft.so"
mkdir -p "$tmp/moved/bin" "$tmp/moved/lib/weft"
way=$(strings -a "$weft" 2>/dev/null | grep -m 1 '/lib.*/weft$')
mkdir -p "$tmp/moved${way%/lib*}/bin" "$tmp/moved$way"
cp "$weft" "$tmp/moved${way%/lib*}/bin/"; cp "$build/libweft.so" "$tmp/moved$way/"
run "$tmp/moved${way%/lib*}/bin/weft" sh -c 'echo "$LD_PRELOAD"'
printed "an installation that was moved" "$tmp/moved$way/libweft.so"
run env LD_PRELOAD="$tmp/good/libweft.so" "$weft" sh -c 'echo "$LD_PRELOAD"'
printed "another build's library makes way for ours" "$build/libweft.so"
for two in "$build/libweft.so $tmp/good/libweft.so" "$tmp/good/libweft.so:$build/libweft.so"; do
	run env LD_PRELOAD="$two" "$tmp/sleepers"
	[ "$out" = few ] && [[ $err =~ ^weft\[[0-9]+\]:\ LD_PRELOAD:\ names\ weft\ twice\ \(${two##*[ :]}\ is\ not\ used\)$ ]]
	verdict $? "two builds of the library in a list by hand: the first is at work" "$out $err"
done
cat >"$tmp/filter.c" <<'X'
/* A container's filter that is older than faccessat2(2): EPERM to it. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 439, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {4, code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		return 77;
	execv(argv[1], argv + 1);
	return 78;
}
X
if $cc -o "$tmp/filter" "$tmp/filter.c" 2>/dev/null && "$tmp/filter" /bin/true; then
	run "$tmp/filter" "$weft" "$tmp/dynamic"; expect "a filter older than faccessat2(2)" 7 '^$'
	run "$tmp/filter" "$weft" "$tmp/bin/ascript" x; printed "a script under it" "script x"
	run "$tmp/filter" "$weft" "$tmp/bin2/data"; refused "what is not executable stays so" 126 'not executable'
else
	skip "a filter older than faccessat2(2)" "no filters here"
fi
if unshare -m true 2>/dev/null; then
	run unshare -m sh -c 'umount -l /proc && exec "$@"' sh "$tmp/good/weft" sh -c 'echo "$LD_PRELOAD"'
	printed "found without /proc" "$tmp/good/libweft.so"
else
	skip "found without /proc" "no mount namespaces here"
fi
installed=$(strings -a "$weft" 2>/dev/null | grep -m 1 '/weft$')
if [ ! -e "${installed:-/usr/local/lib/weft}/libweft.so" ]; then
	run "$tmp/weft-alone" true; refused "no library anywhere" 125 'libweft.so: neither beside'
else
	skip "no library anywhere" "weft is installed"
fi

# ---- completion and header --------------------------------------------------------------------------

complete_words()	# complete_words WORD...: what bash would offer for the last
{
	bash -c 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _weft 2>/dev/null
		printf "%s\n" "${COMPREPLY[@]}"' _ "$top/launcher/weft.bash" "$weft" "$@"
}
[ "$(complete_words -o '' | tr -d = | sort)" = "$(cut -f 1 "$tmp/options" | sort)" ]
verdict $? "completion offers every option" "$(complete_words -o '' | tr '\n' ' ')"
[ "$(complete_words -o without = m)" = membarrier ]
verdict $? "completion offers the words of an option" "$(complete_words -o without = m | tr '\n' ' ')"
[ "$(complete_words -o deadlock = o)" = off ]
verdict $? "completion offers the words of which one is chosen" "$(complete_words -o deadlock = o | tr '\n' ' ')"
[ "$(complete_words --op)" = "$(printf '%s\n' --option= --options)" ]
verdict $? "completion offers the launcher's own options" "$(complete_words --op | tr '\n' ' ')"

cat >"$tmp/api.c" <<'X'
#include <stdio.h>
#include <weft.h>
int main(void)
{
	const char *version = weft_version();

	puts(version ? version : "none");
	return 0;
}
X
for mode in "-fPIE -pie" "-fno-pie -no-pie"; do
	$cc $mode -I"$top/include" -o "$tmp/api" "$tmp/api.c"
	run "$tmp/api"; printed "weft.h without weft ($mode)" none
	run "$weft" "$tmp/api"; printed "weft.h under weft ($mode)" "$("$weft" --version | cut -d ' ' -f 2)"
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
