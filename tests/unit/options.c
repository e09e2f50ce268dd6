/*
 * options: the parser of the WEFT variable, every type with what it takes and what it refuses.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/options.h"
#include "runtime/os/os.h"

static struct weft_options opt;
static char complaints[4096];

static void note(const char *entry, int len, const char *why)
{
	size_t n = strlen(complaints);

	snprintf(complaints + n, sizeof(complaints) - n, "%.*s: %s\n", len, entry, why);
}

static int parse(const char *text)
{
	complaints[0] = '\0';
	return weft_options_parse(&opt, text, note);
}

static void fresh(void)
{
	weft_options_default(&opt);
}

TestSuite(options, .init = fresh);

#define ACCEPTED(text) cr_expect_eq(parse(text), 0, "%s was refused: %s", text, complaints)
#define REFUSED(text) cr_expect_eq(parse(text), 1, "%s was accepted", text)

Test(options, defaults_come_from_the_table)
{
	cr_expect_eq(opt.procs, 0);
	cr_expect_eq(opt.maxthreads, 30000);
	cr_expect_eq(opt.stealage, 20000);
	cr_expect_eq(opt.without, 0); /* not all the words it may hold */
	cr_expect_str_eq(opt.breaktcb, "");
}

Test(options, every_default_is_accepted_by_its_own_parser)
{
	for (size_t i = 0; i < weft_option_count; i++) {
		const struct option_desc *d = &weft_option_table[i];
		char text[256];

		snprintf(text, sizeof(text), "%s=%.*s", d->name, (int)strcspn(d->dflt, "+|"), d->dflt);
		ACCEPTED(text);
		cr_expect(d->help[0], "%s has no help", d->name);
	}
}

Test(options, an_old_name_sets_what_is_called_otherwise_now)
{
	ACCEPTED("pinreport=1");
	cr_expect(opt.blockreport);
	ACCEPTED("pinreport=0");
	cr_expect_not(opt.blockreport);
	ACCEPTED("pinreport");
	cr_expect(opt.blockreport);
	REFUSED("pinreport=2");
	cr_expect_str_eq(complaints, "pinreport=2: neither 0 nor 1\n", "the user's own word: %s", complaints);
	REFUSED("pinreports=1");
	for (size_t i = 0; i < weft_option_count; i++)
		cr_expect_str_neq(weft_option_table[i].name, "pinreport");
}

Test(options, numbers)
{
	ACCEPTED("procs=4");
	cr_expect_eq(opt.procs, 4);
	ACCEPTED("procs=4294967295");
	cr_expect_eq(opt.procs, 4294967295u);
	REFUSED("procs=4294967296");
	REFUSED("procs=99999999999999999999999");
	REFUSED("procs=");
	REFUSED("procs=-1");
	REFUSED("procs= 2");
	REFUSED("procs=2x");
	REFUSED("procs=0x10");
	REFUSED("procs");
	cr_expect_eq(opt.procs, 4294967295u, "a refused value must change nothing");
}

Test(options, bools)
{
	ACCEPTED("scheddetail=1");
	cr_expect(opt.scheddetail);
	ACCEPTED("scheddetail=0");
	cr_expect(!opt.scheddetail);
	ACCEPTED("scheddetail");
	cr_expect(opt.scheddetail);
	REFUSED("scheddetail=2");
	REFUSED("scheddetail=yes");
	REFUSED("scheddetail=");
}

Test(options, sizes)
{
	ACCEPTED("stacksize=65536");
	cr_expect_eq(opt.stacksize, 65536);
	ACCEPTED("stacksize=64k");
	cr_expect_eq(opt.stacksize, 64 << 10);
	ACCEPTED("stacksize=8M");
	cr_expect_eq(opt.stacksize, 8 << 20);
	ACCEPTED("stacksize=1g");
	cr_expect_eq(opt.stacksize, 1 << 30);
	REFUSED("stacksize=1t");
	REFUSED("stacksize=1kb");
	REFUSED("stacksize=k");
	REFUSED("stacksize=99999999999g");
	REFUSED("stacksize=18446744073709551616");
}

Test(options, times_in_the_unit_of_the_option)
{
	ACCEPTED("schedtrace=1500,nap=1500");
	cr_expect_eq(opt.schedtrace, 1500);
	cr_expect_eq(opt.nap, 1500);
	ACCEPTED("schedtrace=2s,nap=20us");
	cr_expect_eq(opt.schedtrace, 2000);
	cr_expect_eq(opt.nap, 20000);
	ACCEPTED("schedtrace=7ms,nap=3ms");
	cr_expect_eq(opt.schedtrace, 7);
	cr_expect_eq(opt.nap, 3000000);
	ACCEPTED("schedtrace=1ns,nap=5ns");
	cr_expect_eq(opt.schedtrace, 1, "rounded up: 0 would mean off");
	cr_expect_eq(opt.nap, 5);
	REFUSED("nap=1m");
	REFUSED("nap=us");
	REFUSED("nap=1.5ms");
	REFUSED("nap=9223372037s");
	REFUSED("schedtrace=9223372036854775807");
	cr_expect_eq(opt.nap, 5);
}

