/*
 * pprof: gathers samples and writes them as profile.proto says (pprof.h).
 *
 * Must never: look at a process.
 */
#include "ctl/pprof.h"

#include "ctl/protobuf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

enum { BUCKETS = 1 << 14, FIRST_ROOM = 64 };

/* The fields of profile.proto. */
enum {
	PROFILE_TYPE = 1, PROFILE_SAMPLE, PROFILE_MAPPING, PROFILE_LOCATION, PROFILE_FUNCTION, PROFILE_STRING,
	PROFILE_TIME = 9, PROFILE_DURATION, PROFILE_PERIOD_TYPE, PROFILE_PERIOD,
	TYPE_TYPE = 1, TYPE_UNIT,
	SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL,
	LABEL_KEY = 1, LABEL_STR,
	MAPPING_ID = 1, MAPPING_START, MAPPING_LIMIT, MAPPING_OFFSET, MAPPING_FILE, MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILES, MAPPING_HAS_LINES,
	LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE,
	LINE_FUNCTION = 1, LINE_LINE,
	FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM, FUNCTION_FILE,
};

/* Things that are known again by their bytes, numbered from 1 on. */
struct table {
	struct thing {
		struct thing *next;
		size_t n;
		uint64_t id;
		int64_t value[PPROF_VALUES];
		uint64_t key, label;    /* numbers of strings */
		uint64_t bytes[];
	} *bucket[BUCKETS], **at;
	size_t n, room;
};

struct pprof {
	struct pprof_type type[PPROF_VALUES];
	int nvalues;
	struct table samples, strings, places, functions;
	struct pprof_map *map;
	size_t nmaps, roommaps;
	bool failed;
};

/* Where it is or was put; NULL: no memory. */
static struct thing *find(struct pprof *pp, struct table *t, const void *from, size_t n)
{
	const unsigned char *c = from;
	uint64_t h = 14695981039346656037ULL;
	struct thing **b, *x;

	for (size_t i = 0; i < n; i++)
		h = (h ^ c[i]) * 1099511628211ULL;
	b = &t->bucket[(h ^ h >> 32) % BUCKETS];
	for (x = *b; x; x = x->next)
		if (x->n == n && memcmp(x->bytes, from, n) == 0)
			return x;
	if (t->n == t->room) {
		struct thing **more = realloc(t->at, (t->room * 2 + FIRST_ROOM) * sizeof(*more));

		if (!more)
			return pp->failed = true, NULL;
		t->at = more;
		t->room = t->room * 2 + FIRST_ROOM;
	}
	x = calloc(1, sizeof(*x) + n);
	if (!x)
		return pp->failed = true, NULL;
	memcpy(x->bytes, from, n);
	x->n = n;
	x->next = *b;
	*b = x;
	t->at[t->n++] = x;
	x->id = t->n;
	return x;
}

/* The first, which the format wants to be empty, has number 0. */
static uint64_t string(struct pprof *pp, const char *s)
{
	const struct thing *x = find(pp, &pp->strings, s, strlen(s));

	return x ? x->id - 1 : 0;
}

struct pprof *pprof_open(const struct pprof_type *types, int nvalues)
{
	struct pprof *pp = calloc(1, sizeof(*pp));

	if (!pp)
		return NULL;
	memcpy(pp->type, types, (size_t)nvalues * sizeof(*types));
	pp->nvalues = nvalues;
	string(pp, "");
	return pp;
}

static void empty(struct table *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->at[i]);
	free(t->at);
}

void pprof_close(struct pprof *pp)
{
	if (!pp)
		return;
	empty(&pp->samples);
	empty(&pp->strings);
	empty(&pp->places);
	empty(&pp->functions);
	free(pp->map);
	free(pp);
}

void pprof_add(struct pprof *pp, const uint64_t *pc, int n, const char *key, const char *label, const int64_t *value)
{
	uint64_t what[2 + 64] = { label ? string(pp, key) : 0, label ? string(pp, label) : 0 };
	struct thing *x;

	n = n < 64 ? n : 64;
	memcpy(what + 2, pc, (size_t)n * sizeof(*pc));
	x = find(pp, &pp->samples, what, (2 + (size_t)n) * sizeof(*what));
	for (int i = 0; x && i < pp->nvalues; i++)
		x->value[i] += value[i];
}

void pprof_map(struct pprof *pp, const struct pprof_map *map)
{
	if (pp->nmaps == pp->roommaps) {
		struct pprof_map *more = realloc(pp->map, (pp->roommaps * 2 + FIRST_ROOM) * sizeof(*more));

		if (!more) {
			pp->failed = true;
			return;
		}
		pp->map = more;
		pp->roommaps = pp->roommaps * 2 + FIRST_ROOM;
	}
	pp->map[pp->nmaps++] = *map;
}

size_t pprof_samples(const struct pprof *pp)
{
	return pp->samples.n;
}

