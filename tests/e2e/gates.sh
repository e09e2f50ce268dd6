#!/usr/bin/env bash
# gates: each gate must be able to fail.  Every case takes what passes, breaks one thing and expects the
# gate to name it.

set -u
top=${top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
cc=${CC:-cc}
tmp=$(mktemp -d) || exit 2
trap 'chmod -R u+w "$tmp"; rm -rf "$tmp"' EXIT
passed=0 failed=0

# case_of NAME GATE PATTERN: the gate runs on the tree in $tmp/src and $tmp/build.  Pattern "": it passes.
case_of()
{
	local said status
	said=$(top_srcdir=$tmp/src top_builddir=$tmp/build timeout 60 "$top/scripts/$2" 2>&1)
	status=$?
	if { [ -z "$3" ] && [ $status -eq 0 ]; } ||
	   { [ -n "$3" ] && [ $status -eq 1 ] && grep -q "$3" <<<"$said"; }; then
		passed=$((passed + 1))
		echo "ok $2: $1"
	else
		failed=$((failed + 1))
		echo "not ok $2: $1: status $status: $(tail -n 5 <<<"$said")"
	fi
}

fresh()
{
	chmod -R u+w "$tmp"
	rm -rf "$tmp/src" "$tmp/build"
	mkdir -p "$tmp/src" "$tmp/build"
	cp -r "$top"/{launcher,ctl,shim,runtime,compat,include} "$tmp/src/"
	chmod -R u+w "$tmp/src"
}

# ---- layers -------------------------------------------------------------------------------------

fresh
mkdir -p "$tmp/src/runtime/os/linux" "$tmp/src/runtime/arch/x86_64"
case_of "the tree as it is" check-layers ""
layer()	# layer NAME FILE INCLUDE PATTERN
{
	printf '#include %s\n' "$3" >"$tmp/src/$2"
	case_of "$1" check-layers "$4"
	rm "$tmp/src/$2"
}
printf '\n' >"$tmp/src/runtime/zinside.h"
printf '\n' >"$tmp/src/runtime/os/os.h"
layer "the runtime includes the shim" runtime/zz.c '"shim/shim.h"' 'runtime/zz.c:1: runtime includes shim/shim.h'
layer "the runtime includes compat" runtime/zz.c '"compat/tcb.h"' 'runtime includes compat/tcb.h'
layer "the shim includes the scheduler's insides" shim/zz.c '"runtime/zinside.h"' 'shim includes runtime/zinside.h'
layer "the same by a relative path" shim/zz.c '"../runtime/zinside.h"' 'shim includes runtime/zinside.h'
layer "compat includes the runtime" compat/zz.c '"runtime/runtime.h"' 'compat includes runtime/runtime.h'
layer "os includes the runtime" runtime/os/linux/zz.c '"runtime/runtime.h"' 'os includes runtime/runtime.h'
layer "arch includes os" runtime/arch/x86_64/zz.S '"runtime/os/os.h"' 'arch includes runtime/os/os.h'
layer "a header that is nowhere" runtime/zz.c '"runtime/nowhere.h"' 'which is nowhere'
layer "the runtime includes stdio" runtime/zz.c '<stdio.h>' 'may not call'
layer "the shim may include runtime.h" shim/zz.c '"runtime/runtime.h"' ''

# ---- the runtime's interface --------------------------------------------------------------------

fresh
case_of "the tree as it is" check-interface ""
many=$(seq -f 'int zz_%g(int a);' 60)
declared()	# declared NAME TEXT PATTERN
{
	cp "$top/runtime/park.h" "$tmp/src/runtime/park.h"
	printf '%s\n' "$2" >>"$tmp/src/runtime/park.h"
	case_of "$1" check-interface "$3"
}
declared "too many functions" "$many" '^runtime/\*.h: [0-9]* functions, at most'
declared "pointers to functions" "$(seq -f 'extern int (*zz_%g)(int a);' 60)" '^runtime/\*.h: [0-9]* functions, at most'
declared "functions in line, data, comments" "static inline int zz(void) { int a; f(a); }
extern int zy;
/* $many */" ''
touch "$tmp/src/runtime/zz.h"
case_of "too many headers" check-interface '^runtime/: 9 headers'

# ---- CPU code -----------------------------------------------------------------------------------

fresh
case_of "the tree as it is" check-arch ""
cpu_code()	# cpu_code NAME FILE LINE PATTERN
{
	printf '%s\n' "$3" >"$tmp/src/$2"
	case_of "$1" check-arch "$4"
	rm "$tmp/src/$2"
}
cpu_code "assembly in the shim" shim/zz.c '	__asm__ volatile("");' '^shim/zz.c:1: assembly outside'
cpu_code "a register in compat" compat/zz.c 'long f(long *r) { return r[REG_RIP]; }' '^compat/zz.c:1: a register outside'
cpu_code "an opcode in the runtime" runtime/zz.c 'int f(unsigned char *p) { return p[0] == 0x0f; }' '^runtime/zz.c:1: an opcode outside'
cpu_code "a machine by name" launcher/zz.c '#ifdef __x86_64__' '^launcher/zz.c:1: a machine'
cpu_code "an instruction by a builtin" shim/zz.c 'void f(void) { __builtin_ia32_pause(); }' '^shim/zz.c:1: an instruction outside'
cpu_code "an assembler file that is not all preprocessor" shim/zz.S '	ret' '^shim/zz.S:1: an instruction outside'
cpu_code "a comment about all of that" shim/zz.c '/* __asm__, REG_RIP, __x86_64__ */' ''
cpu_code "a name that the list lacks" shim/zz.c 'int f(void) { return STATE_ALIGN + TCBHEAD_FEATURES; }' '^TCBHEAD_FEATURES: another CPU'
cpu_code "a call that others lack" shim/zz.c 'int nr = SYS_utime;' '^utime: other CPUs lack'
sed -i 's/arch_pause()/arch_paus()/' "$tmp"/src/{shim,runtime,compat}/*/*.[ch] "$tmp"/src/compat/*.c "$tmp"/src/runtime/arch/*.h
case_of "a name that nobody uses" check-arch '^arch_pause: listed'

# ---- lists --------------------------------------------------------------------------------------

fresh
cp "$top/Makefile.am" "$tmp/src/"
mkdir -p "$tmp/src/tests"
cp -r "$top"/tests/{unit,compat,bench} "$tmp/src/tests/"
chmod -R u+w "$tmp/src"
case_of "the lists as they are" check-lists ""
touch "$tmp/src/shim/zz.c"
case_of "a file that nobody listed" check-lists '^shim_sources: not listed: shim/zz.c'
mkdir "$tmp/src/shim/zz"
touch "$tmp/src/shim/zz/io.c"
case_of "a file with the name of another" check-lists '^io: a file of this name in two folders'
rm -r "$tmp/src/shim/zz"
rm "$tmp/src/shim/zz.c"
touch "$tmp/src/prf.out"
case_of "an empty file" check-lists '^prf.out: an empty file'
rm "$tmp/src/prf.out" "$tmp/src/runtime/base/log.c"
case_of "a file that is gone" check-lists '^runtime_sources: listed but not there: runtime/base/log.c'
(export top_srcdir=$tmp/src; "$top/scripts/check-lists" --fix >/dev/null)
case_of "the lists once rewritten" check-lists ""

# ---- what happens to descriptors ----------------------------------------------------------------

fresh
mkdir -p "$tmp/src/tests/compare/fds"
cp "$top/tests/compare/fds/events.c" "$tmp/src/tests/compare/fds/"
chmod -R u+w "$tmp/src"
case_of "each call of the table has a case" check-fdevents ""
echo 'FDEVENT(lookup_dcookie, nothing, arrived)' >>"$tmp/src/shim/fd/fdevents.def"
case_of "a call without a case" check-fdevents '^check-fdevents: lookup_dcookie'

# ---- memory that a call names -------------------------------------------------------------------

fresh
mkdir -p "$tmp/src/tests/compare/memory"
cp "$top/tests/compare/memory/calls.def" "$tmp/src/tests/compare/memory/"
chmod -R u+w "$tmp/src"
case_of "each call that a function answers has a case" check-memory ""
echo 'SYSCALL(999, lookup_dcookie, CALL(yields))' >>"$tmp/src/shim/syscall/syscalls.def"
case_of "a call without a case" check-memory '^check-memory: lookup_dcookie'
fresh
mkdir -p "$tmp/src/tests/compare/memory"
cp "$top/tests/compare/memory/calls.def" "$tmp/src/tests/compare/memory/"
sed -i 's/^\(SYSCALL([0-9]*, pause, \).*/\1BLOCKS)/' "$tmp/src/shim/syscall/syscalls.def"
case_of "a reason for a call that needs none" check-memory '^check-memory: pause'

