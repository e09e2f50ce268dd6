/*
 * POSIX aio: glibc serves it by threads of its own, which the program's threads wait for by
 * aio_suspend, lio_listio and notification on yet another thread.
 */
#include "check.h"
#include <aio.h>
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>

enum { THREADS = 10, BLOCKS = 20, SIZE = 512 };

static int fd;
static sem_t notified;

static void note(union sigval v)
{
	CHECK_EQ(v.sival_int, 5);
	CHECK_SYS(sem_post(&notified));
}

static void finish(struct aiocb *cb)
{
	const struct aiocb *list[1] = { cb };
	int err;

	while ((err = aio_error(cb)) == EINPROGRESS)
		CHECK(aio_suspend(list, 1, NULL) == 0 || errno == EINTR || errno == EAGAIN);
	CHECK_EQ(err, 0);
	CHECK_EQ(aio_return(cb), SIZE);
}

static void *work(void *arg)
{
	long me = (long)arg;
	char out[SIZE], in[SIZE];

	for (int i = 0; i < BLOCKS; i++) {
		struct aiocb cb = { .aio_fildes = fd, .aio_buf = out, .aio_nbytes = SIZE };
		struct aiocb rd = { .aio_fildes = fd, .aio_buf = in, .aio_nbytes = SIZE };

		cb.aio_offset = rd.aio_offset = (me * BLOCKS + i) * SIZE;
		cb.aio_sigevent.sigev_notify = rd.aio_sigevent.sigev_notify = SIGEV_NONE;
		memset(out, (int)(me * 16 + i), SIZE);
		CHECK_SYS(aio_write(&cb));
		finish(&cb);
		if (i % 2) {
			rd.aio_sigevent.sigev_notify = SIGEV_THREAD;
			rd.aio_sigevent.sigev_notify_function = note;
			rd.aio_sigevent.sigev_value.sival_int = 5;
		}
		CHECK_SYS(aio_read(&rd));
		if (i % 2)
			while (sem_wait(&notified) == -1)
				CHECK_EQ(errno, EINTR);
		finish(&rd);
		CHECK_EQ(memcmp(in, out, SIZE), 0);
	}
	return NULL;
}

int main(void)
{
	char path[] = "/tmp/io-aio.XXXXXX", first[SIZE], second[SIZE];
	struct aiocb a = { .aio_buf = first, .aio_nbytes = SIZE, .aio_lio_opcode = LIO_READ },
		     b = { .aio_buf = second, .aio_nbytes = SIZE, .aio_offset = SIZE,
			   .aio_lio_opcode = LIO_READ };
	struct aiocb *list[2] = { &a, &b };
	pthread_t t[THREADS];

	CHECK_SYS(sem_init(&notified, 0, 0));
	CHECK_SYS(fd = mkstemp(path));
	CHECK_SYS(unlink(path));
	for (long i = 0; i < THREADS; i++)
		t[i] = spawn(work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	passed("%d threads, %d blocks written and read back each", THREADS, BLOCKS);
	a.aio_fildes = b.aio_fildes = fd;
	CHECK_SYS(lio_listio(LIO_WAIT, list, 2, NULL));
	CHECK_EQ(aio_return(&a), SIZE);
	CHECK_EQ(aio_return(&b), SIZE);
	CHECK_EQ(first[0], 0);
	CHECK_EQ(second[SIZE - 1], 1);
	passed("lio_listio");
	return 0;
}
