/*
 * pprof: a profile as `go tool pprof` reads it: stacks, what they cost, and where each call is.
 *
 * Stacks are addresses, innermost first; each is a return address, so the first, where an instruction is to be
 * executed, is given as that and 1.  Samples of one stack and one label are one.
 */
#ifndef WEFT_CTL_PPROF_H
#define WEFT_CTL_PPROF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PPROF_VALUES = 2, PPROF_TEXT = 512 };

struct pprof_type {
	const char *type, *unit;
};

struct pprof_place {
	char function[PPROF_TEXT];  /* as the symbol is called */
	char file[PPROF_TEXT];
	int line;
};

struct pprof_map {
	uint64_t start, end, offset;
	char path[PPROF_TEXT];
};

struct pprof;

/* nvalues types, PPROF_VALUES at most; NULL: no memory. */
struct pprof *pprof_open(const struct pprof_type *types, int nvalues);
void pprof_close(struct pprof *pp);
/* label: what pprof shows as key:label, or NULL.  What cannot be kept is counted, and pprof_write() fails. */
void pprof_add(struct pprof *pp, const uint64_t *pc, int n, const char *key, const char *label, const int64_t *value);
/* Of code of a file; the first is the program's own. */
void pprof_map(struct pprof *pp, const struct pprof_map *map);
size_t pprof_samples(const struct pprof *pp);
/* The sum of the values i. */
int64_t pprof_sum(const struct pprof *pp, int i);
/*
 * To a file, compressed where zlib is there.  period: of the last type, between two samples; 0: each is told.
 * place() says what a return address is in.  False, with errno.
 */
bool pprof_write(struct pprof *pp, const char *path, int64_t start, int64_t duration, int64_t period,
		 void (*place)(void *arg, uint64_t pc, struct pprof_place *at), void *arg);

#endif