# ---- mutants ------------------------------------------------------------------------------------

fresh
mkdir -p "$tmp/src/tests/sim"
cp -r "$top/tests/sim/mutants" "$tmp/src/tests/sim/"
chmod -R u+w "$tmp/src"
case_of "each mutant can be made" check-mutants ""
sed -i 's/^static unsigned pd_wake(/static unsigned pd_wakes(/' "$tmp/src/runtime/poll/polldesc.c"
case_of "one whose text has moved" check-mutants '^check-mutants: poll-counts-after-look: hunk 1'

# ---- system calls of weft's own -----------------------------------------------------------------

fresh
case_of "weft's own calls are in the table" check-own ""
echo 'void zz(void) { os_syscall(SYS_getcpu, 0, 0, 0, 0, 0, 0); }' >>"$tmp/src/runtime/os/linux/time.c"
case_of "one that is not" check-own '^check-own: getcpu: weft makes this call'
fresh
echo 'long zz(void) { return direct3(SYS_swapoff, 0, 0, 0); }' >>"$tmp/src/shim/fd/io.c"
case_of "one that the shim makes" check-own '^check-own: swapoff: weft makes this call'

# ---- options ------------------------------------------------------------------------------------

fresh
printf 'OPT(loom, uint, 0, "x")\nOPT(weft, uint, 0, "x")\n' >"$tmp/src/runtime/base/options.def"
echo 'int zz(void) { return weft_opt.loom + weft_opt.weft; }' >"$tmp/src/shim/zz.c"
case_of "options that are read" check-options ""
echo 'int zz(void) { return weft_opt.loom + weft_opt.weftx; }' >"$tmp/src/shim/zz.c"
case_of "an option that nobody reads" check-options '^weft: in the table, but nobody'

