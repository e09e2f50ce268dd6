/*
 * options: the parser of the WEFT variable and the table behind --help.
 *
 * One function per type of value, chosen by the table; the launcher links this very file, so that
 * what it refuses is exactly what the library would have ignored.  strtoul and strsignal were
 * rejected: both read the locale of the calling thread.
 */
#include "runtime/base/options.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>

#include "runtime/base/log.h"
#include "runtime/os/os.h"

struct weft_options weft_opt;

/* One value being read: text that is not NUL-terminated. */
struct word {
	const char *p;
	size_t n;
};

static bool word_is(struct word w, const char *s)
{
	return strlen(s) == w.n && memcmp(s, w.p, w.n) == 0;
}

/* Eats decimal digits from the front.  False without a digit, and where the number passes max. */
static bool take_number(struct word *w, uint64_t max, uint64_t *v)
{
	const char *start = w->p;

	*v = 0;
	for (; w->n > 0 && *w->p >= '0' && *w->p <= '9'; w->p++, w->n--) {
		unsigned digit = (unsigned)(*w->p - '0');

		if (*v > (max - digit) / 10)
			return false;
		*v = *v * 10 + digit;
	}
	return w->p > start;
}

/* --- one reader per type: NULL, or why the value is refused; *to is written on success only --- */

static const char *read_uint(struct word w, const char *dflt, opt_uint *to)
{
	uint64_t v;

	(void)dflt;
	if (!take_number(&w, UINT_MAX, &v) || w.n > 0)
		return "not a number from 0 to 4294967295";
	*to = (opt_uint)v;
	return NULL;
}

static const char *read_bool(struct word w, const char *dflt, opt_bool *to)
{
	(void)dflt;
	if (!word_is(w, "0") && !word_is(w, "1"))
		return "neither 0 nor 1";
	*to = *w.p == '1';
	return NULL;
}

static const char *read_size(struct word w, const char *dflt, opt_size *to)
{
	static const char why[] = "not a size such as 65536, 64k, 8m or 1g";
	unsigned shift = 0;
	uint64_t v;

	(void)dflt;
	if (!take_number(&w, SIZE_MAX, &v) || w.n > 1)
		return why;
	if (w.n == 1) {
		const char *units = "kmg";
		const char *unit = memchr(units, *w.p | 0x20, 3);

		if (!unit)
			return why;
		shift = 10 * (unsigned)(unit - units + 1);
	}
	if (v > SIZE_MAX >> shift)
		return why;
	*to = v << shift;
	return NULL;
}

/*
 * A time in units of `unit` nanoseconds; what does not divide is rounded up, so that 1us is never
 * 0.
 */
static const char *read_time(struct word w, uint64_t unit, const char *why, uint64_t *to)
{
	const uint64_t max = INT64_MAX; /* sums with the clock must not wrap */
	uint64_t ns = unit;
	uint64_t v;

	if (!take_number(&w, max, &v))
		return why;
	if (word_is(w, "ns"))
		ns = 1;
	else if (word_is(w, "us"))
		ns = 1000;
	else if (word_is(w, "ms"))
		ns = 1000000;
	else if (word_is(w, "s"))
		ns = 1000000000;
	else if (w.n > 0)
		return why;
	if (v > max / ns)
		return why;
	*to = v * ns / unit + (v * ns % unit != 0);
	return NULL;
}

static const char *read_msec(struct word w, const char *dflt, opt_msec *to)
{
	(void)dflt;
	return read_time(w, 1000000, "not a time such as 1000 (milliseconds), 500ms or 2s", to);
}

static const char *read_nsec(struct word w, const char *dflt, opt_nsec *to)
{
	(void)dflt;
	return read_time(w, 1, "not a time such as 20000 (nanoseconds), 20us or 1ms", to);
}

