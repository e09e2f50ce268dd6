/* A stream in memory has no descriptor: closing it succeeds and leaves errno alone. */
#include "check.h"

static void *nothing(void *arg)
{
	return arg;
}

static ssize_t takes(void *cookie, const char *buf, size_t n)
{
	(void)buf;
	*(size_t *)cookie += n;
	return (ssize_t)n;
}

int main(void)
{
	char *text = NULL, buf[10] = "abc";
	size_t n = 0, taken = 0;
	FILE *f;

	join(spawn(nothing, NULL));
	f = open_memstream(&text, &n);
	CHECK(f);
	CHECK(fputs("some", f) >= 0);
	errno = 0;
	CHECK_EQ(fclose(f), 0);
	CHECK_EQ(errno, 0);
	CHECK_EQ(n, 4);
	free(text);
	passed("open_memstream");
	f = fmemopen(buf, sizeof(buf), "r");
	CHECK(f);
	CHECK_EQ(fgetc(f), 'a');
	errno = 0;
	CHECK_EQ(fclose(f), 0);
	CHECK_EQ(errno, 0);
	passed("fmemopen");
	f = fopencookie(&taken, "w", (cookie_io_functions_t){ .write = takes });
	CHECK(f);
	CHECK(fputs("some", f) >= 0);
	errno = 0;
	CHECK_EQ(fclose(f), 0);
	CHECK_EQ(errno, 0);
	CHECK_EQ(taken, 4);
	passed("fopencookie");
	return 0;
}