# ---- symbols ------------------------------------------------------------------------------------

fresh
cat >"$tmp/src/shim/symbols.def" <<'X'
/* SYM(int, in_comment, NULL, (void)) */
SYM(int, weaver_a, NULL, (int (*f)(void *), void *arg))
SYM(void *, weaver_b, "GLIBC_2.3", (void))	// SYM(int, in_line_comment, NULL, (void))
X
# The functions of weft.h but for that one.
api=$(sed -n 's/^WEFT_API .*[ *]\(weft_[a-z_]*\)(.*/\1/p' "$top/include/weft.h" | grep -vx weft_version |
	sed 's/.*/__attribute__((visibility("default"))) void &(void) { }/')
library()	# library C-TEXT [FLAGS]: builds libweft.so from the text, weft_version and the other functions of weft.h
{
	{ echo "$1"; echo "$api"; echo '__attribute__((visibility("default"))) const char *weft_version(void) { extern int getpid(void); return getpid() ? "" : 0; }'; } |
	$cc -shared -fPIC -fvisibility=hidden -Wl,-soname,libweft.so -Wl,-z,now -Wl,-z,nodelete \
		-Wl,-z,noexecstack ${2-} -x c - -o "$tmp/build/libweft.so" -x none ${3-}
}
ab='#pragma GCC visibility push(default)
int weaver_a(int (*f)(void *), void *arg) { return 0; } void *weaver_b(void) { return 0; }'
library "$ab"
case_of "the table and weft.h" check-symbols ""
library "${ab/weaver_b/weaver_c}"
case_of "one that is missing" check-symbols '^weaver_b: promised but not exported'
case_of "one too many" check-symbols '^weaver_c: exported but in no table'
library "$ab"
echo 'SYM(int, weaver_a, NULL, (void))' >>"$tmp/src/shim/symbols.def"
case_of "one that is in the table twice" check-symbols '^weaver_a: twice'

