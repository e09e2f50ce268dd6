/*
 * wordexp() reads what a command writes by a call of libc's own that no library in front of libc sees.  While a
 * thread waits there a signal that is sent to it is handled, a handler may end it, and a cancellation ends it.
 */
#include "check.h"
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <wordexp.h>

static char path[64], words[128];
static sem_t handled;
static atomic_bool returned, leaves;

static void handler(int sig)
{
	(void)sig;
	if (atomic_load(&leaves))
		pthread_exit("left by its handler");
	sem_post(&handled);
}

static void *expander(void *arg)
{
	wordexp_t w;
	int r = wordexp(words, &w, 0);

	(void)arg;
	atomic_store(&returned, true);
	if (r)
		return "not expanded";
	return strcmp(w.we_wordv[0], "word") ? "another word" : "expanded";
}

/* Once the command has opened the FIFO; and some time for its reader to be found waiting. */
static pthread_t begins(int *fifo)
{
	const struct timespec moment = { 0, 50000000 };
	pthread_t t;

	atomic_store(&returned, false);
	CHECK_OK(pthread_create(&t, NULL, expander, NULL));
	CHECK_SYS(*fifo = open(path, O_WRONLY));
	nanosleep(&moment, NULL);
	return t;
}

static void says(const char *what, pthread_t t)
{
	void *r;

	CHECK_OK(pthread_join(t, &r));
	printf("%s: %s, %s\n", what, atomic_load(&returned) ? "it returned" : "it did not return",
	       r == PTHREAD_CANCELED ? "cancelled" : (char *)r);
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };
	pthread_t t;
	int fifo;

	snprintf(path, sizeof path, "/tmp/inside-libc.%d", (int)getpid());
	snprintf(words, sizeof words, "$(read x <%s; echo $x)", path);
	unlink(path);
	CHECK_SYS(mkfifo(path, 0600));
	CHECK_SYS(sem_init(&handled, 0, 0));
	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	signal(SIGPIPE, SIG_IGN);

	t = begins(&fifo);
	CHECK_OK(pthread_kill(t, SIGUSR1));
	while (sem_wait(&handled) == -1)
		;
	printf("handled: %s\n", atomic_load(&returned) ? "too late" : "while it waits");
	CHECK_EQ(write(fifo, "word\n", 5), 5);
	close(fifo);
	says("after a handler", t);

	atomic_store(&leaves, true);
	t = begins(&fifo);
	CHECK_OK(pthread_kill(t, SIGUSR1));
	says("left by a handler", t);
	close(fifo);

	t = begins(&fifo);
	CHECK_OK(pthread_cancel(t));
	says("cancelled", t);
	close(fifo);
	unlink(path);
	return 0;
}
