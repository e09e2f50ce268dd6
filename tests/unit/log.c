/*
 * log: what the formatter prints, compared with what libc's prints, and how lines leave.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/log.h"

/* Runs fn in a child with fd 2 on a pipe; returns what it wrote and how it ended. */
static size_t capture(void (*fn)(void), char *buf, size_t size, int *status)
{
	size_t len = 0;
	ssize_t n;
	int fds[2];
	pid_t pid;

	cr_assert_eq(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		dup2(fds[1], 2);
		close(fds[0]);
		fn();
		_exit(0);
	}
	close(fds[1]);
	while (len < size - 1 && (n = read(fds[0], buf + len, size - 1 - len)) > 0)
		len += (size_t)n;
	buf[len] = '\0';
	close(fds[0]);
	cr_assert_eq(waitpid(pid, status, 0), pid);
	return len;
}

#define SAME(fmt, ...)                                                                             \
	do {                                                                                       \
		struct outbuf o = OUTBUF_INIT;                                                     \
		char want[256];                                                                    \
		snprintf(want, sizeof(want), fmt, __VA_ARGS__);                                    \
		weft_print(&o, fmt, __VA_ARGS__);                                                  \
		o.data[o.len] = '\0';                                                              \
		cr_expect_str_eq(o.data, want);                                                    \
	} while (0)

Test(log, numbers_are_printed_as_libc_prints_them)
{
	SAME("%d %d %d", 0, INT_MAX, INT_MIN);
	SAME("%u %x", UINT_MAX, 0xdeadbeefu);
	SAME("%ld %ld %lu %lx", LONG_MIN, LONG_MAX, ULONG_MAX, ULONG_MAX);
	SAME("%zu %zd %llu", (size_t)7, (ssize_t)-7, 1ULL << 63);
	SAME("[%5d] [%05d] [%5d] [%05d] [%2d]", 42, 42, -42, -42, 12345);
	SAME("[%016lx] [%3u]", 0xabcUL, 7u);
	SAME("%p", (void *)&errno);
}

Test(log, strings_characters_and_precision)
{
	SAME("%s|%c|%%|%.*s|%.3s|%8s|%s", "abc", 'x', 2, "abcdef", "abcdef", "right", "");
	SAME("%s and nothing", "text");
	SAME("%.*s", 5, "ab\0cd"); /* precision is a limit, not a length */
}

Test(log, what_a_string_holds_ends_no_line)
{
	struct outbuf o = OUTBUF_INIT;

	weft_print(&o, "[%s]\n", "a\nb\033[31m\177");
	o.data[o.len] = '\0';
	cr_expect_str_eq(o.data, "[a\\012b\\033[31m\\177]\n");
}

Test(log, an_unknown_conversion_stays_visible)
{
	const char *volatile fmt = "a %q b %";
	struct outbuf o = OUTBUF_INIT;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
	weft_print(&o, fmt);
#pragma GCC diagnostic pop
	o.data[o.len] = '\0';
	cr_assert_str_eq(o.data, "a %q b %");
}

static void say_one_line(void)
{
	weft_say("%s: %s (%s)", "guard", "no memory", "going on");
}

Test(log, a_message_is_one_prefixed_line)
{
	char buf[256], rest[256];
	int status, pid;

	capture(say_one_line, buf, sizeof(buf), &status);
	cr_assert_eq(sscanf(buf, "weft[%d]: %255[^\n]", &pid, rest), 2, "got: %s", buf);
	cr_assert(pid > 0 && pid != getpid(), "the child's id, not ours: %d", pid);
	cr_assert_str_eq(rest, "guard: no memory (going on)");
	cr_assert_eq(strchr(buf, '\n'), buf + strlen(buf) - 1);
}

static void report_10000_lines(void)
{
	struct outbuf o = OUTBUF_INIT;

	for (int i = 0; i < 10000; i++)
		weft_print(&o, "line %d of a long report\n", i);
	weft_flush(&o);
}

Test(log, a_report_longer_than_the_buffer_loses_nothing)
{
	static char buf[1 << 20];
	const char *p = buf;
	int status;

	capture(report_10000_lines, buf, sizeof(buf), &status);
	for (int i = 0; i < 10000; i++) {
		char want[64];
		size_t n = (size_t)snprintf(want, sizeof(want), "line %d of a long report\n", i);

		cr_assert_eq(strncmp(p, want, n), 0, "line %d is damaged", i);
		p += n;
	}
	cr_assert_eq(*p, '\0');
}

/* A packet pipe keeps the boundaries of writes. */
Test(log, a_full_buffer_is_cut_between_lines)
{
	char chunk[4096];
	int fds[2], saved = dup(2);
	ssize_t n;

	cr_assert_eq(pipe2(fds, O_DIRECT), 0);
	dup2(fds[1], 2);
	struct outbuf o = OUTBUF_INIT;
	for (int i = 0; i < 60; i++)
		weft_print(&o, "a line of thirty-five characters %d\n", i % 10);
	weft_flush(&o);
	dup2(saved, 2);
	close(fds[1]);
	while ((n = read(fds[0], chunk, sizeof(chunk))) > 0)
		cr_expect_eq(chunk[n - 1], '\n', "a write ended inside a line");
}

static void one_line_of_5000(void)
{
	struct outbuf o = OUTBUF_INIT;

	for (int i = 0; i < 5000; i++)
		weft_print(&o, "%c", 'a' + i % 26);
	weft_flush(&o);
}

Test(log, a_line_longer_than_the_buffer_arrives_whole)
{
	static char buf[8192];
	int status;

	cr_assert_eq(capture(one_line_of_5000, buf, sizeof(buf), &status), 5000);
	for (int i = 0; i < 5000; i++)
		cr_assert_eq(buf[i], 'a' + i % 26);
}

Test(log, errno_survives_a_failing_write)
{
	int saved = dup(2);

	close(2);
	errno = EXDEV;
	weft_say("into the void");
	int after = errno;
	dup2(saved, 2);
	cr_assert_eq(after, EXDEV);
}

static void handler_that_hides(int sig)
{
	(void)sig;
	_exit(0);
}

static void throw_with_obstacles(void)
{
	sigset_t all;

	signal(SIGABRT, handler_that_hides);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	weft_throw("goready: bad status %d", 4);
}

Test(log, throw_says_why_and_kills_even_when_sigabrt_is_blocked_and_handled)
{
	char buf[256];
	int status;

	capture(throw_with_obstacles, buf, sizeof(buf), &status);
	cr_assert(strstr(buf, "]: fatal: goready: bad status 4\n"), "got: %s", buf);
	cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}