# ---- runtime ------------------------------------------------------------------------------------

archive()	# archive C-TEXT
{
	rm -f "$tmp/build/libruntime.a"
	echo "$1" | $cc -O0 -fno-builtin -fPIC -c -x c - -o "$tmp/build/x.o" &&
		ar cr "$tmp/build/libruntime.a" "$tmp/build/x.o"
}
fresh
echo 'SYM(int, weaver_a, NULL, (void))' >"$tmp/src/shim/symbols.def"
archive 'void *memcpy(void *, const void *, unsigned long); static int weaver_b(void) { return 0; }
void own(void); void use(void *p) { memcpy(p, p, 1); own(); weaver_b(); } void own(void) { }'
case_of "memcpy and its own functions" check-runtime ""
archive 'int weaver_a(void); int use(void) { return weaver_a(); }'
case_of "an interposed name" check-runtime '^weaver_a: interposed by the shim, called by x.o'
archive 'void *malloc(unsigned long); void *use(void) { return malloc(1); }'
case_of "malloc" check-runtime '^malloc: not on the list'
archive 'int weaver_w(void) __attribute__((weak)); int use(void) { return weaver_w ? weaver_w() : 0; }'
case_of "a weak reference is a call as well" check-runtime '^weaver_w: not on the list'

# ---- bind ---------------------------------------------------------------------------------------

object()	# object ARCHIVE NAME C-TEXT
{
	echo "$3" | $cc -O0 -fno-builtin -fPIC -c -x c - -o "$tmp/build/$2.o" &&
		ar cr "$tmp/build/$1.a" "$tmp/build/$2.o"
}
fresh
object libshim bind 'void *symbol_next(void); void *use(void) { return symbol_next(); }'
object libshim bindstub 'void *bind_one(void); void *bindstub_x(void) { return bind_one(); }'
object libcompat symbol 'extern char _r_debug; void *symbol_next(void) { return &_r_debug; }'
case_of "tables alone" check-bind ""
object libshim bind 'void *dlsym(void); void *use(void) { return dlsym(); }'
case_of "dlsym" check-bind '^dlsym: called by bind.o'
object libshim bind 'void *symbol_next(void); void *use(void) { return symbol_next(); }'
object libcompat symbol 'unsigned long strlen(const char *); unsigned long use(const char *p) { return strlen(p); }'
case_of "even strlen" check-bind '^strlen: called by symbol.o'

# ---- system calls -------------------------------------------------------------------------------

fresh
case_of "the tables as they are" check-syscalls ""
sed -i '/ capset,/d' "$tmp/src/shim/syscall/syscalls.def"
case_of "a call that nobody has decided about" check-syscalls '^capset: no line in the table of system calls'
fresh
sed -i 's/^SYSCALL(126, capset/SYSCALL(127, capset/' "$tmp/src/shim/syscall/syscalls.def"
case_of "a wrong number" check-syscalls '^capset: 127 in the table, 126 in the header'
fresh
sed -i '/SET_TIMERSLACK/d' "$tmp/src/shim/syscall/prctl.def"
case_of "an operation of prctl" check-syscalls '^PR_SET_TIMERSLACK: no line'
fresh
sed -i '/ capset,/d' "$tmp/src/shim/symbols.def"
case_of "libc's function passes by" check-syscalls "^capset: libc's function is not interposed"

# ---- lines --------------------------------------------------------------------------------------

fresh
case_of "the tree as it is" check-lines ""
printf '\t/* %0112d */\n' 0 >"$tmp/src/shim/zz.c"
case_of "a line of 126 columns" check-lines '^check-lines: shim/zz.c:1: 126 columns'

# ---- names --------------------------------------------------------------------------------------

