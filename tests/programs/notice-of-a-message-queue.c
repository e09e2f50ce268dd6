/* mq_notify: a queue tells that it is not empty any more, though other threads wait and the process is idle. */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "check.h"

static sem_t told;

static void tells(union sigval v)
{
	(void)v;
	sem_post(&told);
}

static void handler(int sig)
{
	(void)sig;
	sem_post(&told);
}

static void *waits(void *arg)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t c = PTHREAD_COND_INITIALIZER;

	(void)arg;
	pthread_mutex_lock(&m);
	pthread_cond_wait(&c, &m);
	return NULL;
}

static mqd_t queue(void)
{
	struct mq_attr at = { .mq_maxmsg = 2, .mq_msgsize = 8 };
	char name[32];
	mqd_t q;

	snprintf(name, sizeof(name), "/notice-%d", getpid());
	q = mq_open(name, O_CREAT | O_RDWR, 0600, &at);
	if (q < 0 && (errno == ENOSYS || errno == EACCES || errno == EMFILE)) {
		puts("no message queues here");
		exit(77);
	}
	CHECK(q >= 0);
	mq_unlink(name);
	return q;
}

/* Another process sends when this one has been idle for a while. */
static void is_told(mqd_t q, const char *how)
{
	char text[8];
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		usleep(400000);
		_exit(mq_send(q, "x", 1, 0) != 0);
	}
	while (sem_wait(&told))
		CHECK(errno == EINTR);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK(mq_receive(q, text, sizeof(text), NULL) == 1);
	printf("ok %s\n", how);
}

int main(void)
{
	struct sigevent thread = { .sigev_notify = SIGEV_THREAD }, signal = { .sigev_notify = SIGEV_SIGNAL };
	pthread_t t;
	mqd_t q;

	sem_init(&told, 0, 0);
	q = queue();
	thread.sigev_notify_function = tells;
	signal.sigev_signo = SIGUSR1;
	sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = handler }, NULL);
	CHECK(mq_notify(q, &signal) == 0);
	pthread_create(&t, NULL, waits, NULL);
	is_told(q, "by a signal, asked for before the first thread");
	CHECK(mq_notify(q, &thread) == 0);
	is_told(q, "by a thread");
	CHECK(syscall(SYS_mq_notify, q, &signal) == 0);
	is_told(q, "by a signal, asked for by number");
	CHECK(mq_notify(q, &thread) == 0);
	errno = 0;
	CHECK(mq_notify(q, &thread) == -1 && errno == EBUSY);
	CHECK(mq_notify(q, NULL) == 0);
	CHECK(mq_notify(q, &signal) == 0);
	is_told(q, "by a signal, after one that was taken back");
	return 0;
}
