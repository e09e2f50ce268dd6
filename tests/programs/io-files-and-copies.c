/*
 * File calls from 20 threads at once on files of their own and on one common file: pread/pwrite at
 * offsets, preadv/pwritev, fsync, ftruncate, sendfile to a socket, splice and tee through pipes,
 * copy_file_range, getdents by readdir, /dev and /proc files.
 */
#include "check.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

enum { THREADS = 20, BLOCK = 4096, BLOCKS = 16 };

static int common;

static void fill(char *b, long n)
{
	for (int i = 0; i < BLOCK; i++)
		b[i] = (char)(n * 31 + i * 7 + (i >> 8));
}

static void *drains(void *arg)
{
	int fd = *(int *)arg;
	char *all = malloc(BLOCK * BLOCKS), want[BLOCK];
	ssize_t n, sum = 0;

	while ((n = read(fd, all + sum, (size_t)(BLOCK * BLOCKS - sum))) > 0)
		sum += n;
	CHECK_EQ(sum, BLOCK * BLOCKS);
	for (int k = 0; k < BLOCKS; k++) {
		fill(want, k);
		CHECK_EQ(memcmp(all + k * BLOCK, want, BLOCK), 0);
	}
	free(all);
	return NULL;
}

static void copies(int fd)
{
	char path[] = "/tmp/io-copies.XXXXXX", a[BLOCK], b[BLOCK];
	off_t off = 0, to = 0;
	int s[2], p[2], q[2], copy;
	pthread_t t;
	ssize_t n;

	CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	t = spawn(drains, &s[0]);
	while (off < BLOCK * BLOCKS)
		CHECK_SYS(sendfile(s[1], fd, &off, (size_t)(BLOCK * BLOCKS - off)));
	CHECK_SYS(close(s[1]));
	join(t);
	CHECK_SYS(close(s[0]));

	CHECK_SYS(pipe(p));
	t = spawn(drains, &p[0]);
	off = 0;
	while (off < BLOCK * BLOCKS)
		CHECK_SYS(splice(fd, &off, p[1], NULL, (size_t)(BLOCK * BLOCKS - off), 0));
	CHECK_SYS(close(p[1]));
	join(t);
	CHECK_SYS(close(p[0]));

	CHECK_SYS(pipe(p));
	CHECK_SYS(pipe(q));
	CHECK_EQ(write(p[1], "both", 4), 4);
	CHECK_EQ(tee(p[0], q[1], 100, 0), 4);
	CHECK_EQ(read(p[0], a, BLOCK), 4);
	CHECK_EQ(read(q[0], b, BLOCK), 4);
	CHECK_EQ(memcmp(a, b, 4), 0);
	for (int i = 0; i < 2; i++) {
		CHECK_SYS(close(p[i]));
		CHECK_SYS(close(q[i]));
	}

	CHECK_SYS(copy = mkstemp(path));
	CHECK_SYS(unlink(path));
	off = 0;
	while (off < BLOCK * BLOCKS) {
		CHECK_SYS(n = copy_file_range(fd, &off, copy, &to, (size_t)(BLOCK * BLOCKS - off),
					      0));
		CHECK(n > 0);
	}
	for (int k = 0; k < BLOCKS; k++) {
		fill(a, k);
		CHECK_EQ(pread(copy, b, BLOCK, (off_t)k * BLOCK), BLOCK);
		CHECK_EQ(memcmp(a, b, BLOCK), 0);
	}
	CHECK_SYS(close(copy));
}

static void *work(void *arg)
{
	char path[] = "/tmp/io-files.XXXXXX", a[BLOCK], b[BLOCK];
	long me = (long)arg;
	struct stat st;
	int fd, zero, entries = 0;
	DIR *d;

	CHECK_SYS(fd = mkstemp(path));
	CHECK_SYS(unlink(path));
	for (int k = BLOCKS - 1; k >= 0; k--) {
		struct iovec iov[2] = { { a, 100 }, { a + 100, BLOCK - 100 } };

		fill(a, k);
		CHECK_EQ(k % 2 ? pwrite(fd, a, BLOCK, (off_t)k * BLOCK) :
				 pwritev(fd, iov, 2, (off_t)k * BLOCK),
			 BLOCK);
		fill(a, me * BLOCKS + k);
		CHECK_EQ(pwrite(common, a, BLOCK, (off_t)(me * BLOCKS + k) * BLOCK), BLOCK);
		if (k % 5 == 0)
			CHECK_SYS(fdatasync(common));
	}
	CHECK_SYS(fsync(fd));
	CHECK_SYS(fstat(fd, &st));
	CHECK_EQ(st.st_size, BLOCK * BLOCKS);
	copies(fd);
	for (int k = 0; k < BLOCKS; k++) {
		struct iovec iov[2] = { { b, BLOCK - 7 }, { b + BLOCK - 7, 7 } };

		fill(a, me * BLOCKS + k);
		CHECK_EQ(preadv(common, iov, 2, (off_t)(me * BLOCKS + k) * BLOCK), BLOCK);
		CHECK_EQ(memcmp(a, b, BLOCK), 0);
	}
	CHECK_SYS(ftruncate(fd, 10));
	CHECK_EQ(pread(fd, b, BLOCK, 0), 10);
	CHECK_EQ(pread(fd, b, BLOCK, 10), 0);
	CHECK_SYS(close(fd));

	CHECK_SYS(zero = open("/dev/zero", O_RDONLY));
	CHECK_EQ(read(zero, b, BLOCK), BLOCK);
	CHECK(b[0] == 0 && b[BLOCK - 1] == 0);
	CHECK_SYS(close(zero));
	CHECK_SYS(zero = open("/proc/self/status", O_RDONLY));
	CHECK(read(zero, b, BLOCK) > 100);
	CHECK_SYS(close(zero));
	CHECK((d = opendir("/proc/self")) != NULL);
	while (readdir(d))
		entries++;
	CHECK(entries > 10);
	CHECK_OK(closedir(d));
	return NULL;
}

int main(void)
{
	char path[] = "/tmp/io-common.XXXXXX", a[BLOCK];
	pthread_t t[THREADS];
	char *map;

	CHECK_SYS(common = mkstemp(path));
	CHECK_SYS(unlink(path));
	for (long i = 0; i < THREADS; i++)
		t[i] = spawn(work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	map = mmap(NULL, BLOCK * BLOCKS * THREADS, PROT_READ, MAP_SHARED, common, 0);
	CHECK(map != MAP_FAILED);
	for (long n = 0; n < BLOCKS * THREADS; n++) {
		fill(a, n);
		CHECK_EQ(memcmp(map + n * BLOCK, a, BLOCK), 0);
	}
	passed("%d threads, own files and a common one", THREADS);
	return 0;
}
