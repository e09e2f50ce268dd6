/*
 * What libc keeps for each thread besides errno: uselocale and the ctype tables that follow it,
 * strerror's and strsignal's buffers, dlerror, tmpnam-like statics by _r functions, and the state
 * of the conversion functions; kept over every switch, and fresh in a new thread.
 */
#include "check.h"
#include <ctype.h>
#include <dlfcn.h>
#include <langinfo.h>
#include <locale.h>
#include <wchar.h>

enum { THREADS = 40 };

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static locale_t utf8;

static void change_places(int i)
{
	if (i % 3 == 0) {
		CHECK_OK(pthread_mutex_lock(&mu));
		sched_yield();
		CHECK_OK(pthread_mutex_unlock(&mu));
	} else if (i % 7 == 1) {
		CHECK_SYS(usleep(50));
	} else {
		sched_yield();
	}
}

static void *work(void *arg)
{
	long me = (long)arg;
	int mine = 2000 + (int)me, other = me % 2;
	char want_err[64], want_sig[64], name[64], copy[256];
	const char *err, *sig, *dl;

	/* A new thread starts in the global locale, whatever its creator uses. */
	CHECK(uselocale((locale_t)0) == LC_GLOBAL_LOCALE);
	CHECK(isalpha('a') && !isalpha('1') && toupper('b') == 'B');
	CHECK(dlerror() == NULL);
	if (other)
		CHECK(uselocale(utf8) == LC_GLOBAL_LOCALE);

	for (int i = 0; i < 30; i++) {
		snprintf(want_err, sizeof want_err, "Unknown error %d", mine);
		err = strerror(mine);
		snprintf(want_sig, sizeof want_sig, "Unknown signal %d", mine);
		sig = strsignal(mine);
		change_places(i);
		CHECK_EQ(strcmp(err, want_err), 0);
		CHECK_EQ(strcmp(sig, want_sig), 0);

		CHECK_EQ(strcmp(nl_langinfo(CODESET), other ? "UTF-8" : "ANSI_X3.4-1968"), 0);
		CHECK_EQ(MB_CUR_MAX, other ? 6 : 1);
		change_places(i + 1);
		wchar_t wc = 0;
		mbstate_t st = { 0 };

		if (other) {
			CHECK_EQ(mbrtowc(&wc, "\xc3", 1, &st), (size_t)-2);
			change_places(i + 2);
			CHECK_EQ(mbrtowc(&wc, "\xa9", 1, &st), 1);
			CHECK_EQ(wc, 0xe9);
		}
		CHECK(isalpha('x') && isspace(' ') && tolower('Q') == 'q');

		snprintf(name, sizeof name, "/nonexistent/library-%ld.so", me);
		CHECK(dlopen(name, RTLD_NOW) == NULL);
		change_places(i + 3);
		CHECK((dl = dlerror()) != NULL);
		snprintf(copy, sizeof copy, "%s", dl);
		CHECK(strstr(copy, name) != NULL);
		CHECK(dlerror() == NULL);
	}
	return NULL;
}

static void *reentrant(void *arg)
{
	long me = (long)arg;
	char text[64], *save, *word;
	struct tm tm;
	time_t when = 86400 * 365 * (me + 1) + 3600;
	int n = 0;
	unsigned seed = (unsigned)me, first;
	struct drand48_data rd;
	double x, y;

	snprintf(text, sizeof text, "%ld,%ld,%ld", me, me + 1, me + 2);
	for (word = strtok_r(text, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		sched_yield();
		CHECK_EQ(atol(word), me + n++);
	}
	CHECK_EQ(n, 3);
	CHECK(gmtime_r(&when, &tm) != NULL);
	sched_yield();
	CHECK_EQ(tm.tm_hour, 1);
	CHECK_EQ(timegm(&tm), when);
	CHECK(localtime_r(&when, &tm) != NULL);
	CHECK_EQ(mktime(&tm), when);
	first = (unsigned)rand_r(&seed);
	sched_yield();
	seed = (unsigned)me;
	CHECK_EQ(rand_r(&seed), first);
	CHECK_OK(srand48_r(me, &rd));
	CHECK_OK(drand48_r(&rd, &x));
	CHECK_OK(srand48_r(me, &rd));
	sched_yield();
	CHECK_OK(drand48_r(&rd, &y));
	CHECK(x == y);
	return NULL;
}

int main(void)
{
	pthread_t t[THREADS];

	CHECK((utf8 = newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0)) != (locale_t)0);
	CHECK(uselocale(utf8) == LC_GLOBAL_LOCALE);
	for (int round = 0; round < 2; round++) {
		for (long i = 0; i < THREADS; i++)
			t[i] = spawn(work, (void *)i);
		for (int i = 0; i < THREADS; i++)
			join(t[i]);
	}
	CHECK(uselocale((locale_t)0) == utf8);
	passed("locale, ctype, strerror, strsignal, dlerror of %d threads", THREADS);
	for (long i = 0; i < THREADS; i++)
		t[i] = spawn(reentrant, (void *)i);
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	passed("strtok_r, gmtime_r, localtime_r, rand_r, drand48_r");
	CHECK(uselocale(LC_GLOBAL_LOCALE) == utf8);
	freelocale(utf8);
	return 0;
}
