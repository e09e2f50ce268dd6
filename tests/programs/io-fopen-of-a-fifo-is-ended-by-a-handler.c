/*
 * fopen() and freopen() of a FIFO wait in libc's own open, which is no function that a program could call.
 * A handler ends the wait with EINTR, one with SA_RESTART does not.
 */
#include "check.h"
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>

static char path[64];
static atomic_bool begun, over;
static atomic_int ran;

static void handler(int sig)
{
	(void)sig;
	atomic_fetch_add(&ran, 1);
}

static FILE *to_read(void)
{
	return fopen(path, "r");
}

static FILE *to_write(void)
{
	return fopen(path, "w");
}

static FILE *again(void)
{
	FILE *f = fopen("/dev/null", "r");

	return freopen(path, "r", f);
}

static const struct {
	const char *name;
	FILE *(*open)(void);
} ways[] = { { "fopen to read", to_read }, { "fopen to write", to_write }, { "freopen", again } };

static void *opener(void *arg)
{
	FILE *(*call)(void) = ways[(size_t)arg].open;
	FILE *f;
	int error;

	atomic_store(&begun, true);
	errno = 0;
	f = call();
	error = errno;
	atomic_store(&over, true);
	if (f)
		fclose(f);
	return f ? "open" : error == EINTR ? "EINTR" : "another error";
}

static void a_wait_is_interrupted(size_t i, int flags)
{
	const struct timespec little = { 0, 2000000 };
	struct sigaction sa = { .sa_handler = handler, .sa_flags = flags };
	int other = -1;
	pthread_t t;
	void *said;

	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	atomic_store(&begun, false);
	atomic_store(&over, false);
	atomic_store(&ran, 0);
	CHECK_OK(pthread_create(&t, NULL, opener, (void *)i));
	while (!atomic_load(&begun))
		nanosleep(&little, NULL);
	/* It may not be in its wait yet: it gets more of them until one has ended it. */
	for (int n = 0; n < 1000 && !atomic_load(&over) && !(flags && atomic_load(&ran) >= 5); n++) {
		nanosleep(&little, NULL);
		CHECK_OK(pthread_kill(t, SIGUSR1));
	}
	if (!atomic_load(&over))
		CHECK_SYS(other = open(path, O_RDWR));
	CHECK_OK(pthread_join(t, &said));
	if (other >= 0)
		close(other);
	printf("%s, %s: %s\n", ways[i].name, flags ? "SA_RESTART" : "no flag", (const char *)said);
}

int main(void)
{
	snprintf(path, sizeof path, "/tmp/fopen-fifo.%d", (int)getpid());
	unlink(path);
	CHECK_SYS(mkfifo(path, 0600));
	for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
		a_wait_is_interrupted(i, 0);
		a_wait_is_interrupted(i, SA_RESTART);
	}
	unlink(path);
	return 0;
}
