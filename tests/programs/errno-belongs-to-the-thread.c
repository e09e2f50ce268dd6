/*
 * errno and h_errno are each thread's own: set, then any kind of switch, then still there; and the
 * address of errno is constant for a thread, so a compiler may keep it in a register across a
 * blocking call.
 */
#include "check.h"
#include <fcntl.h>
#include <netdb.h>

enum { THREADS = 60 };

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t bar;

static void *work(void *arg)
{
	int mine = (int)(long)arg + 1, *address = &errno;

	for (int i = 0; i < 50; i++) {
		errno = mine;
		h_errno = mine;
		switch (i % 5) {
		case 0:
			sched_yield();
			break;
		case 1:
			CHECK_OK(pthread_mutex_lock(&mu));
			sched_yield();
			CHECK_OK(pthread_mutex_unlock(&mu));
			break;
		case 2:
			pthread_barrier_wait(&bar);
			break;
		case 3:
			CHECK_SYS(usleep(100));
			break;
		case 4:
			/* A failure of another thread's call must not show here. */
			CHECK_EQ(open("/nonexistent/file", O_RDONLY), -1);
			CHECK_EQ(errno, ENOENT);
			errno = mine;
			break;
		}
		CHECK_EQ(errno, mine);
		CHECK_EQ(h_errno, mine);
		CHECK(&errno == address);
	}
	return NULL;
}

int main(void)
{
	pthread_t t[THREADS];

	CHECK_OK(pthread_barrier_init(&bar, NULL, THREADS));
	errno = 77;
	for (long i = 0; i < THREADS; i++)
		t[i] = spawn(work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	CHECK_EQ(errno, 77);
	passed("errno of %d threads", THREADS);
	return 0;
}
