/*
 * pthread_attr_t holds what was set, refuses what is not a value, and every thread made with it
 * sees its own detach state, guard size, stack size and scheduling values through
 * pthread_getattr_np.
 */
#include "check.h"
#include <limits.h>

static void plain_values(void)
{
	pthread_attr_t attr;
	struct sched_param sp = { .sched_priority = 0 };
	size_t size;
	int v;

	CHECK_OK(pthread_attr_init(&attr));
	CHECK_OK(pthread_attr_getdetachstate(&attr, &v));
	CHECK_EQ(v, PTHREAD_CREATE_JOINABLE);
	CHECK_OK(pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED));
	CHECK_OK(pthread_attr_getdetachstate(&attr, &v));
	CHECK_EQ(v, PTHREAD_CREATE_DETACHED);
	CHECK_EQ(pthread_attr_setdetachstate(&attr, 77), EINVAL);

	CHECK_EQ(pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN - 1), EINVAL);
	CHECK_OK(pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN));
	CHECK_OK(pthread_attr_getstacksize(&attr, &size));
	CHECK_EQ(size, PTHREAD_STACK_MIN);

	CHECK_OK(pthread_attr_setguardsize(&attr, 3 * 4096));
	CHECK_OK(pthread_attr_getguardsize(&attr, &size));
	CHECK_EQ(size, 3 * 4096);

	CHECK_OK(pthread_attr_getscope(&attr, &v));
	CHECK_EQ(v, PTHREAD_SCOPE_SYSTEM);
	CHECK_EQ(pthread_attr_setscope(&attr, PTHREAD_SCOPE_PROCESS), ENOTSUP);
	CHECK_OK(pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED));
	CHECK_OK(pthread_attr_getinheritsched(&attr, &v));
	CHECK_EQ(v, PTHREAD_EXPLICIT_SCHED);
	CHECK_OK(pthread_attr_setschedpolicy(&attr, SCHED_OTHER));
	CHECK_EQ(pthread_attr_setschedpolicy(&attr, 77), EINVAL);
	CHECK_OK(pthread_attr_setschedparam(&attr, &sp));
	CHECK_OK(pthread_attr_destroy(&attr));
}

static void *explicit_sched(void *arg)
{
	struct sched_param sp;
	int policy;

	CHECK_OK(pthread_getschedparam(pthread_self(), &policy, &sp));
	CHECK_EQ(policy, SCHED_OTHER);
	CHECK_EQ(sp.sched_priority, 0);
	return arg;
}

/* Everything that a thread is told of itself. */
static void *tells(void *arg)
{
	pthread_attr_t attr;
	struct sched_param sp;
	size_t guard, size;
	int detached, inherit, scope, policy;

	CHECK_OK(pthread_getattr_np(pthread_self(), &attr));
	CHECK_OK(pthread_attr_getdetachstate(&attr, &detached));
	CHECK_OK(pthread_attr_getinheritsched(&attr, &inherit));
	CHECK_OK(pthread_attr_getscope(&attr, &scope));
	CHECK_OK(pthread_attr_getschedpolicy(&attr, &policy));
	CHECK_OK(pthread_attr_getschedparam(&attr, &sp));
	CHECK_OK(pthread_attr_getguardsize(&attr, &guard));
	CHECK_OK(pthread_attr_getstacksize(&attr, &size));
	CHECK_OK(pthread_attr_destroy(&attr));
	printf("detached %d inherit %d scope %d policy %d priority %d guard %zu size %zu\n", detached,
	       inherit, scope, policy, sp.sched_priority, guard, size);
	return arg;
}

static void told(void)
{
	static const int inherit[] = {PTHREAD_INHERIT_SCHED, PTHREAD_EXPLICIT_SCHED};
	static const size_t guard[] = {0, 4096, 8192};
	pthread_attr_t attr;
	pthread_t t;

	join(spawn(tells, NULL));
	for (int i = 0; i < 2; i++)
		for (int g = 0; g < 3; g++) {
			CHECK_OK(pthread_attr_init(&attr));
			CHECK_OK(pthread_attr_setinheritsched(&attr, inherit[i]));
			CHECK_OK(pthread_attr_setguardsize(&attr, guard[g]));
			CHECK_OK(pthread_attr_setstacksize(&attr, 1 << 20));
			CHECK_OK(pthread_create(&t, &attr, tells, NULL));
			CHECK_OK(pthread_attr_destroy(&attr));
			join(t);
		}
	passed("each thread is told its own");
}

int main(void)
{
	pthread_attr_t attr;
	pthread_t t;

	plain_values();
	passed("attributes keep what was set and refuse the rest");

	CHECK_OK(pthread_attr_init(&attr));
	CHECK_OK(pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED));
	CHECK_OK(pthread_attr_setschedpolicy(&attr, SCHED_OTHER));
	CHECK_OK(pthread_create(&t, &attr, explicit_sched, NULL));
	join(t);
	passed("a thread with explicit SCHED_OTHER");
	told();
	return 0;
}