static int signal_by_name(struct word w)
{
	if (w.n > 3 && memcmp(w.p, "SIG", 3) == 0)
		w = (struct word){ w.p + 3, w.n - 3 };
	for (int sig = 1; sig < NSIG; sig++) {
		const char *name = sigabbrev_np(sig);

		if (name && word_is(w, name))
			return sig;
	}
	if (w.n >= 5 && memcmp(w.p, "RTMIN", 5) == 0) {
		struct word rest = { w.p + 5, w.n - 5 };
		uint64_t v = 0;

		if (rest.n > 0 && *rest.p++ == '+' && rest.n-- && !take_number(&rest, 64, &v))
			return 0;
		return rest.n == 0 ? SIGRTMIN + (int)v : 0;
	}
	return 0;
}

static const char *read_sig(struct word w, const char *dflt, opt_sig *to)
{
	struct word rest = w;
	uint64_t v;
	int sig = -1;

	(void)dflt;
	if (take_number(&rest, SIGRTMAX, &v) && rest.n == 0)
		sig = (int)v;
	else if ((sig = signal_by_name(w)) == 0)
		sig = -1;
	if (sig < 0 || sig > SIGRTMAX || (sig >= 32 && sig < SIGRTMIN))
		return "not a signal such as USR1, RTMIN+2 or 10";
	if (sig == SIGKILL || sig == SIGSTOP)
		return "a signal that no program can handle";
	*to = sig;
	return NULL;
}

static const char *read_str(struct word w, const char *dflt, opt_str *to)
{
	(void)dflt;
	if (w.n >= OPTION_STR)
		return "too long";
	memcpy(*to, w.p, w.n);
	memset(*to + w.n, 0, OPTION_STR - w.n);
	return NULL;
}

/* The place of w in "+a+b+c", or -1. */
static int place_of(struct word w, const char *words)
{
	for (int i = 0; *words; i++) {
		size_t n = strcspn(++words, "+");

		if (n == w.n && memcmp(words, w.p, n) == 0)
			return i;
		words += n;
	}
	return -1;
}

static const char *read_word(struct word w, const char *words, opt_word *to)
{
	for (opt_word i = 0;; i++) {
		size_t n = strcspn(words, "|");

		if (n == w.n && memcmp(words, w.p, n) == 0) {
			*to = i;
			return NULL;
		}
		if (!words[n])
			return "not one of its words";
		words += n + 1;
	}
}

static const char *read_set(struct word w, const char *words, opt_set *to)
{
	opt_set set = 0;

	for (bool more = w.n > 0; more;) {
		const char *plus = memchr(w.p, '+', w.n);
		struct word one = { w.p, plus ? (size_t)(plus - w.p) : w.n };
		int i = place_of(one, words);

		if (i < 0)
			return "holds a word it may not";
		set |= 1u << i;
		more = plus != NULL;
		w = (struct word){ w.p + one.n + more, w.n - one.n - more };
	}
	*to = set;
	return NULL;
}

/* --- the table --- */

/* Of a set: the words it may hold, as "+a+b+c".  Its value is none of them. */
#define FEATURE_WORD(name) "+" #name
#define FEATURE_WORDS OS_FEATURES(FEATURE_WORD)
#define DEFAULT_uint(dflt) #dflt
#define DEFAULT_bool(dflt) #dflt
#define DEFAULT_size(dflt) #dflt
#define DEFAULT_msec(dflt) #dflt
#define DEFAULT_nsec(dflt) #dflt
#define DEFAULT_sig(dflt) #dflt
#define DEFAULT_str(dflt) dflt
#define DEFAULT_set(dflt) dflt
#define DEFAULT_word(dflt) dflt

const struct option_desc weft_option_table[] = {
#define OPT(name, type, dflt, help) { #name, #type, DEFAULT_##type(dflt), help },
#include "runtime/base/options.def"
#undef OPT
};
const size_t weft_option_count = sizeof(weft_option_table) / sizeof(weft_option_table[0]);

