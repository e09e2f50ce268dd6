/*
 * A thread sleeps in read() on a pipe.  Another calls splice() with the pipe, and makes the number
 * another file.  The reader still reads the pipe: it has its file, not the number.
 */
#include "check.h"
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/eventfd.h>

static int reads_from;
static atomic_int started;

static void *reader(void *arg)
{
	char byte = 0;

	started = 1;
	CHECK_EQ(read(reads_from, &byte, 1), 1);
	CHECK_EQ(byte, 'p');
	return arg;
}

static void number_becomes_another(bool closes)
{
	int p[2], q[2], other = eventfd(1, 0);
	pthread_t t;

	CHECK_SYS(other);
	CHECK_SYS(pipe(p));
	CHECK_SYS(pipe(q));
	reads_from = p[0];
	started = 0;
	t = spawn(reader, NULL);
	while (!started)
		let_others_block();
	let_others_block();
	CHECK_ERR(splice(p[0], NULL, q[1], NULL, 10, SPLICE_F_NONBLOCK), EAGAIN);
	if (closes)
		CHECK_SYS(close(p[0]));
	else
		CHECK_SYS(dup2(other, p[0]));
	let_others_block();
	CHECK_EQ(write(p[1], "p", 1), 1);
	join(t);
	if (!closes)
		CHECK_SYS(close(p[0]));
	CHECK_SYS(close(p[1]));
	CHECK_SYS(close(q[0]));
	CHECK_SYS(close(q[1]));
	CHECK_SYS(close(other));
}

int main(void)
{
	for (int i = 0; i < 6; i++)
		number_becomes_another(i % 2);
	passed("the reader has its file");
	return 0;
}