fresh
case_of "the tree as it is" check-names ""
two_values()	# two_values NAME FIRST SECOND PATTERN
{
	printf '%s\n' "$2" >"$tmp/src/shim/zz.c"
	printf '%s\n' "$3" >"$tmp/src/runtime/zz.c"
	case_of "$1" check-names "$4"
	rm "$tmp/src/shim/zz.c" "$tmp/src/runtime/zz.c"
}
two_values "an enumerator with two values" 'enum { ZZ_MAX = 4 };' 'enum { ZZ_MAX = 5 };' '^ZZ_MAX: 4 in shim/zz.c; 5 in runtime/zz.c'
two_values "a macro and an enumerator" '#define ZZ_MAX 4' 'enum { ZZ_A, ZZ_MAX };' '^ZZ_MAX: '
two_values "by its place in the enumeration" 'enum { ZZ_A, ZZ_B };' 'enum { ZZ_B, ZZ_A };' '^ZZ_A: '
two_values "one value written in two ways" 'enum { ZZ_MAX = 1 << 4 };' '#define ZZ_MAX 16ULL' ''

# ---- throws -------------------------------------------------------------------------------------

fresh
mkdir -p "$tmp/src/tests/unit"
cp "$top/tests/unit/check.c" "$tmp/src/tests/unit/"
chmod -R u+w "$tmp/src/tests"
case_of "each has a case" check-throws ""
mkdir "$tmp/src/runtime/zz"
printf 'void zz_check(void)\n{\n\tthrow("zz_check: %%u Gs and no Ps", 1);\n}\n' >"$tmp/src/runtime/zz/zz.c"
case_of "one that has none" check-throws 'runtime/zz/zz.c: "zz_check: % Gs and no Ps" has no case'
rm "$tmp/src/runtime/zz/zz.c"
sed -i 's/"and spins"/"and"/' "$tmp/src/tests/unit/check.c"
case_of "words that many have" check-throws '"and" is a part of [0-9]* formats'

# ---- spins --------------------------------------------------------------------------------------

fresh
case_of "the tree as it is" check-spins ""
printf 'void zz_wait(int *p)\n{\n\twhile (*p)\n\t\tos_osyield();\n}\n' >"$tmp/src/runtime/sched/zz.c"
case_of "one that the gate does not know" check-spins 'zz.c: zz_wait() spins, and check-spins does not say'
rm "$tmp/src/runtime/sched/zz.c"
sed -i 's/\tunlock_pinned(&arealock);/\tunlock_unpinned(\&arealock);/; s/^\tlock(&arealock);/\tarea_lock();/' "$tmp/src/runtime/mem/tlsarea.c"
case_of "one that waits for what is not pinned" check-spins 'tlsarea_trim() tlsarea_alloc() pins nothing'
sed -i 's/\t\t\tgosched();/\t\t\t;/' "$tmp/src/runtime/poll/pollclose.c"
case_of "one that gives way no more" check-spins 'await_calls() calls no gosched()'

# ---- policy -------------------------------------------------------------------------------------

fresh
case_of "the tree as it is" check-policy ""
elsewhere()	# elsewhere NAME FILE CODE PATTERN
{
	printf '%s\n' "$3" >"$tmp/src/$2"
	case_of "$1" check-policy "$4"
	rm "$tmp/src/$2"
}
elsewhere "a constant in a folder that schedules" runtime/sched/zz.c 'enum { ZZ_AFTER = 100 };' 'ZZ_AFTER = 100: a constant of policy'
elsewhere "the same by a macro" runtime/sysmon/zz.c '#define ZZ_AFTER 10000000ULL' 'ZZ_AFTER = 10000000ULL: a constant of policy'
elsewhere "states are no policy" runtime/poll/zz.c 'enum zz { ZZ_A, ZZ_B = 7 };' ''
elsewhere "a number in a statement" runtime/wait/zz.c 'void zz(void) { os_usleep(50); }' 'os_usleep(50); }: a number that decides'
elsewhere "a length is none" runtime/wait/zz.c 'char zz[16]; int zy(int n) { return n >> 8; }' ''
elsewhere "a time in the shim" shim/zz.c 'enum { ZZ_RETRY = 100 };' 'ZZ_RETRY = 100: a constant of policy'
elsewhere "a time in a statement of the shim" shim/zz.c 'struct timespec us5 = { 0, 5000 };' '5000: a time of policy'
elsewhere "a reader that is not named" runtime/sched/zz.c 'int zz(void) { return NAP_MAX; }' 'NAP_MAX: runtime/sched/zz.c reads it and is not named'
zz=$tmp/src/runtime/sched/policy.h
sed -i 's/^\tNAP_MAX/\tZZ_MAX = 7,\n&/' "$zz"
case_of "a constant without a comment" check-policy '^check-policy: NAP_MAX: its comment'
fresh
sed -i 's/From: as TICK_WAITS:.*/From: trying./' "$zz"
case_of "a constant that was tried" check-policy '^check-policy: NAP_MAX: "trying" derives nothing'

