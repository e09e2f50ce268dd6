/*
 * dlopen, dlsym, dladdr, dl_iterate_phdr and dlclose from 20 threads at once, on the same and on
 * different libraries, and on one whose constructor creates and joins threads under the loader's
 * lock.
 */
#include "check.h"
#include <dlfcn.h>
#include <link.h>

enum { THREADS = 20, ROUNDS = 10 };

static int count_one(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)info;
	(void)size;
	++*(int *)data;
	return 0;
}

static void *load(const char *name)
{
	void *h = dlopen(name, RTLD_NOW | RTLD_LOCAL);

	if (!h) {
		printf("FAILED: %s\n", dlerror());
		exit(1);
	}
	return h;
}

static void *work(void *arg)
{
	static const char *const names[] = { "$ORIGIN/lib/tls-gd.so", "$ORIGIN/lib/tls-ld.so",
					     "$ORIGIN/lib/tls-ie.so" };
	static const char *const symbols[] = { "tls_gd", "tls_ld_sum", "tls_ie_value" };

	for (int i = 0; i < ROUNDS; i++) {
		int n = (i + (int)(long)arg) % 3, objects = 0;
		void *h = load(names[n]), *f = dlsym(h, symbols[n]);
		Dl_info info;

		CHECK(f != NULL);
		sched_yield();
		CHECK(dladdr(f, &info) != 0);
		CHECK_EQ(strcmp(info.dli_sname, symbols[n]), 0);
		dl_iterate_phdr(count_one, &objects);
		CHECK(objects > 2);
		CHECK(dlsym(h, "no_such_symbol") == NULL);
		CHECK(dlerror() != NULL);
		CHECK_OK(dlclose(h));
	}
	return NULL;
}

int main(void)
{
	pthread_t t[THREADS];

	/* Initial-exec TLS is scarce and never given back: load it once, keep it. */
	load("$ORIGIN/lib/tls-ie.so");
	for (long i = 0; i < THREADS; i++)
		t[i] = spawn(work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	passed("%d threads loaded and unloaded", THREADS);
	for (int i = 0; i < 5; i++) {
		void *h = load("$ORIGIN/lib/ctor-threads.so");
		int (*made)(void) = (int (*)(void))dlsym(h, "ctor_threads_made");

		CHECK_EQ(made(), 2);
		CHECK_OK(dlclose(h));
	}
	passed("a constructor that creates and joins threads");
	return 0;
}
