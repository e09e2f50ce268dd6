#!/usr/bin/env bash
# children: programs that weft cannot be loaded into are started without it, every way there is.
#
# The loader of such a program is made here: it prints what LD_PRELOAD it got, and ends.

. "$(dirname "$0")/lib.sh"
cc=${CC:-cc}

cat >"$tmp/loader.c" <<'X'
/* No libc: prints the environment's LD_PRELOAD, as musl's or another machine's loader would see it. */
#if defined(__x86_64__)
#define CALL(r, nr64, nr32, a, b, c) \
	__asm__ volatile("syscall" : "=a"(r) : "0"((long)nr64), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory")
__asm__(".globl _start\n_start: mov %rsp, %rdi\n and $-16, %rsp\n call go\n");
#else
#define CALL(r, nr64, nr32, a, b, c) \
	__asm__ volatile("int $0x80" : "=a"(r) : "0"((long)nr32), "b"(a), "c"(b), "d"(c) : "memory")
__asm__(".globl _start\n_start: mov %esp, %eax\n and $-16, %esp\n push %eax\n push %eax\n push %eax\n push %eax\n call go\n");
#endif

static void print(const char *s)
{
	long n = 0, r;

	while (s[n])
		n++;
	CALL(r, 1, 4, 1L, s, n);
	CALL(r, 1, 4, 1L, "\n", 1L);
}

void go(char **stack)
{
	char **env = stack + (long)stack[0] + 2;
	const char *name = "LD_PRELOAD=";
	long r, found = 0;

	for (; *env; env++) {
		long i = 0;

		while (name[i] && (*env)[i] == name[i])
			i++;
		if (!name[i]) {
			print(*env);
			found = 1;
		}
	}
	if (!found)
		print("none");
	CALL(r, 60, 1, 0L, 0L, 0L);
	for (;;)
		;
}
X
cat >"$tmp/start.c" <<'X'
/* start WAY FILE on|off: starts FILE, with weft at work or not yet. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void become(const char *way, char *file)
{
	char *argv[] = {file, NULL}, *base = strrchr(file, '/') + 1;

	if (!strcmp(way, "execve"))
		execve(file, argv, environ);
	else if (!strcmp(way, "execv"))
		execv(file, argv);
	else if (!strcmp(way, "execvp"))
		execvp(base, argv);
	else if (!strcmp(way, "execvpe"))
		execvpe(base, argv, environ);
	else if (!strcmp(way, "execl"))
		execl(file, file, (char *)NULL);
	else if (!strcmp(way, "execlp"))
		execlp(base, file, (char *)NULL);
	else if (!strcmp(way, "execle"))
		execle(file, file, (char *)NULL, environ);
	else if (!strcmp(way, "fexecve"))
		fexecve(open(file, O_RDONLY | O_CLOEXEC), argv, environ);
	else if (!strcmp(way, "fexecve-path"))
		fexecve(open(file, O_PATH | O_CLOEXEC), argv, environ);
	else if (!strcmp(way, "execveat"))
		execveat(AT_FDCWD, file, argv, environ, 0);
	else if (!strcmp(way, "execve-by-number"))
		syscall(SYS_execve, file, argv, environ);
	else if (!strcmp(way, "execveat-by-number"))
		syscall(SYS_execveat, open(file, O_RDONLY | O_CLOEXEC), "", argv, environ, AT_EMPTY_PATH);
}

static int ended(pid_t pid)
{
	int status = -1;

	waitpid(pid, &status, 0);
	return status;
}

static void *run(void *arg)
{
	char **v = arg, *way = v[1], *file = v[2], *base = strrchr(file, '/') + 1, line[256];
	char *argv[] = {file, NULL};
	int status = -1;
	pid_t pid;

	if (!strcmp(way, "posix_spawn")) {
		if (!posix_spawn(&pid, file, NULL, NULL, argv, environ))
			status = ended(pid);
	} else if (!strcmp(way, "posix_spawnp")) {
		if (!posix_spawnp(&pid, base, NULL, NULL, argv, environ))
			status = ended(pid);
	} else if (!strcmp(way, "system")) {
		status = system(file);
	} else if (!strcmp(way, "popen")) {
		FILE *f = popen(file, "r");

		while (f && fgets(line, sizeof(line), f))
			fputs(line, stdout);
		status = f ? pclose(f) : -1;
	} else if (!strcmp(way, "vfork")) {
		pid = vfork();
		if (!pid) {
			execve(file, argv, environ);
			_exit(99);
		}
		status = ended(pid);
	} else {
		pid = fork();
		if (!pid) {
			become(way, file);
			_exit(98);
		}
		status = ended(pid);
	}
	if (status)
		printf("status %#x\n", status);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t;

	if (argc < 4 || !strcmp(argv[3], "off")) {
		run(argv);
		return 0;
	}
	pthread_create(&t, NULL, run, argv);
	pthread_join(t, NULL);
	return 0;
}
X
printf 'int pre_loaded = 1;\n' >"$tmp/pre.c"
printf '#include <stdio.h>\n#include <stdlib.h>\nint main(void) { return printf("LD_PRELOAD=%%s\\n", getenv("LD_PRELOAD")) < 0; }\n' >"$tmp/ours.c"
mkdir "$tmp/bin"
$cc -shared -fPIC -o "$tmp/pre.so" "$tmp/pre.c" &&
cp "$tmp/pre.so" "$tmp/too.so" &&
$cc -o "$tmp/start" "$tmp/start.c" -pthread &&
$cc -O1 -static -nostdlib -ffreestanding -fno-stack-protector -fcf-protection=none -o "$tmp/loader" "$tmp/loader.c" &&
$cc -o "$tmp/bin/foreign" -Wl,--dynamic-linker="$tmp/loader" "$tmp/ours.c" &&
$cc -o "$tmp/bin/ours" "$tmp/ours.c" || exit 2
printf '#!%s\n' "$tmp/bin/foreign" >"$tmp/bin/script"
printf '#! %s x\n' "$tmp/bin/script" >"$tmp/bin/script-of-script"
chmod +x "$tmp"/bin/*
export PATH="$tmp/bin:$PATH"

preloads()	# preloads NAME WANTED COMMAND...: what weft's program prints, and nothing on stderr
{
	local name=$1 wanted=$2 got

	shift 2
	got=$(timeout 20 "$@" 2>&1)
	[ "$got" = "$wanted" ]
	verdict $? "$name" "$got"
}

for way in execve execv execvp execvpe execl execlp execle fexecve fexecve-path execveat execve-by-number \
	   execveat-by-number posix_spawn posix_spawnp system popen vfork; do
	for on in off on; do
		what="$way, threads $on"
		preloads "$what: another loader, weft alone" none "$weft" "$tmp/start" "$way" "$tmp/bin/foreign" "$on"
		preloads "$what: another loader, others stay" "LD_PRELOAD=$tmp/pre.so:$tmp/too.so" env \
			LD_PRELOAD="$tmp/pre.so $build/libweft.so:$tmp/too.so" "$tmp/start" "$way" "$tmp/bin/foreign" "$on"
		preloads "$what: ours" "LD_PRELOAD=$build/libweft.so" "$weft" "$tmp/start" "$way" "$tmp/bin/ours" "$on"
		# A script by its descriptor is read by its interpreter under a name that is closed by then.
		case $way in fexecve*|execveat-by-number) continue ;; esac
		preloads "$what: a script" none "$weft" "$tmp/start" "$way" "$tmp/bin/script" "$on"
		preloads "$what: a script's script" none "$weft" "$tmp/start" "$way" "$tmp/bin/script-of-script" "$on"
	done
done
preloads "a shell's child" none "$weft" sh -c "$tmp/bin/foreign; exit"
preloads "a loader by its own name" "LD_PRELOAD=$build/libweft.so" \
	"$weft" sh -c "$(readlink -f /lib64/ld-linux-x86-64.so.2) $tmp/bin/ours; exit"

if $cc -m32 -O1 -static -nostdlib -ffreestanding -fno-stack-protector -fno-pic -o "$tmp/bin/loader32" "$tmp/loader.c" 2>/dev/null &&
   [ "$(timeout 5 "$tmp/bin/loader32" 2>/dev/null)" = none ]; then
	preloads "a program of 32 bits" none "$weft" sh -c "$tmp/bin/loader32; exit"
else
	echo "skip a program of 32 bits: not built or not run here"
fi

# A glibc from before 2.34 has a loader that does not say that it knows that version.
loader=$(readlink -f /lib64/ld-linux-x86-64.so.2)
if python3 - "$loader" "$tmp/ld-old.so" 2>/dev/null <<'X'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
def elf_hash(s):
    h = 0
    for c in s.encode():
        h = (h << 4) + c
        h = (h ^ (h >> 24 & 0xf0)) & 0x0fffffff
    return h
data = data.replace(struct.pack("<I", elf_hash("GLIBC_2.34")), struct.pack("<I", 1))
open(sys.argv[2], "wb").write(data)
X
then
	chmod +x "$tmp/ld-old.so"
	$cc -o "$tmp/bin/old" -Wl,--dynamic-linker="$tmp/ld-old.so" "$tmp/ours.c"
	preloads "a glibc that is too old" "LD_PRELOAD=(null)" "$weft" sh -c "$tmp/bin/old; exit"
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
