#!/usr/bin/env bash
# programs: the runner of the test programs must see what it exists to see.  Programs of known behaviour,
# some of which tell weft's presence from LD_PRELOAD and misbehave then.

set -u
top=${top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${top_builddir:-$top/build}
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
passed=0 failed=0
mkdir "$tmp/tests" "$tmp/tests/lib" "$tmp/build"
unset LD_PRELOAD WEFT

program()	# program NAME BODY: woven is 1 under weft
{
	cat >"$tmp/tests/$1" <<X
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void)
{
	const char *preload = getenv("LD_PRELOAD"), *options = getenv("WEFT");
	int woven = preload && strstr(preload, "libweft.so");
	int eight = woven && options && strstr(options, "procs=8");
	(void)eight;
	$2
	return 0;
}
X
}
program good.c 'puts("fine");'
program good-cxx.cc 'puts("fine");'
program status.c 'puts("three"); return 3;'
program output.c 'puts(woven ? "other" : "same");'
program output-eight.c 'puts(eight ? "other" : "same");'
program badstatus.c 'return woven ? 4 : 0;'
program hangs.c 'if (woven) pause();'
program crashes.c 'if (woven) raise(SIGSEGV);'
program native-crash.c 'if (!woven) raise(SIGSEGV);'
program native-hang.c 'if (!woven) pause();'
program native-check.c 'puts("FAILED native-check.c:1: x"); return 1;'
program nobuild.c 'not C at all;'
program lacking.c 'puts("no such device here"); return 77;'
echo 'int seven(void) { return 7; }' >"$tmp/tests/lib/seven.c"
printf '#include <stdio.h>\n#include <dlfcn.h>\nint main(void)\n{\n\tvoid *h = dlopen("$ORIGIN/lib/seven.so", RTLD_NOW);\n\tif (!h)\n\t\treturn 1;\n\tprintf("%%d\\n", ((int (*)(void))dlsym(h, "seven"))());\n\treturn 0;\n}\n' >"$tmp/tests/library.c"

top_builddir=$tmp/build WEFT_LAUNCHER=$build/weft timeout 250 \
	"$top/tests/run-programs" -t 3 -j 2 "$tmp/tests" >"$tmp/out" 2>&1
status=$?

line()	# line PATTERN: this line was printed
{
	if grep -q "$1" "$tmp/out"; then
		passed=$((passed + 1))
		echo "ok $1"
	else
		failed=$((failed + 1))
		echo "not ok $1"
	fi
}
line '^ok good.c$'
line '^ok good-cxx.cc$'
line '^ok status.c$'
line '^ok library.c$'
line '^not ok output.c: procs=1 run 1: output differs: < same'
line '^not ok output-eight.c: procs=8 run 1: output differs'
line '^not ok badstatus.c: procs=1 run 1: status 4, native 0'
line '^not ok hangs.c: procs=1 run 1: hung'
line '^not ok crashes.c: procs=1 run 1: killed by SIGSEGV'
line '^not ok native-crash.c: native run killed by SIGSEGV'
line '^not ok native-hang.c: native run hung'
line '^not ok native-check.c: native run: FAILED'
line '^not ok nobuild.c: does not build'
line '^skip lacking.c: no such device here'
line '^4 passed, 9 failed$'
if [ $status -eq 1 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "not ok status $status"; fi
[ $failed -eq 0 ] || sed 's/^/said: /' "$tmp/out"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
