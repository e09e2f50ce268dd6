/*
 * dumps: `weftctl dump`: every G with its stack, Gs that stand at one place folded into one entry.
 *
 * Two Gs are folded if they are in one state, for one reason, with one stack.  What they wait for may differ: then the
 * entry says how many objects there are.  With -x each G is an entry, and Ps and Ms are listed.
 *
 * Must never: hold all stacks of a million Gs (they are folded as they come).
 */
#include "ctl/object.h"
#include "ctl/stack.h"
#include "ctl/verbs.h"

#include <stdlib.h>
#include <string.h>

enum { NAMES = 3, BUCKETS = 4096 };

/* Gs that stand at one place. */
struct entry {
	struct entry *next;         /* of the bucket */
	struct proc_g first;
	struct object object;       /* of the first */
	bool have;                  /* object is filled in */
	unsigned long count, objects; /* objects: changes of the object, at least */
	uint64_t lastobject, longest; /* ns */
	char names[NAMES][PROC_NAME];
	int nnames, nown;           /* nown: kernel threads that are waited in */
	int depth;
	uint64_t pc[];
};

struct dump {
	struct proc *p;
	struct stacks *s;
	struct gindex *x;
	uint64_t now;
	bool each;
	struct entry *bucket[BUCKETS], **all;
	size_t n, room;
};

static size_t hash_of(const struct proc_g *g, const uint64_t *pc, int depth)
{
	uint64_t h = g->status * 31 + g->waitreason;

	for (int i = 0; i < depth; i++)
		h = (h ^ pc[i]) * 0x9e3779b97f4a7c15ULL;
	return (h >> 32) % BUCKETS;
}

static struct entry *entry_for(struct dump *d, const struct proc_g *g, const uint64_t *pc, int depth)
{
	struct entry **b = &d->bucket[hash_of(g, pc, depth)], *e;

	for (e = d->each ? NULL : *b; e; e = e->next)
		if (e->first.status == g->status && e->first.label == g->label && e->first.waitreason == g->waitreason && e->depth == depth &&
		    memcmp(e->pc, pc, (size_t)depth * sizeof(*pc)) == 0)
			return e;
	if (d->n == d->room) {
		size_t room = d->room * 2 + 64;
		struct entry **more = realloc(d->all, room * sizeof(*more));

		if (!more)
			return NULL;
		d->all = more;
		d->room = room;
	}
	e = calloc(1, sizeof(*e) + (size_t)depth * sizeof(*pc));
	if (!e)
		return NULL;
	e->first = *g;
	e->depth = depth;
	memcpy(e->pc, pc, (size_t)depth * sizeof(*pc));
	e->next = *b;
	*b = e;
	d->all[d->n++] = e;
	return e;
}

static void add_name(struct entry *e, const char *name)
{
	for (int i = 0; i < e->nnames; i++)
		if (strcmp(e->names[i], name) == 0)
			return;
	if (e->nnames < NAMES)
		memcpy(e->names[e->nnames], name, PROC_NAME);
	e->nnames += e->nnames <= NAMES;
}

static void add(struct dump *d, const struct proc_g *seen)
{
	struct proc_g now = *seen, *g = &now;
	uint64_t pc[STACK_DEPTH];
	int depth = stacks_fresh(d->s, g, pc, STACK_DEPTH);
	struct entry *e = depth >= 0 ? entry_for(d, g, pc, depth) : NULL;

	if (!e)
		return;
	if (e->count++ == 0)
		e->have = object_of(d->p, d->x, g, &e->object);
	if (e->objects == 0 || e->lastobject != g->waitaddr)
		e->objects++;
	e->lastobject = g->waitaddr;
	if (g->waitsince && g->waitsince < d->now && d->now - g->waitsince > e->longest)
		e->longest = d->now - g->waitsince;
	add_name(e, g->name);
}

/* ---- printing -------------------------------------------------------------------------------- */

static void print_time(uint64_t ns)
{
	if (ns >= 100 * 1000000000ULL)
		printf("%lu s", ns / 1000000000);
	else if (ns >= 1000000000)
		printf("%.1f s", (double)ns / 1e9);
	else
		printf("%.3g ms", (double)ns / 1e6);
}

/* The G that holds the object, and where it is. */
static void print_owner(struct dump *d, uint32_t owner)
{
	const struct proc_g *g = gindex_by_tid(d->x, owner);
	char text[600] = "";
	uint64_t pc[1];

	if (!g) {
		printf(", held by thread %u, which is not weft's or has ended", owner);
		return;
	}
	if (stacks_of(d->s, g, pc, 1))
		stacks_text(d->s, pc[0], true, text, sizeof(text));
	printf(", held by G%lu \"%s\"", g->goid, g->name);
	if (g->status == GWAITING)
		printf(", which waits (%s)", proc_reason(g->waitreason));
	else
		printf(", which is %s", g->status == GSYSCALL ? "in a system call" : proc_status(g->status));
	if (text[0])
		printf(" in %s", text);
}

static void print_object(struct dump *d, struct entry *e)
{
	char name[160];

	if (e->objects > 1) {
		printf(": several objects, the first %s", e->object.text);
		return;
	}
	printf(": %s", e->object.text);
	stacks_variable(d->s, e->object.addr, name, sizeof(name));
	if (name[0])
		printf(" (%s)", name);
	if (e->object.owner)
		print_owner(d, e->object.owner);
}