# ---- atomics ------------------------------------------------------------------------------------

fresh
case_of "the tree as it is" check-atomics ""
spelled()	# spelled NAME CODE PATTERN
{
	printf '%s\n' "$2" >"$tmp/src/runtime/zz.c"
	case_of "$1" check-atomics "$3"
	rm "$tmp/src/runtime/zz.c"
}
spelled "no order in the name" 'int f(void) { return atomic_load(&x); }' '^runtime/zz.c:1: atomic_load: '
spelled "a builtin" '/* two
lines */ int v = __atomic_load_n(&x, 0);' '^runtime/zz.c:2: __atomic_load_n: '
spelled "an order by itself" 'int o = memory_order_relaxed;' '^runtime/zz.c:1: memory_order_relaxed: '
spelled "the header of libc" '#include <stdatomic.h>' '^runtime/zz.c:1: stdatomic: '
spelled "the parts of the header" 'int v = ATOMIC_LOAD(&x, 0);' '^runtime/zz.c:1: ATOMIC_LOAD: '
spelled "in a comment and a string" 'const char *s = "atomic_load"; /* atomic_load */' ''
spelled "names with an order" 'int v = load_acquire(&x);' ''
spelled "seq_cst without a pair" 'static _Atomic int zz;
int f(void) { return load_seqcst(&zz); }' '^runtime/zz.c:2: zz: seq_cst, and no comment'
spelled "with it, at the field" '/* seq_cst with yy in g() */
static _Atomic int zz;
int f(void) { return load_seqcst(&zz); }' ''
spelled "the pair of the field before" 'struct z {
	_Atomic int yy; /* seq_cst with xx in g() */
	_Atomic int zz;
};
int f(struct z *z) { return load_seqcst(&z->zz); }' '^runtime/zz.c:5: zz: seq_cst'
spelled "a fence without a pair" 'void f(void) { fence_seqcst(); }' '^runtime/zz.c:1: fence_seqcst: seq_cst'
fresh

# ---- locks --------------------------------------------------------------------------------------

fresh
case_of "the tree as it is" check-locks ""
made_at_home()	# made_at_home NAME CODE PATTERN
{
	printf '%s\n' "$2" >"$tmp/src/shim/zz.c"
	case_of "$1" check-locks "$3"
	rm "$tmp/src/shim/zz.c"
}
made_at_home "a spin lock" '	while (!cas_acquire(&l, &free, 1)) arch_pause();' 'shim/zz.c:1: pauses'
made_at_home "a lock that yields" '	while (taken) plain_syscall(SYS_sched_yield, 0, 0, 0);' 'yields or naps'
made_at_home "a lock that waits for a moment" '	while (taken) moment_wait(&w);' 'yields or naps'
made_at_home "a mutex of libc" '	real_lock(0); pthread_mutex_lock(&m);' 'a lock of libc'
made_at_home "a park" '	struct park pk = { .addr = &word };' 'shim/zz.c:1: a park put together by hand'
made_at_home "a time in one" '	pk->wall = now;' 'a park put together by hand'
made_at_home "a loop over a word" '	while (exchange_seqcst(&l, 1))
		;' 'shim/zz.c:2: waits for a word'
