#!/usr/bin/env bash
# loader: dlopen() finds under weft what it finds without, whoever calls it.
#
# The same name is opened from the program and from libraries with and without a DT_RUNPATH or DT_RPATH of
# their own, in a thread.  Two libraries of that name lie in a/ and b/: which one answers tells whose path
# was used.  The native run is the oracle; what it must show is also checked, or two broken runs would agree.

. "$(dirname "$0")/lib.sh"
cc=${CC:-cc}
unset LD_LIBRARY_PATH

cat >"$tmp/plug.c" <<'EOF'
const char *who(void) { return NAME; }
EOF
cat >"$tmp/opener.c" <<'EOF'
#include <dlfcn.h>
const char *ask(const char *file)
{
	void *h = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	const char *(*who)(void) = h ? (const char *(*)(void))dlsym(h, "who") : 0;
	const char *answer = who ? who() : "nobody"; /* stays mapped: nothing closes it */

	return answer;
}
EOF
cat >"$tmp/main.c" <<'EOF'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
static void *thread(void *opener)
{
	void *h = dlopen(opener, RTLD_NOW);
	const char *(*ask)(const char *) = h ? (const char *(*)(const char *))dlsym(h, "ask") : 0;

	if (!ask)
		return "no opener";
	printf("%s %s\n", ask("libplug.so"), ask("$ORIGIN/../a/libplug.so"));
	return 0;
}
int main(int argc, char **argv)
{
	pthread_t t;
	void *why;

	(void)argc;
	if (pthread_create(&t, 0, thread, argv[1]) || pthread_join(t, &why) || why)
		return 1;
	return 0;
}
EOF

mkdir "$tmp/a" "$tmp/b" "$tmp/d"
shared=($cc -O1 -fPIC -shared)
"${shared[@]}" -DNAME='"a"' -o "$tmp/a/libplug.so" "$tmp/plug.c" &&
"${shared[@]}" -DNAME='"b"' -o "$tmp/b/libplug.so" "$tmp/plug.c" &&
"${shared[@]}" -o "$tmp/d/plain.so" "$tmp/opener.c" &&
"${shared[@]}" -o "$tmp/d/runpath.so" "$tmp/opener.c" -Wl,-rpath,'$ORIGIN/../b' -Wl,--enable-new-dtags &&
"${shared[@]}" -o "$tmp/d/rpath.so" "$tmp/opener.c" -Wl,-rpath,'$ORIGIN/../b' -Wl,--disable-new-dtags &&
$cc -O1 -pthread -o "$tmp/plain" "$tmp/main.c" -ldl &&
$cc -O1 -pthread -o "$tmp/rpath" "$tmp/main.c" -ldl -Wl,-rpath,'$ORIGIN/a' -Wl,--disable-new-dtags ||
	{ echo "loader: cannot build the objects"; exit 2; }

# case_of PROGRAM OPENER "ANSWERS": natively and under weft.
case_of()
{
	local native under
	native=$(timeout 20 "$tmp/$1" "$tmp/d/$2.so" 2>&1)
	under=$(timeout 20 "$build/weft" "$tmp/$1" "$tmp/d/$2.so" 2>&1)
	[ "$native" = "$3" ] && [ "$under" = "$3" ]
	verdict $? "program $1, caller $2" "natively '$native', under weft '$under', not '$3'"
}

case_of plain plain "nobody a"
case_of plain runpath "b a"
case_of plain rpath "b a"
case_of rpath plain "a a"
case_of rpath runpath "b a"
case_of rpath rpath "b a"

# ---- libraries after weft: what a wrapped call goes on to ----

cat >"$tmp/after.c" <<'EOF'
int malloc_trim(unsigned long pad) { (void)pad; return 42; }
EOF
cat >"$tmp/trim.c" <<'EOF'
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
static void *trim(void *before) { printf("%d %d\n", *(int *)before, malloc_trim(0)); return 0; }
int main(void)
{
	pthread_t t;
	int before = malloc_trim(0);

	return pthread_create(&t, 0, trim, &before) || pthread_join(t, 0);
}
EOF
$cc -O1 -pthread -o "$tmp/trim" "$tmp/trim.c" || exit 2
for style in gnu sysv both; do
	"${shared[@]}" -o "$tmp/after-$style.so" "$tmp/after.c" -Wl,--hash-style=$style || exit 2
	for list in "$build/libweft.so:$tmp/after-$style.so" "$tmp/after-$style.so:$build/libweft.so"; do
		got=$(LD_PRELOAD=$list timeout 20 "$tmp/trim" 2>&1)
		[ "$got" = "42 42" ]
		verdict $? "a preloaded library with $style hash tables, $(sed "s#[^:]*/##g" <<<"$list")" "$got"
	done
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
