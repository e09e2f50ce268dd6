/*
 * Every way to read and write a FILE, from many threads at once, each on a FILE of its own and on
 * one that all share: bytes, lines, blocks, formats and their variable-argument forms, wide
 * characters, the calls that do not lock, positions, buffers.  Compiled with fortification, so its
 * names are used too.
 */
#define _GNU_SOURCE 1
#undef _FORTIFY_SOURCE
#define _FORTIFY_SOURCE 2
#include "check.h"
#include <stdio_ext.h>
#include <wchar.h>

enum { THREADS = 20 };

static FILE *shared;

static int UNUSED __attribute__((format(printf, 2, 3))) by_list(FILE *f, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vfprintf(f, format, ap);
	va_end(ap);
	return n;
}

static int __attribute__((format(scanf, 2, 3))) scan_list(FILE *f, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vfscanf(f, format, ap);
	va_end(ap);
	return n;
}

static void bytes(FILE *f, int me)
{
	char buf[64], *line = NULL;
	size_t room = 0;
	fpos_t pos;
	int n, w;

	CHECK_EQ(fputc('a', f), 'a');
	CHECK_EQ(putc('b', f), 'b');
	CHECK_EQ(putc_unlocked('c', f), 'c');
	CHECK_EQ(fputc_unlocked('\n', f), '\n');
	CHECK(fputs("line two\n", f) >= 0);
	CHECK(fputs_unlocked("line three\n", f) >= 0);
	CHECK_EQ(fwrite("block", 1, 5, f), 5);
	CHECK_EQ(fwrite_unlocked("block\n", 1, 6, f), 6);
	CHECK_EQ(fprintf(f, "%s %3d\n", "number", me), 11);
	CHECK_EQ(by_list(f, "%d/%s\n", 5, "list"), 7);
	CHECK_EQ(putw(0x01020304, f), 0);
	CHECK_EQ(putc('\n', f), '\n');
	sched_yield();
	CHECK_OK(fflush(f));
	CHECK_EQ(ftell(f), 4 + 9 + 11 + 11 + 11 + 7 + 5);
	rewind(f);
	CHECK_EQ(fgetc(f), 'a');
	CHECK_EQ(ungetc('A', f), 'A');
	CHECK_EQ(getc(f), 'A');
	CHECK_EQ(getc_unlocked(f), 'b');
	CHECK_EQ(fgetc_unlocked(f), 'c');
	CHECK_EQ(getc(f), '\n');
	CHECK(fgets(buf, sizeof buf, f) && strcmp(buf, "line two\n") == 0);
	CHECK_EQ(getline(&line, &room, f), 11);
	CHECK(strcmp(line, "line three\n") == 0);
	CHECK_OK(fgetpos(f, &pos));
	CHECK_EQ(fread(buf, 1, 5, f), 5);
	CHECK(memcmp(buf, "block", 5) == 0);
	CHECK_EQ(getdelim(&line, &room, 'k', f), 5);
	CHECK_OK(fsetpos(f, &pos));
	CHECK_EQ(fread_unlocked(buf, 1, 11, f), 11);
	CHECK(memcmp(buf, "blockblock\n", 11) == 0);
	CHECK_EQ(fscanf(f, "%7s %d\n", buf, &n), 2);
	CHECK(strcmp(buf, "number") == 0 && n == me);
	CHECK_EQ(scan_list(f, "%d/%7s", &n, buf), 2);
	CHECK(n == 5 && strcmp(buf, "list") == 0);
	CHECK_EQ(getc(f), '\n');
	w = getw(f);
	CHECK_EQ(w, 0x01020304);
	CHECK(!feof(f) && !ferror(f));
	CHECK_EQ(getc(f), '\n');
	CHECK_EQ(getc(f), EOF);
	CHECK(feof(f));
	clearerr(f);
	CHECK(!feof(f));
	CHECK_OK(fseek(f, -1, SEEK_END));
	CHECK_OK(fseeko(f, 2, SEEK_SET));
	CHECK_EQ(ftello(f), 2);
	free(line);
}

static void wide(int me)
{
	FILE *f = tmpfile();
	wchar_t buf[64];
	int n;

	CHECK(f != NULL);
	CHECK(fwide(f, 1) > 0);
	CHECK(fputwc(L'a', f) == L'a');
	CHECK(putwc(L'\n', f) == L'\n');
	CHECK(fputws(L"wide line\n", f) >= 0);
	CHECK(fwprintf(f, L"n %d\n", me) > 0);
	rewind(f);
	CHECK(fgetwc(f) == L'a');
	CHECK(ungetwc(L'z', f) == L'z');
	CHECK(getwc(f) == L'z');
	CHECK(getwc(f) == L'\n');
	sched_yield();
	CHECK(fgetws(buf, 64, f) && wcscmp(buf, L"wide line\n") == 0);
	CHECK_EQ(fwscanf(f, L"n %d", &n), 1);
	CHECK_EQ(n, me);
	CHECK_OK(fclose(f));
}

static void buffers(void)
{
	static const int modes[] = { _IOFBF, _IOLBF, _IONBF };
	char buf[8];

	for (int i = 0; i < 3; i++) {
		FILE *f = tmpfile();

		CHECK(f != NULL);
		CHECK_OK(setvbuf(f, NULL, modes[i], 16));
		for (int k = 0; k < 20; k++) {
			CHECK_EQ(fprintf(f, "%04d\n", k), 5);
			if (k % 7 == 0)
				sched_yield();
		}
		rewind(f);
		for (int k = 0; k < 20; k++)
			CHECK(fgets(buf, sizeof buf, f) && atoi(buf) == k);
		CHECK_OK(fclose(f));
	}
}

/* The caller locks, libc does not; others are kept out by the caller's lock alone. */
static void by_caller(FILE *f, int me)
{
	flockfile(f);
	fprintf(f, "%d", me);
	sched_yield();
	putc_unlocked(' ', f);
	fputs_unlocked("and ", f);
	usleep(100);
	fprintf(f, "%d\n", me);
	funlockfile(f);
}

static void *work(void *arg)
{
	int me = (int)(long)arg;
	FILE *f = tmpfile();

	CHECK(f != NULL);
	bytes(f, me);
	CHECK_EQ(__fsetlocking(f, FSETLOCKING_BYCALLER), FSETLOCKING_INTERNAL);
	CHECK_EQ(fputc('x', f), 'x');
	CHECK_OK(fclose(f));
	wide(me);
	buffers();
	by_caller(shared, me);
	CHECK_OK(fflush(NULL));
	return NULL;
}

int main(void)
{
	pthread_t t[THREADS];
	int seen[THREADS] = { 0 }, a, b;
	char line[64];

	CHECK((shared = tmpfile()) != NULL);
	for (long i = 0; i < THREADS; i++)
		t[i] = spawn(work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	passed("every form on a FILE of one's own");
	rewind(shared);
	while (fgets(line, sizeof line, shared)) {
		CHECK_EQ(sscanf(line, "%d and %d\n", &a, &b), 2);
		CHECK(a == b && a >= 0 && a < THREADS);
		seen[a]++;
	}
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(seen[i], 1);
	CHECK_OK(fclose(shared));
	passed("one FILE for all");
	return 0;
}
