/*
 * execve by number from a thread, while others compute and take turns: the new program begins, again
 * and again, and no signal of the old one's ends it.
 */
#include "check.h"
#include <sys/syscall.h>

static void *computes(void *arg)
{
	for (unsigned n = 0;; n++)
		__asm__ volatile("" : "+r"(n));
	return arg;
}

static void *goes_on(void *arg)
{
	extern char **environ;
	char *argv[] = { "process-exec-by-number", arg, NULL };

	srand((unsigned)getpid() * 31 + (unsigned)atoi(arg));
	for (unsigned i = 0, n = 3000000 + (unsigned)rand() % 6000000; i < n; i++)
		__asm__ volatile("" : "+r"(i)); /* to the end of a slice, more or less */
	syscall(SYS_execve, "/proc/self/exe", argv, environ);
	CHECK(!"execve returned");
	return NULL;
}

int main(int argc, char **argv)
{
	static char left[16];
	int n = argc > 1 ? atoi(argv[1]) : 25;

	if (n == 0) {
		passed("25 programs, one after another");
		return 0;
	}
	snprintf(left, sizeof(left), "%d", n - 1);
	for (int i = 0; i < 3; i++)
		spawn(computes, NULL);
	join(spawn(goes_on, left));
	return 1;
}
