/*
 * A thread whose policy has no priorities is refused its first lock of a mutex with a ceiling.  Then it
 * counts as raised, and what it locks afterwards is locked: libc's way, which programs live with.
 */
#include "check.h"

static pthread_mutex_t mutex;
static int shared_count;

static void *locks(void *arg)
{
	int refused = 0;

	for (int i = 0; i < 2000; i++) {
		int err = i % 2 ? pthread_mutex_lock(&mutex) : pthread_mutex_trylock(&mutex);

		if (err == EBUSY)
			continue;
		if (err) {
			CHECK_EQ(err, EINVAL);
			refused++;
			continue;
		}
		shared_count++;
		CHECK_OK(pthread_mutex_unlock(&mutex));
	}
	CHECK_EQ(refused, 1);
	return arg;
}

int main(void)
{
	pthread_mutexattr_t attr;
	pthread_t t[4];
	struct sched_param sp;
	int policy;

	CHECK_OK(pthread_getschedparam(pthread_self(), &policy, &sp));
	if (policy != SCHED_OTHER)
		return 77;
	CHECK_OK(pthread_mutexattr_init(&attr));
	CHECK_OK(pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_PROTECT));
	CHECK_OK(pthread_mutexattr_setprioceiling(&attr, 5));
	CHECK_OK(pthread_mutex_init(&mutex, &attr));
	locks(NULL);
	for (int i = 0; i < 4; i++)
		t[i] = spawn(locks, NULL);
	for (int i = 0; i < 4; i++)
		join(t[i]);
	CHECK(shared_count > 1000 && shared_count < 10000);
	CHECK_OK(pthread_mutex_destroy(&mutex));
	passed("each thread is refused once");
	return 0;
}