static void print_m(struct dump *d, uint64_t addr, const char *how)
{
	struct proc_m m;

	if (addr && proc_m_at(d->p, addr, &m))
		printf(", %s M%d (kernel thread %d)", how, m.id, proc_tid(d->p, m.ostid));
}

static void print_who(struct dump *d, struct entry *e)
{
	char label[64];

	proc_string(d->p, e->first.label, label, sizeof(label));
	if (label[0])
		printf("[%s] ", label);
	if (e->count == 1) {
		printf("G%lu \"%s\", id %u", e->first.goid, e->first.name, e->first.tid);
		return;
	}
	printf("%lu threads (G%lu and others;", e->count, e->first.goid);
	for (int i = 0; i < e->nnames && i < NAMES; i++)
		printf(" \"%s\"", e->names[i]);
	printf("%s)", e->nnames > NAMES ? " ..." : "");
}

static void print_entry(struct dump *d, struct entry *e)
{
	char text[600];

	print_who(d, e);
	if (e->first.status == GWAITING) {
		printf(": waiting, %s", proc_reason(e->first.waitreason));
		if (e->have)
			print_object(d, e);
	} else {
		printf(": %s", e->first.status == GSYSCALL ? "in a system call" : proc_status(e->first.status));
	}
	if (e->longest) {
		printf(", for ");
		print_time(e->longest);
		if (e->count > 1)
			printf(" at most");
	}
	if (e->count == 1) {
		print_m(d, e->first.m, "on");
		print_m(d, e->first.lockedm, "locked to");
	}
	putchar('\n');
	for (int i = 0; i < e->depth; i++) {
		stacks_text(d->s, e->pc[i], i == 0 && e->first.status == GRUNNING, text, sizeof(text));
		printf("    %s\n", text);
	}
	if (e->depth == 0)
		printf("    (its stack cannot be read)\n");
	putchar('\n');
}

static bool print_p(const struct proc_p *q, void *arg)
{
	static const char *const text[] = { "idle", "running", "in a system call", "stopped", "dead", "running" };
	struct dump *d = arg;
	struct proc_m m;

	printf("P%d: %s, %u queued, %u timers", q->id, q->status < 6 ? text[q->status] : "?", q->queued, q->ntimers);
	if (q->m && proc_m_at(d->p, q->m, &m))
		printf(", M%d", m.id);
	putchar('\n');
	return true;
}

static bool print_an_m(const struct proc_m *m, void *arg)
{
	struct dump *d = arg;
	const struct proc_g *g = gindex_by_addr(d->x, m->curg);

	printf("M%d: kernel thread %d", m->id, proc_tid(d->p, m->ostid));
	if (m->p)
		printf(", P%d", (int)proc_field(d->p, m->p, LF_p_id));
	if (g)
		printf(", G%lu", g->goid);
	printf("%s%s\n", m->spinning ? ", spinning" : "", m->p || m->curg ? "" : ", idle");
	return true;
}

static int most_first(const void *a, const void *b)
{
	const struct entry *x = *(struct entry *const *)a, *y = *(struct entry *const *)b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return (x->first.goid > y->first.goid) - (x->first.goid < y->first.goid);
}

static void print(struct dump *d)
{
	printf("process %d, weft %s: %zu threads, %d Ps (%d idle), %d Ms (%d idle), %d queued globally\n", d->p->pid,
	       d->p->version, gindex_count(d->x), proc_gomaxprocs(d->p), (int)proc_sched(d->p, LF_sched_npidle),
	       (int)proc_sched(d->p, LF_sched_nm), (int)proc_sched(d->p, LF_sched_nmidle),
	       (int)proc_sched(d->p, LF_sched_runqsize));
	if (d->each) {
		proc_each_p(d->p, print_p, d);
		proc_each_m(d->p, print_an_m, d);
	}
	putchar('\n');
#ifndef HAVE_LIBDW
	puts("(no stacks: this weftctl was built without libdw)\n");
#endif
	cycles_print(d->p, d->x, d->s);
	if (!d->each)
		qsort(d->all, d->n, sizeof(*d->all), most_first);
	for (size_t i = 0; i < d->n; i++)
		print_entry(d, d->all[i]);
}

static int dump(struct proc *p, bool each)
{
	struct dump d = { .p = p, .each = each, .now = now_ns() };
	int status = EXIT_REFUSED;

	d.x = gindex_make(p);
	d.s = stacks_open(p);
	if (!d.x || !d.s) {
		say("no memory");
	} else {
		stacks_stop(d.s);
		for (size_t i = 0; i < gindex_count(d.x); i++)
			add(&d, gindex_at(d.x, i));
		if (gindex_count(d.x) == 0 && proc_gone(p))
			say("%d: has ended", p->pid);
		else {
			print(&d);
			status = written();
		}
	}
	for (size_t i = 0; i < d.n; i++)
		free(d.all[i]);
	free(d.all);
	stacks_close(d.s);
	gindex_free(d.x);
	return status;
}

int verb_dump(int argc, char **argv)
{
	bool each = argc > 1 && strcmp(argv[1], "-x") == 0;
	int status, at = each ? 2 : 1;
	struct proc *p;

	if (argc == 3 && !each && strcmp(argv[2], "-x") == 0)
		each = true, argc = 2;
	if (argc != at + 1)
		return usage_of("dump");
	p = open_scheduled(argv[at], &status);
	if (!p)
		return status;
	status = dump(p, each);
	proc_close(p);
	return status;
}
