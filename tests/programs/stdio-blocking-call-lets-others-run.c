/*
 * A thread that waits inside a stdio call, holding the FILE's lock, stops nobody else: others
 * compute, print and feed it; who wants the same FILE waits for it; a cancelled one leaves the lock
 * free.
 */
#include "check.h"

static FILE *in, *out;
static volatile int started;

static void *read_line(void *arg)
{
	char line[64];

	started = 1;
	CHECK(fgets(line, sizeof line, in) != NULL);
	return (void *)(long)strcmp(line, arg);
}

static void *read_number(void *arg)
{
	int n;

	started = 1;
	CHECK_EQ(fscanf(in, "%d", &n), 1);
	CHECK_EQ(getc(in), '\n');
	return (void *)(long)(n != *(int *)arg);
}

static void wait_started(void)
{
	while (!started)
		sched_yield();
	started = 0;
	let_others_block();
}

/* More than a pipe holds: blocks until somebody reads. */
static void *write_much(void *arg)
{
	char line[1024];

	memset(line, 'x', sizeof line);
	line[sizeof line - 1] = '\n';
	started = 1;
	for (int i = 0; i < 200; i++)
		CHECK_EQ(fwrite(line, 1, sizeof line, out), sizeof line);
	CHECK_OK(fflush(out));
	return arg;
}

static void *write_one(void *arg)
{
	started = 1;
	CHECK(fputs("one\n", out) >= 0);
	CHECK_OK(fflush(out));
	return arg;
}

static void *read_for_ever(void *arg)
{
	int state;

	started = 1;
	CHECK_OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state));
	for (;;)
		getc(in);
	return arg;
}

int main(void)
{
	int fd[2], n = 4711, lines = 0, ones = 0;
	char line[2048];
	pthread_t t, many[5];
	void *r;

	CHECK_SYS(pipe(fd));
	CHECK((in = fdopen(fd[0], "r")) != NULL);
	CHECK((out = fdopen(fd[1], "w")) != NULL);
	t = spawn(read_line, "hello\n");
	wait_started();
	CHECK(ftrylockfile(in) != 0);
	CHECK(fprintf(out, "hel") > 0);
	CHECK_OK(fflush(out));
	sched_yield();
	CHECK(fputs("lo\n", out) >= 0);
	CHECK_OK(fflush(out));
	CHECK(join(t) == NULL);
	passed("fgets on an empty pipe");

	t = spawn(read_number, &n);
	wait_started();
	CHECK(fprintf(out, "%d\n", n) > 0);
	CHECK_OK(fflush(out));
	CHECK(join(t) == NULL);
	passed("fscanf on an empty pipe");

	t = spawn(write_much, NULL);
	wait_started();
	for (int i = 0; i < 5; i++)
		many[i] = spawn(write_one, NULL);
	wait_started();
	while (lines < 205) {
		CHECK(fgets(line, sizeof line, in) != NULL);
		if (strcmp(line, "one\n") == 0)
			ones++;
		else
			CHECK_EQ(strlen(line), 1024);
		lines++;
	}
	join(t);
	for (int i = 0; i < 5; i++)
		join(many[i]);
	CHECK_EQ(ones, 5);
	passed("fwrite to a full pipe, and others behind it");

	t = spawn(read_for_ever, NULL);
	wait_started();
	CHECK_OK(pthread_cancel(t));
	CHECK_OK(pthread_join(t, &r));
	CHECK(r == PTHREAD_CANCELED);
	CHECK_EQ(ftrylockfile(in), 0);
	funlockfile(in);
	passed("cancelled in getc, the lock is free");
	CHECK_OK(fclose(out));
	CHECK_EQ(getc(in), EOF);
	CHECK_OK(fclose(in));
	return 0;
}