int64_t pprof_sum(const struct pprof *pp, int i)
{
	int64_t sum = 0;

	for (size_t k = 0; k < pp->samples.n; k++)
		sum += pp->samples.at[k]->value[i];
	return sum;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void put_type(struct pprof *pp, struct pb *b, unsigned field, const struct pprof_type *t)
{
	size_t at = pb_begin(b, field);

	pb_number(b, TYPE_TYPE, string(pp, t->type));
	pb_number(b, TYPE_UNIT, string(pp, t->unit));
	pb_end(b, at);
}

static void put_sample(struct pprof *pp, struct pb *b, const struct thing *x)
{
	size_t at = pb_begin(b, PROFILE_SAMPLE), in;
	uint64_t id[64], value[PPROF_VALUES];
	size_t n = x->n / sizeof(uint64_t) - 2;

	for (size_t i = 0; i < n; i++) {
		const struct thing *place = find(pp, &pp->places, &x->bytes[2 + i], sizeof(uint64_t));

		id[i] = place ? place->id : 0;
	}
	for (int i = 0; i < pp->nvalues; i++)
		value[i] = (uint64_t)x->value[i];
	pb_packed(b, SAMPLE_LOCATION, id, n);
	pb_packed(b, SAMPLE_VALUE, value, (size_t)pp->nvalues);
	if (x->bytes[1]) {
		in = pb_begin(b, SAMPLE_LABEL);
		pb_number(b, LABEL_KEY, x->bytes[0]);
		pb_number(b, LABEL_STR, x->bytes[1]);
		pb_end(b, in);
	}
	pb_end(b, at);
}

static uint64_t map_of(const struct pprof *pp, uint64_t pc)
{
	for (size_t i = 0; i < pp->nmaps; i++)
		if (pc > pp->map[i].start && pc <= pp->map[i].end)
			return i + 1;
	return 0;
}

static void put_place(struct pprof *pp, struct pb *b, const struct thing *x, const struct pprof_place *p)
{
	size_t at = pb_begin(b, PROFILE_LOCATION), in;
	uint64_t what[2] = { string(pp, p->function), string(pp, p->file) };
	const struct thing *function = find(pp, &pp->functions, what, sizeof(what));

	pb_number(b, LOCATION_ID, x->id);
	pb_number(b, LOCATION_MAPPING, map_of(pp, x->bytes[0]));
	pb_number(b, LOCATION_ADDRESS, x->bytes[0] - 1);
	in = pb_begin(b, LOCATION_LINE);
	pb_number(b, LINE_FUNCTION, function ? function->id : 0);
	pb_number(b, LINE_LINE, (uint64_t)p->line);
	pb_end(b, in);
	pb_end(b, at);
}

static void put_functions(struct pprof *pp, struct pb *b)
{
	for (size_t i = 0; i < pp->functions.n; i++) {
		const struct thing *x = pp->functions.at[i];
		size_t at = pb_begin(b, PROFILE_FUNCTION);

		pb_number(b, FUNCTION_ID, x->id);
		pb_number(b, FUNCTION_NAME, x->bytes[0]);
		pb_number(b, FUNCTION_SYSTEM, x->bytes[0]);
		pb_number(b, FUNCTION_FILE, x->bytes[1]);
		pb_end(b, at);
	}
}

static void put_maps(struct pprof *pp, struct pb *b)
{
	for (size_t i = 0; i < pp->nmaps; i++) {
		size_t at = pb_begin(b, PROFILE_MAPPING);

		pb_number(b, MAPPING_ID, i + 1);
		pb_number(b, MAPPING_START, pp->map[i].start);
		pb_number(b, MAPPING_LIMIT, pp->map[i].end);
		pb_number(b, MAPPING_OFFSET, pp->map[i].offset);
		pb_number(b, MAPPING_FILE, string(pp, pp->map[i].path));
		pb_number(b, MAPPING_HAS_FUNCTIONS, 1);
		pb_number(b, MAPPING_HAS_FILES, 1);
		pb_number(b, MAPPING_HAS_LINES, 1);
		pb_end(b, at);
	}
}

static bool to_file(const struct pb *b, const char *path)
{
#ifdef HAVE_ZLIB
	gzFile to = gzopen(path, "wbe");
	bool good;

	if (!to)
		return false;
	good = gzwrite(to, b->at, (unsigned)b->n) == (int)b->n;
	return gzclose(to) == Z_OK && good;
#else
	FILE *to = fopen(path, "we");
	bool good;

	if (!to)
		return false;
	good = fwrite(b->at, 1, b->n, to) == b->n;
	return fclose(to) == 0 && good;
#endif
}

bool pprof_write(struct pprof *pp, const char *path, int64_t start, int64_t duration, int64_t period,
		 void (*place)(void *arg, uint64_t pc, struct pprof_place *at), void *arg)
{
	struct pb b = { 0 };
	bool good;

	for (int i = 0; i < pp->nvalues; i++)
		put_type(pp, &b, PROFILE_TYPE, &pp->type[i]);
	for (size_t i = 0; i < pp->samples.n; i++)
		put_sample(pp, &b, pp->samples.at[i]);
	for (size_t i = 0; i < pp->places.n; i++) {
		struct pprof_place p = { 0 };

		place(arg, pp->places.at[i]->bytes[0], &p);
		put_place(pp, &b, pp->places.at[i], &p);
	}
	put_functions(pp, &b);
	put_maps(pp, &b);
	pb_number(&b, PROFILE_TIME, (uint64_t)start);
	pb_number(&b, PROFILE_DURATION, (uint64_t)duration);
	if (period) {
		put_type(pp, &b, PROFILE_PERIOD_TYPE, &pp->type[pp->nvalues - 1]);
		pb_number(&b, PROFILE_PERIOD, (uint64_t)period);
	}
	for (size_t i = 0; i < pp->strings.n; i++)
		pb_bytes(&b, PROFILE_STRING, pp->strings.at[i]->bytes, pp->strings.at[i]->n);
	errno = ENOMEM;
	good = !b.failed && !pp->failed && to_file(&b, path);
	pb_free(&b);
	return good;
}