static const char *set_option(struct weft_options *opt, struct word key, struct word value)
{
#define OPT(name, type, dflt, help)                                                                \
	if (word_is(key, #name))                                                                   \
		return read_##type(value, DEFAULT_##type(dflt), &opt->name);
#include "runtime/base/options.def"
#undef OPT
	return "no such option";
}

static const struct option_desc *find_option(struct word key)
{
	for (size_t i = 0; i < weft_option_count; i++)
		if (word_is(key, weft_option_table[i].name))
			return &weft_option_table[i];
	return NULL;
}

static const struct renamed {
	const char *old, *name;
} renamed[] = {
#define OPT(name, type, dflt, help)
#define RENAMED(old, name) { old, #name },
#include "runtime/base/options.def"
#undef RENAMED
#undef OPT
};

/* Whether key is what an option was called before; NULL: it is not. */
static const struct renamed *find_renamed(struct word key)
{
	for (size_t i = 0; i < sizeof(renamed) / sizeof(renamed[0]); i++)
		if (word_is(key, renamed[i].old))
			return &renamed[i];
	return NULL;
}

static struct word key_of(struct word entry)
{
	const char *eq = memchr(entry.p, '=', entry.n);

	return (struct word){ entry.p, eq ? (size_t)(eq - entry.p) : entry.n };
}

void weft_options_default(struct weft_options *opt)
{
	memset(opt, 0, sizeof(*opt));
	for (size_t i = 0; i < weft_option_count; i++) {
		const struct option_desc *d = &weft_option_table[i];
		struct word value = { d->dflt, strcspn(d->dflt, "+|") };
		const char *why = set_option(opt, (struct word){ d->name, strlen(d->name) }, value);

		if (why)
			weft_throw("options.def: %s=%s: %s", d->name, d->dflt, why);
	}
}

static const char *parse_entry(struct weft_options *opt, struct word entry)
{
	struct word key = key_of(entry);
	size_t n = key.n; /* of the word that stands there */
	const struct renamed *r = find_renamed(key);
	const struct option_desc *d;

	if (r)
		key = (struct word){ r->name, strlen(r->name) };
	d = find_option(key);
	if (!d)
		return "no such option";
	if (n < entry.n)
		return set_option(opt, key, (struct word){ entry.p + n + 1, entry.n - n - 1 });
	if (strcmp(d->type, "bool") == 0)
		return set_option(opt, key, (struct word){ "1", 1 });
	return "its value is missing";
}

int weft_options_parse(struct weft_options *opt, const char *text,
		       void (*bad)(const char *entry, int len, const char *why))
{
	int nbad = 0;

	while (*text) {
		struct word entry = { text, strcspn(text, ",") };
		const char *why = entry.n ? parse_entry(opt, entry) : NULL; /* a,,b is harmless */

		if (why) {
			bad(entry.p, entry.n < INT_MAX ? (int)entry.n : INT_MAX, why);
			nbad++;
		}
		text += entry.n + (text[entry.n] == ',');
	}
	return nbad;
}

/* --- inside a program --- */

static void warn(const char *entry, int len, const char *why)
{
	weft_say("WEFT: %.*s: %s (ignored)", len, entry, why);
}

/* Only here, not in the launcher: the one line comes from the process that reads it. */
static void say_renamed(const char *text)
{
	while (*text) {
		struct word entry = { text, strcspn(text, ",") };
		const struct renamed *r = find_renamed(key_of(entry));

		if (r)
			weft_say("WEFT: %s: is called %s now (read all the same, for one release)", r->old,
				 r->name);
		text += entry.n + (text[entry.n] == ',');
	}
}

static const char *find_env(char *const envp[], const char *name)
{
	size_t n = strlen(name);

	for (; envp && *envp; envp++)
		if (strncmp(*envp, name, n) == 0 && (*envp)[n] == '=')
			return *envp + n + 1;
	return NULL;
}

void weft_options_read(struct weft_options *opt, char *const envp[],
		       void (*bad)(const char *entry, int len, const char *why))
{
	const char *text = find_env(envp, "WEFT");
	const char *gomaxprocs = find_env(envp, "GOMAXPROCS");

	weft_options_default(opt);
	if (text)
		weft_options_parse(opt, text, bad);
	/* Go ignores a GOMAXPROCS that it cannot read, without a word; so do we. */
	if (opt->procs == 0 && gomaxprocs)
		read_uint((struct word){ gomaxprocs, strlen(gomaxprocs) }, NULL, &opt->procs);
}

void weft_options_init(char *const envp[])
{
	const char *text = find_env(envp, "WEFT");

	weft_log_start();
	weft_options_read(&weft_opt, envp, warn);
	if (text)
		say_renamed(text);
}