Test(options, signals)
{
	ACCEPTED("deadlock=abort");
	cr_expect_eq(opt.deadlock, DEADLOCK_ABORT);
	ACCEPTED("deadlock=report");
	cr_expect_eq(opt.deadlock, DEADLOCK_REPORT);
	REFUSED("deadlock=");
	REFUSED("deadlock=abor");
	REFUSED("deadlock=abort|off");
	ACCEPTED("dumpsig=USR1");
	cr_expect_eq(opt.dumpsig, SIGUSR1);
	ACCEPTED("dumpsig=SIGQUIT");
	cr_expect_eq(opt.dumpsig, SIGQUIT);
	ACCEPTED("dumpsig=12");
	cr_expect_eq(opt.dumpsig, 12);
	ACCEPTED("dumpsig=RTMIN");
	cr_expect_eq(opt.dumpsig, SIGRTMIN);
	ACCEPTED("dumpsig=SIGRTMIN+3");
	cr_expect_eq(opt.dumpsig, SIGRTMIN + 3);
	ACCEPTED("dumpsig=0");
	cr_expect_eq(opt.dumpsig, 0);
	REFUSED("dumpsig=KILL");
	REFUSED("dumpsig=SIGSTOP");
	REFUSED("dumpsig=32"); /* glibc's own */
	REFUSED("dumpsig=65");
	REFUSED("dumpsig=RTMIN+40");
	REFUSED("dumpsig=RTMINX");
	REFUSED("dumpsig=RTMIN+");
	REFUSED("dumpsig=NOSUCH");
	REFUSED("dumpsig=");
}

Test(options, words)
{
	char text[2 * OPTION_STR];

	ACCEPTED("breaktcb=dtv");
	cr_expect_str_eq(opt.breaktcb, "dtv");
	ACCEPTED("breaktcb=");
	cr_expect_str_eq(opt.breaktcb, "");

	memset(text, 'x', sizeof(text));
	memcpy(text, "breaktcb=", 9);
	text[9 + OPTION_STR - 1] = '\0';
	ACCEPTED(text);
	cr_expect_eq(strlen(opt.breaktcb), OPTION_STR - 1);
	text[9 + OPTION_STR - 1] = 'x';
	text[9 + OPTION_STR] = '\0';
	REFUSED(text);
}

Test(options, sets_of_words)
{
	ACCEPTED("without=guard");
	cr_expect_eq(opt.without, 1u << OS_guard);
	ACCEPTED("without=proc+guard+vdso");
	cr_expect_eq(opt.without, 1u << OS_proc | 1u << OS_guard | 1u << OS_vdso);
	ACCEPTED("without=");
	cr_expect_eq(opt.without, 0);
	REFUSED("without=guards");
	REFUSED("without=gua");
	REFUSED("without=guard+");
	REFUSED("without=guard++vdso");
	REFUSED("without=+guard");
	REFUSED("without=guard|vdso");
	weft_options_default(&opt);
	cr_expect_eq(opt.without, 0, "the words are not its value");
}

Test(options, lists_keep_what_is_good)
{
	cr_expect_eq(parse("procs=2,nosuch=1,spin=7,procs=3,,bad,spin=x,"), 3);
	cr_expect_str_eq(complaints, "nosuch=1: no such option\nbad: no such option\n"
				     "spin=x: not a time such as 20000 (nanoseconds), 20us or 1ms\n");
	cr_expect_eq(opt.procs, 3, "the later entry wins");
	cr_expect_eq(opt.spin, 7);
	cr_expect_eq(parse(""), 0);
}

Test(options, a_key_is_matched_whole)
{
	REFUSED("proc=1");
	REFUSED("procsx=1");
	REFUSED("PROCS=1");
	REFUSED("=1");
}

Test(options, environment)
{
	char *both[] = { "X=1", "WEFTX=procs=9", "WEFT=spin=9,procs=3", "GOMAXPROCS=7", NULL };
	char *go[] = { "GOMAXPROCS=7", "WEFT=spin=8", NULL };
	char *zero[] = { "GOMAXPROCS=7", "WEFT=procs=0", NULL };
	char *rubbish[] = { "GOMAXPROCS=seven", NULL };
	char *none[] = { NULL };

	weft_options_init(both);
	cr_expect_eq(weft_opt.procs, 3);
	cr_expect_eq(weft_opt.spin, 9);
	weft_options_init(go);
	cr_expect_eq(weft_opt.procs, 7);
	weft_options_init(zero);
	cr_expect_eq(weft_opt.procs, 7, "0 asks for the automatic choice, and that is Go's variable");
	weft_options_init(rubbish);
	cr_expect_eq(weft_opt.procs, 0);
	weft_options_init(none);
	cr_expect_eq(weft_opt.spin, 5000);
	weft_options_init(NULL);
	cr_expect_eq(weft_opt.spin, 5000);
}

Test(options, nothing_points_into_the_environment)
{
	char text[] = "WEFT=breaktcb=dtv,without=guard";
	char *env[] = { text, NULL };

	weft_options_init(env);
	memset(text, 'x', sizeof(text) - 1); /* as setproctitle does */
	cr_expect_str_eq(weft_opt.breaktcb, "dtv");
	cr_expect_eq(weft_opt.without, 1u << OS_guard);
}

Test(options, a_bad_entry_in_the_variable_is_one_line_and_the_default_stays)
{
	char *env[] = { "WEFT=spin=fast,procs=2", NULL };
	char buf[512] = "";
	int fds[2], saved = dup(2);

	cr_assert_eq(pipe(fds), 0);
	dup2(fds[1], 2);
	weft_options_init(env);
	dup2(saved, 2);
	cr_assert_gt(read(fds[0], buf, sizeof(buf) - 1), 0);
	cr_expect(strstr(buf, "WEFT: spin=fast: not a time") && strstr(buf, "(ignored)\n"), "%s", buf);
	cr_expect_eq(strchr(buf, '\n'), buf + strlen(buf) - 1);
	cr_expect_eq(weft_opt.spin, 5000);
	cr_expect_eq(weft_opt.procs, 2);
}
