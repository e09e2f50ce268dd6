/*
 * open of a FIFO blocks until the other end is opened: 20 FIFOs, readers and writers in threads,
 * more threads blocked in open than there are CPUs, then data and end-of-file.
 */
#include "check.h"
#include <fcntl.h>
#include <sys/stat.h>

enum { FIFOS = 20 };

static char dir[] = "/tmp/io-fifo.XXXXXX";

static void path_of(char *buf, size_t n, int i)
{
	snprintf(buf, n, "%s/%d", dir, i);
}

static void *reader(void *arg)
{
	char path[64], buf[16];
	int fd, i = (int)(long)arg;

	path_of(path, sizeof path, i);
	CHECK_SYS(fd = open(path, O_RDONLY));
	CHECK_EQ(read(fd, buf, sizeof buf), 5);
	CHECK_EQ(memcmp(buf, "hello", 5), 0);
	CHECK_EQ(read(fd, buf, sizeof buf), 0);
	CHECK_SYS(close(fd));
	return NULL;
}

static void *writer(void *arg)
{
	char path[64];
	int fd, i = (int)(long)arg;

	path_of(path, sizeof path, i);
	CHECK_SYS(fd = open(path, O_WRONLY));
	CHECK_EQ(write(fd, "hello", 5), 5);
	CHECK_SYS(close(fd));
	return NULL;
}

int main(void)
{
	pthread_t r[FIFOS], w[FIFOS];
	char path[64];

	CHECK(mkdtemp(dir) != NULL);
	for (int i = 0; i < FIFOS; i++) {
		path_of(path, sizeof path, i);
		CHECK_SYS(mkfifo(path, 0600));
		CHECK_ERR(open(path, O_WRONLY | O_NONBLOCK), ENXIO);
	}
	for (int round = 0; round < 3; round++) {
		for (long i = 0; i < FIFOS; i++)
			r[i] = spawn(round % 2 ? writer : reader, (void *)i);
		let_others_block();
		for (long i = FIFOS - 1; i >= 0; i--)
			w[i] = spawn(round % 2 ? reader : writer, (void *)i);
		for (int i = 0; i < FIFOS; i++) {
			join(r[i]);
			join(w[i]);
		}
	}
	for (int i = 0; i < FIFOS; i++) {
		path_of(path, sizeof path, i);
		CHECK_SYS(unlink(path));
	}
	CHECK_SYS(rmdir(dir));
	passed("%d FIFOs, three times", FIFOS);
	return 0;
}