made_at_home "an update without a lock" '	while (!cas_weak_seqcst(&list, &b->next, b))
		;' ''

# ---- surface ------------------------------------------------------------------------------------

fresh
mkdir -p "$tmp/src/scripts" && cp "$top/scripts/interposed" "$tmp/src/scripts/"
case_of "the running libc" check-surface ""
sed -i '/ nanosleep,/d' "$tmp/src/shim/symbols.def"
case_of "a call that blocks and is not interposed" check-surface '^nanosleep: reaches clock_nanosleep.*neither interposed'
fresh
mkdir -p "$tmp/src/scripts" && cp "$top/scripts/interposed" "$tmp/src/scripts/"
disassembler()	# disassembler SED...: what objdump writes, in another form
{
	printf '#!/bin/sh\nobjdump "$@" | sed -E %s\n' "'$1'" >"$tmp/objdump"
	chmod +x "$tmp/objdump"
}
export OBJDUMP=$tmp/objdump
disassembler 's/\t(call|jmp|push|ret) /\t\1q /; s/\tret$/\tretq/'
case_of "objdump of binutils before 2.36" check-surface ""
disassembler 's/\tcallq? /\tbl /'
case_of "calls in a form that it does not read" check-surface 'no calls found'
twice()	# twice N: getppid has its number in a register that held 128 before, and jumped from there to its byte N
{
	cat >"$tmp/objdump" <<-E
	#!/usr/bin/env python3
	import re, subprocess, sys
	there = False
	for row in subprocess.run(["objdump"] + sys.argv[1:], stdout=subprocess.PIPE, text=True).stdout.splitlines():
	    there = "<getppid@@" in row if row.endswith(">:") else there
	    m = re.match(r"\s*([0-9a-f]+):\tmov +\\\$0x6e,%eax", row) if there else None
	    at = int(m[1], 16) if m else 0
	    new = ["mov    \$0x80,%ebx", f"jmp    {at + $1:x} <getppid+$1>", "mov    \$0x6e,%ebx", "mov    %ebx,%eax"]
	    print("\n".join(f"{at + i:x}:\t{code}" for i, code in enumerate(new)) if m else row)
	E
}
twice 7
case_of "a register that held another number, which does not come to the call" check-surface ""
twice 3
case_of "a register that holds another number there, too" check-surface '^getppid: reaches rt_sigtimedwait'
unset OBJDUMP
sed -i 's/^\(set files: .*\) read /\1 /' "$tmp/src/compat/surface.list"
case_of "a listed name that reaches more than its section allows" check-surface ': reaches read: its section'
sed -i 's/^SYSCALL/CALL/' "$tmp/src/shim/syscall/syscalls.def"
case_of "a table of another form" check-surface 'does not read'

# ---- fork children ------------------------------------------------------------------------------

fresh
cp "${top_builddir:-$top/build}"/lib{runtime,shim,compat}.a "$tmp/build/"
case_of "the library as it is" check-forkchild ""
sed -i 's/ shim.sigring:tail//' "$tmp/src/shim/forkchild.list"
case_of "a variable that nobody has decided about" check-forkchild 'shim/sigring:tail: a fork child finds it'
fresh
cp "${top_builddir:-$top/build}"/lib{runtime,shim,compat}.a "$tmp/build/"
sed -i '/store_relaxed(&watching, 0);/d' "$tmp/src/shim/signal/sigkick.c"
case_of "a reset that is gone" check-forkchild 'watching: sigkick_fork_child() does not change it'
sed -i 's/^reset by runtime_fork_child/&\n\truntime\/proc:gomaxprocs/; s/^\truntime.proc:gomaxprocs runtime/\truntime/' "$tmp/src/shim/forkchild.list"
case_of "a reset that only reads" check-forkchild 'gomaxprocs: runtime_fork_child() does not change it'
sed -i 's/^reset by timer_fork_child/&\n	shim\/timer:gone shim\/timer:named/' "$tmp/src/shim/forkchild.list"
case_of "a name that is nowhere" check-forkchild 'shim/timer:gone: in shim/forkchild.list, but not in that file'
fresh
cp "${top_builddir:-$top/build}"/lib{runtime,shim,compat}.a "$tmp/build/"
sed -i '/^| `attr_fork_child()`/d; s/`lot_fork_child()`; //' "$tmp/src/shim/process/README.md"
case_of "a reset that the table leaves out" check-forkchild 'attr_fork_child() is not in the table'
case_of "one of the runtime's" check-forkchild 'runtime_fork_child() calls lot_fork_child(), which is not told'

