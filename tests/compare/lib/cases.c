/*
 * cases: the options of cases.h.  A part is chosen by a hash of the name, so that it has something
 * of everything, however the tables repeat.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "cases.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int delay_ms = 20;
static unsigned part, parts = 1;
static bool list;
static char **wanted;	/* sorted; none: all */
static size_t nwanted;

void die(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
	_exit(2);
}

long long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

void pause_ms(int ms)
{
	struct timespec ts = {ms / 1000, ms % 1000 * 1000000L};

	while (nanosleep(&ts, &ts) == -1)
		;
}

bool until(atomic_int *what, int ms, int looks)
{
	const struct timespec little = {0, 300000};
	long long end = now_ms() + ms;

	for (; !atomic_load(what); looks--) {
		if (looks <= 0 && now_ms() >= end)
			return false;
		nanosleep(&little, NULL);
	}
	return true;
}

static void want(const char *name)
{
	wanted = realloc(wanted, (nwanted + 1) * sizeof *wanted);
	wanted[nwanted++] = strdup(name);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void want_file(const char *path)
{
	FILE *f = fopen(path, "r");
	char line[200];

	if (!f)
		die(path);
	while (fgets(line, sizeof line, f)) {
		line[strcspn(line, ":\n")] = 0;
		want(line);
	}
	fclose(f);
}

void cases_options(int argc, char **argv)
{
	int opt;

	while ((opt = getopt(argc, argv, "s:d:f:l")) != -1) {
		if (opt == 's' && sscanf(optarg, "%u/%u", &part, &parts) == 2 && parts)
			continue;
		else if (opt == 'd')
			delay_ms = atoi(optarg);
		else if (opt == 'f')
			want_file(optarg);
		else if (opt == 'l')
			list = true;
		else
			exit(2);
	}
	for (; optind < argc; optind++)
		want(argv[optind]);
	if (wanted)
		qsort(wanted, nwanted, sizeof *wanted, by_name);
}

static unsigned hash(const char *s)
{
	unsigned h = 2166136261u;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 16777619u;
	return h ^ h >> 15;
}

static bool is_wanted(const char *name)
{
	return !wanted || bsearch(&name, wanted, nwanted, sizeof *wanted, by_name);
}

bool cases_take(const char *name)
{
	if (hash(name) % parts != part || !is_wanted(name))
		return false;
	if (list)
		puts(name);
	return !list;
}
