/*
 * refuse: compat_init() on a libc that is not what it seems.
 *
 * A strange libc is made from this one: a published descriptor is shifted, or a field of the test
 * block is broken.  Discovery must refuse with a reason, must not crash, and must leave threads
 * working.
 */
#include "tests/compat/coro.h"

#include <dlfcn.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct test {
	const char *symbol; /* a descriptor, or NULL: */
	int word, shift;    /* which of its words, by how much */
	const char *field;  /* what tcb_break names */
} tests[] = {
	{"_thread_db_pthread_tid", 2, 4, NULL},
	{"_thread_db_pthread_tid", 2, -4, NULL},
	{"_thread_db_pthread_tid", 0, 32, NULL},
	{"_thread_db_pthread_list", 2, 8, NULL},
	{"_thread_db_pthread_list", 2, -16, NULL},
	{"_thread_db_pthread_cancelhandling", 2, 4, NULL},
	{"_thread_db_pthread_cancelhandling", 2, -4, NULL},
	{"_thread_db_pthread_specific", 2, 8, NULL},
	{"_thread_db_pthread_specific", 2, -8, NULL},
	{"_thread_db_rtld_global__dl_stack_used", 2, 16, NULL},
	{"_thread_db_rtld_global__dl_stack_user", 2, 16, NULL},
	{"_thread_db_rtld_global__dl_stack_user", 2, 1 << 20, NULL},
	{"_thread_db_sizeof_pthread", 0, 64, NULL},
	{"_thread_db_sizeof_pthread", 0, -64, NULL},
	{"_thread_db_sizeof_pthread_key_data", 0, 8, NULL},
	{NULL, 0, 0, "ctype"},
	{NULL, 0, 0, "resp"},
	{NULL, 0, 0, "robust"},
	{NULL, 0, 0, "unlisted"},
};

static const struct test *current;

static int shift(const char *symbol, int word, int by)
{
	char *p = dlsym(RTLD_DEFAULT, symbol);
	char *page = (char *)((uintptr_t)p & -4096UL);

	if (!p || mprotect(page, 8192, PROT_READ | PROT_WRITE))
		return 1;
	*(uint32_t *)(p + 4 * word) += (uint32_t)by;
	return 0;
}

static void *thread(void *arg)
{
	return arg;
}

static int child(void)
{
	static int value;
	pthread_t th;
	void *r = NULL;

	if (current->symbol && shift(current->symbol, current->word, current->shift))
		return 1;
	/* In the C locale, newer libcs have the right character tables by chance. */
	setlocale(LC_ALL, "C.UTF-8");
	tcb_break = current->field;
	if (compat_init() == 0)
		return 1;
	printf("# %s\n", compat_why());
	fflush(stdout);
	/* The program goes on with plain threads, as if nobody had looked. */
	return pthread_create(&th, NULL, thread, &value) || pthread_join(th, &r) || r != &value;
}

int main(void)
{
	char name[96];
	int how;

	for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
		bool ok;

		current = &tests[i];
		ok = in_child(child, 30, &how);
		if (current->symbol)
			snprintf(name, sizeof name, "%s[%d]%+d", current->symbol, current->word,
				 current->shift);
		else
			snprintf(name, sizeof name, "block with %s wrong", current->field);
		report(name, ok, "");
	}
	return summary();
}
