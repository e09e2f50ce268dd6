#!/usr/bin/env bash
# preempt: slices so short that threads lose their processor hundreds of times, under programs that would
# notice: each in the middle of what it checks, on libc as the oracle and under weft.

set -u
top=${top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
p=$top/tests/programs
weft=${WEFT_LAUNCHER:-${top_builddir:-$top/build}/weft}
# The programs are built here: make distclean knows nothing of them.
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT

WEFT_LAUNCHER=$(realpath "$weft") top_builddir=$tmp timeout 200 "$top/tests/run-programs" -p "1 2" -t 60 -o slice=200us \
	"$p"/preempt-*.c \
	"$p"/cancel-asynchronous.c \
	"$p"/dlopen-from-many-threads.c \
	"$p"/io-big-transfers-are-whole.c \
	"$p"/io-timeouts-of-sockets.c \
	"$p"/malloc-across-threads.c \
	"$p"/mask-belongs-to-the-thread.c \
	"$p"/process-contexts-of-its-own.c \
	"$p"/signal-alternate-stacks-of-threads.c \
	"$p"/signal-handlers-may-block-and-jump.c
