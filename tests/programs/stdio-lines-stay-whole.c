/*
 * stdio from many threads: lines of one FILE are never mixed, flockfile holds over several calls
 * and over yields, ftrylockfile says no meanwhile, and each thread's own FILEs work; on files and
 * on pipes that block.
 */
#include "check.h"

enum { THREADS = 40, LINES = 50 };

static FILE *file;

static void *print_lines(void *arg)
{
	int me = (int)(long)arg;

	for (int i = 0; i < LINES; i++) {
		if (i % 3 == 0) {
			flockfile(file);
			fprintf(file, "%d ", me);
			sched_yield();
			fprintf(file, "%d ", me);
			fputs("x", file);
			putc_unlocked('\n', file);
			funlockfile(file);
		} else {
			fprintf(file, "%d %d x\n", me, me);
		}
	}
	return NULL;
}

static void *cannot_lock(void *f)
{
	CHECK(ftrylockfile(f) != 0);
	return NULL;
}

static void *own_file(void *arg)
{
	FILE *f = tmpfile();
	char buf[64], want[64];

	CHECK(f != NULL);
	for (int i = 0; i < 200; i++) {
		fprintf(f, "%ld:%d\n", (long)arg, i);
		if (i % 20 == 0)
			sched_yield();
	}
	rewind(f);
	for (int i = 0; i < 200; i++) {
		snprintf(want, sizeof want, "%ld:%d\n", (long)arg, i);
		CHECK(fgets(buf, sizeof buf, f) != NULL);
		CHECK_EQ(strcmp(buf, want), 0);
	}
	CHECK_OK(fclose(f));
	return NULL;
}

static void read_back(FILE *f)
{
	int count[THREADS] = { 0 }, a, b;
	char line[64], x[8], end;

	for (int i = 0; i < THREADS * LINES; i++) {
		CHECK(fgets(line, sizeof line, f) != NULL);
		CHECK_EQ(sscanf(line, "%d %d %7s%c", &a, &b, x, &end), 4);
		CHECK(a == b && a >= 0 && a < THREADS && strcmp(x, "x") == 0 && end == '\n');
		count[a]++;
	}
	CHECK(fgets(line, sizeof line, f) == NULL);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(count[i], LINES);
}

static void *reader(void *f)
{
	read_back(f);
	return NULL;
}

static void print_all(void)
{
	pthread_t t[THREADS];

	for (long i = 0; i < THREADS; i++)
		t[i] = spawn(print_lines, (void *)i);
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
}

int main(void)
{
	pthread_t t[THREADS], r;
	FILE *in;
	int fd[2];

	CHECK((file = tmpfile()) != NULL);
	print_all();
	rewind(file);
	read_back(file);
	passed("a file: %d lines of %d threads", THREADS * LINES, THREADS);
	flockfile(file);
	join(spawn(cannot_lock, file));
	CHECK_EQ(ftrylockfile(file), 0);
	funlockfile(file);
	funlockfile(file);
	CHECK_EQ(ftrylockfile(file), 0);
	funlockfile(file);
	CHECK_OK(fclose(file));
	passed("flockfile is recursive and excludes others");

	CHECK_SYS(pipe(fd));
	CHECK((file = fdopen(fd[1], "w")) != NULL);
	CHECK((in = fdopen(fd[0], "r")) != NULL);
	setvbuf(file, NULL, _IOLBF, 512);
	r = spawn(reader, in);
	print_all();
	CHECK_OK(fclose(file));
	join(r);
	CHECK_OK(fclose(in));
	passed("a pipe");
	for (long i = 0; i < THREADS; i++)
		t[i] = spawn(own_file, (void *)i);
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	passed("a file for each thread");
	return 0;
}
