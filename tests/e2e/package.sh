#!/usr/bin/env bash
# package: what scripts/package makes: the Debian package, and the tree that runs where it is unpacked.
#
# TWICE=1: the package is built a second time, and is the same (half a minute more).

. "$(dirname "$0")/lib.sh"
command -v dh >/dev/null && command -v dpkg-deb >/dev/null && command -v fakeroot >/dev/null || {
	echo "no debhelper"
	exit 77
}
export SOURCE_DATE_EPOCH=1790000000

cat >"$tmp/threads.c" <<'X'
#include <pthread.h>
#include <stdio.h>
#include <weft.h>

static void *says(void *arg)
{
	printf("%d\n", weft_threads());
	return arg;
}

int main(void)
{
	pthread_t t;

	pthread_create(&t, NULL, says, NULL);
	return pthread_join(t, NULL);
}
X

runs()	# runs NAME TREE: the launcher of this tree finds its library, from anywhere
{
	"${CC:-gcc}" -pthread -I"$2/include" -o "$tmp/threads" "$tmp/threads.c"
	matches "$1: runs a program" '^0 2$' "$(cd / && "$2/bin/weft" "$tmp/threads" 2>&1 | { read -r n; echo "${PIPESTATUS[0]} $n"; })"
	matches "$1: by a link" '^2$' "$(ln -sf "$2/bin/weft" "$tmp/link" && "$tmp/link" "$tmp/threads" 2>&1)"
	matches "$1: weftctl" '^ *PID NAME' "$("$2/bin/weftctl" ps 2>&1 | head -n 1)"
	matches "$1: manual pages, completion" '^3$' \
		"$(find "$2/share" -name 'weft.1*' -o -name 'weftctl.1*' -o -path '*completions/weft' | wc -l)"
}

for i in 1 ${TWICE:+2}; do
	"$top/scripts/package" -o "$tmp/$i" deb >"$tmp/said" 2>&1
	matches "deb, build $i" '^0 [0-9a-f]{64}  weft_[0-9.]*-1_amd64.deb$' "$? $(tail -n 1 "$tmp/said")"
done
deb=$(echo "$tmp"/1/*.deb)
if [ -n "${TWICE-}" ]; then
	cmp "$tmp"/[12]/*.deb >"$tmp/said" 2>&1
	verdict $? "two builds are the same" "$(cat "$tmp/said")"
fi
dpkg-deb -x "$deb" "$tmp/unpacked"
matches "deb: all below usr" '^usr$' "$(ls "$tmp/unpacked")"
matches "deb: nothing is run at installation" '^control md5sums$' "$(dpkg-deb --ctrl-tarfile "$deb" | tar -t | sed 's/^\.\///; /^$/d' | tr '\n' ' ' | sed 's/ $//')"
# From 2.38 on libc's headers give C23's strtol: what is to run everywhere is built on an older one.
needs=2.34
[ "$(printf '%s\n' 2.38 "$(getconf GNU_LIBC_VERSION | cut -d ' ' -f 2)" | sort -V | head -n 1)" != 2.38 ] || needs='2.3[48]'
matches "deb: no libc newer than $needs" "libc6 \(>= ${needs/./\\.}\)" "$(dpkg-deb -f "$deb" Depends)"
runs "deb, unpacked" "$tmp/unpacked/usr"

"$top/scripts/package" -o "$tmp/3" tar >"$tmp/said" 2>&1
matches "tar" '^0 [0-9a-f]{64}  weft-[0-9.]*-linux-.*\.tar\.xz$' "$? $(tail -n 1 "$tmp/said")"
mkdir "$tmp/anywhere"
tar -C "$tmp/anywhere" -xf "$tmp"/3/*.tar.xz
runs "tar" "$(echo "$tmp/anywhere"/*)"

"$top/scripts/package" rpm >"$tmp/said" 2>&1
matches "another kind" '^2 usage: package' "$? $(cat "$tmp/said")"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
