/*
 * The first pthread_create of the process finds no memory: EAGAIN.  When there is some again the
 * same call succeeds.
 */
#include "check.h"
#include <sys/mman.h>
#include <sys/resource.h>

static void *answer(void *arg)
{
	return arg;
}

int main(void)
{
	struct rlimit was, none;
	pthread_t t;
	void *result;

	CHECK_EQ(getrlimit(RLIMIT_AS, &was), 0);
	none = was;
	none.rlim_cur = 1 << 20; /* less than is in use: nothing more is granted */
	CHECK_EQ(setrlimit(RLIMIT_AS, &none), 0);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(pthread_create(&t, NULL, answer, &was), EAGAIN);
	CHECK_EQ(setrlimit(RLIMIT_AS, &was), 0);
	CHECK_EQ(pthread_create(&t, NULL, answer, &was), 0);
	CHECK_EQ(pthread_join(t, &result), 0);
	CHECK(result == &was);
	printf("done\n");
	return 0;
}