# ---- needed -------------------------------------------------------------------------------------

fresh
library ""
case_of "libc alone" check-needed ""
library "" "" "-Wl,--no-as-needed -lm"
case_of "a second library" check-needed 'libc.so.6 alone'
library "" "-Wl,-z,lazy"
case_of "lazy binding" check-needed 'binds all symbols'
library "" "-Wl,-z,execstack"
case_of "an executable stack" check-needed 'not executable'
library "__thread int t __attribute__((visibility(\"default\"))); int *use(void) { return &t; }
	int *(*keep)(void) = use;"
case_of "dynamic thread-local storage" check-needed 'initial-exec'
library "char large[2000000];"
case_of "a large table" check-needed 'less than a megabyte'
library "" "-Wl,-soname,other.so"
case_of "another name" check-needed 'named libweft.so'

# ---- hardening ----------------------------------------------------------------------------------

fresh
with='void g(char *); extern int puts(const char *); __attribute__((visibility("default"))) int f(const char *s) { char b[64]; g(b); return puts(s); } void g(char *p) { *p = 0; }'
hard="-fstack-protector-all -Wl,-z,relro"
hardened()	# hardened LIBRARY-FLAGS LAUNCHER-FLAGS
{
	library "$with" "$1"
	printf '#include <stdio.h>\nint main(int n, char **v) { char b[20]; return sprintf(b, "%%s", v[n - 1]); }\n' |
		$cc -O2 -Wl,-z,now -Wl,-z,relro -U_FORTIFY_SOURCE $2 -x c - -o "$tmp/build/weft"
}
fortified="-fstack-protector-all -D_FORTIFY_SOURCE=2 -fPIE -pie"
hardened "$hard" "$fortified"
case_of "both files as they should be" check-hardening ""
hardened "$hard -fno-stack-protector" "$fortified"
case_of "no stack protector" check-hardening 'libweft.so: not so: there are stack protectors'
hardened "$hard -Wl,-z,norelro" "$fortified"
case_of "no RELRO" check-hardening 'libweft.so: not so: what is relocated is read-only'
hardened "$hard" "-fstack-protector-all -fPIE -pie"
case_of "a launcher without fortified calls" check-hardening 'weft: not so: its calls are fortified'
hardened "$hard" "-fstack-protector-all -D_FORTIFY_SOURCE=2 -fno-pie -no-pie"
case_of "a launcher at a fixed address" check-hardening 'weft: not so: it is position-independent'
hardened "$hard" "$fortified -Wl,-z,lazy"
case_of "a launcher that binds lazily" check-hardening 'weft: not so: all symbols are bound at start'
printf 'static const char place[] __attribute__((used)) = "%s";\n' "$tmp/src/x.c" >"$tmp/place.h"
hardened "$hard -include $tmp/place.h" "$fortified"
case_of "a path of the build" check-hardening 'libweft.so: not so: no path of the build'
printf 'int f(void) { return 1; }\n' | $cc -fcf-protection=full -c -x c - -o "$tmp/zz.o"
rm -f "$tmp/build/libshim.a" && ar cr "$tmp/build/libshim.a" "$tmp/zz.o"
hardened "$hard" "$fortified"
case_of "an object marked for shadow stacks" check-hardening 'libshim.a: not so: no object is marked for shadow stacks'
printf 'int f(void) { return 1; }\n' | $cc -fcf-protection=none -c -x c - -o "$tmp/zz.o"
rm -f "$tmp/build/libshim.a" && ar cr "$tmp/build/libshim.a" "$tmp/zz.o"
case_of "an object without marks" check-hardening 'libshim.a: not so: each object is marked'

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
