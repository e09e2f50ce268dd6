/*
 * rows: the workloads of `scripts/bench --sim`.
 *
 * Each is made for a number of CPUs, and has an ideal: the time that its computing takes on so many, and its
 * waits.  Each says for its wake-ups from when on a thread could have run (the call that woke it, the time of a
 * timer), and counts how much later it did.
 *
 * Must never: depend on anything but its parameters; read a clock other than rows_now().
 */
#include "tests/sim/rows/rows.h"
#ifndef ROWS_REAL
#include "runtime/os/os.h"
#endif

#include <stdlib.h>
#include <string.h>

enum { MOST = 128 * 16 };

/* ---- samples --------------------------------------------------------------------------------- */

enum { SAMPLES = 1 << 20 };
static uint32_t samples[SAMPLES];
static _Atomic unsigned nsamples;

static void late(uint64_t since)
{
	uint64_t t = rows_now(), ns = t > since ? t - since : 0;
	unsigned i = __atomic_fetch_add((unsigned *)&nsamples, 1, __ATOMIC_RELAXED);

	if (i < SAMPLES)
		samples[i] = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

static int by_size(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* ---- threads --------------------------------------------------------------------------------- */

static struct thread *threads[MOST];
static unsigned nthreads;

static void start(void (*fn)(void *), unsigned i)
{
	if (nthreads == MOST)
		rows_fail("too many threads");
	threads[nthreads++] = go(fn, (void *)(uintptr_t)i);
}

static void join_all(void)
{
	for (unsigned i = 0; i < nthreads; i++)
		join(threads[i]);
	nthreads = 0;
}

static unsigned of(unsigned cpus, unsigned part)
{
	return cpus / part ? cpus / part : 1;
}

/* ---- ping-pong: a pair for two CPUs, 1 us in each turn --------------------------------------- */

enum { TURN = 1000 };
static struct pair {
	struct mutex m;
	struct cond c[2];
	unsigned turn, rounds;
	uint64_t since;
} *pairs;

static void player(void *arg)
{
	unsigned i = (unsigned)(uintptr_t)arg, me = i % 2;
	struct pair *p = &pairs[i / 2];

	for (unsigned k = 0; k < p->rounds; k++) {
		mutex_lock(&p->m);
		if (p->turn % 2 != me) {
			while (p->turn % 2 != me)
				cond_wait(&p->c[me], &p->m, 0);
			late(p->since);
		}
		compute(TURN);
		p->turn++;
		p->since = rows_now();
		mutex_unlock(&p->m);
		cond_signal(&p->c[!me], 1);
	}
}

static void pingpong(unsigned cpus, unsigned rounds)
{
	unsigned n = of(cpus, 2);

	pairs = calloc(n, sizeof(*pairs));
	for (unsigned i = 0; i < n; i++) {
		mutex_init(&pairs[i].m);
		cond_init(&pairs[i].c[0]);
		cond_init(&pairs[i].c[1]);
		pairs[i].rounds = rounds;
	}
	for (unsigned i = 0; i < 2 * n; i++)
		start(player, i);
	join_all();
	free(pairs);
}

static uint64_t pingpong_ideal(unsigned cpus, unsigned rounds)
{
	(void)cpus;
	return 2ULL * rounds * TURN;
}

/* ---- a convoy: two threads for each CPU at one mutex, 1 us in it and 4 outside --------------- */

enum { INSIDE = 1000, OUTSIDE = 4000 };
static struct {
	struct mutex m;
	uint64_t freed;
	unsigned inside;
	unsigned rounds;
} convoy_;

static void member(void *arg)
{
	(void)arg;
	for (unsigned k = 0; k < convoy_.rounds; k++) {
		uint64_t came = rows_now();

		mutex_lock(&convoy_.m);
		if (convoy_.inside++)
			rows_fail("two in the mutex");
		if (convoy_.freed > came)
			late(convoy_.freed);
		compute(INSIDE);
		convoy_.inside--;
		convoy_.freed = rows_now();
		mutex_unlock(&convoy_.m);
		compute(OUTSIDE);
	}
}

/* All together as many as there is time for in the mutex. */
static unsigned passes(unsigned cpus, unsigned rounds)
{
	return rounds * (cpus < 5 ? cpus : 5) / (2 * cpus);
}

static void convoy(unsigned cpus, unsigned rounds)
{
	mutex_init(&convoy_.m);
	convoy_.rounds = passes(cpus, rounds);
	convoy_.freed = 0;
	for (unsigned i = 0; i < 2 * cpus; i++)
		start(member, i);
	join_all();
}

static uint64_t convoy_ideal(unsigned cpus, unsigned rounds)
{
	uint64_t n = 2ULL * cpus * passes(cpus, rounds), all = n * (INSIDE + OUTSIDE) / cpus;

	return n * INSIDE > all ? n * INSIDE : all;
}

/* ---- condvars with time-outs: four threads for each CPU, 200 us ------------------------------ */

enum { TIMEOUT = 200000, AFTER = 5000 };
static unsigned timeouts_rounds;

static void waiter(void *arg)
{
	struct mutex m;
	struct cond c;

	(void)arg;
	mutex_init(&m);
	cond_init(&c);
	for (unsigned k = 0; k < timeouts_rounds; k++) {
		uint64_t at = rows_now() + TIMEOUT;

		mutex_lock(&m);
		while (rows_now() < at)
			cond_wait(&c, &m, at - rows_now() + 1);
		late(at);
		mutex_unlock(&m);
		compute(AFTER);
	}
}

static void timeouts(unsigned cpus, unsigned rounds)
{
	timeouts_rounds = rounds;
	for (unsigned i = 0; i < 4 * cpus; i++)
		start(waiter, i);
	join_all();
}

static uint64_t timeouts_ideal(unsigned cpus, unsigned rounds)
{
	(void)cpus;
	return (uint64_t)rounds * (TIMEOUT + AFTER);
}

/* ---- fork and join: a tree of eight tasks for each CPU, 50 us each --------------------------- */

enum { TASK = 50000, TASKS = 8 };
struct branch {
	unsigned count;
	uint64_t since;
};

static void branch(void *arg)
{
	struct branch *b = arg, kids[12];
	struct thread *t[12];
	unsigned n = 0, count = b->count;

	if (b->since)
		late(b->since);
	for (; count > 1; count -= count / 2) {
		kids[n] = (struct branch){ count / 2, rows_now() };
		t[n] = go(branch, &kids[n]);
		n++;
	}
	compute(TASK);
	while (n-- > 0)
		join(t[n]);
}

static void forkjoin(unsigned cpus, unsigned rounds)
{
	for (unsigned k = 0; k < rounds; k++)
		branch(&(struct branch){ TASKS * cpus, 0 });
}

static uint64_t forkjoin_ideal(unsigned cpus, unsigned rounds)
{
	(void)cpus;
	return (uint64_t)rounds * TASKS * TASK;
}

/* ---- sleepers: 16 for each CPU, 1 ms, 5 us of work ------------------------------------------- */

enum { SLEEP = 1000000 };
static unsigned sleepers_rounds;

static void sleeper(void *arg)
{
	(void)arg;
	for (unsigned k = 0; k < sleepers_rounds; k++) {
		uint64_t at = rows_now() + SLEEP;

		nap(SLEEP);
		late(at);
		compute(AFTER);
	}
}

static void sleepers(unsigned cpus, unsigned rounds)
{
	sleepers_rounds = rounds;
	for (unsigned i = 0; i < 16 * cpus; i++)
		start(sleeper, i);
	join_all();
}

static uint64_t sleepers_ideal(unsigned cpus, unsigned rounds)
{
	(void)cpus;
	return (uint64_t)rounds * (SLEEP + AFTER);
}

/* ---- a server at half load: four connections for each CPU, 20 us for each request ------------ */

enum { SERVICE = 20000, PERIOD = 160000, CONNECTIONS = 4, REQUESTS = 256 };
static struct connection {
	struct stream s;
	uint64_t sent[REQUESTS];
	uint64_t first;
} *connections;
static unsigned server_rounds;

static void client(void *arg)
{
	unsigned i = (unsigned)(uintptr_t)arg;
	struct connection *c = &connections[i];
	uint64_t at = c->first;
	uint32_t chance = i * 2654435761u + 1;

	for (unsigned k = 0; k < server_rounds; k++) {
		uint64_t now = rows_now();

		if (now < at)
			nap(at - now);
		c->sent[k] = rows_now();
		stream_write(&c->s);
		chance = chance * 1664525 + 1013904223;
		at += PERIOD / 2 + (chance >> 8) % PERIOD;
	}
}

static void server(void *arg)
{
	struct connection *c = &connections[(uintptr_t)arg];

	for (unsigned k = 0; k < server_rounds; k++) {
		stream_read(&c->s);
		late(c->sent[k]);
		compute(SERVICE);
	}
}

static void serve(unsigned cpus, unsigned rounds)
{
	unsigned n = CONNECTIONS * cpus;
	uint64_t first = rows_now() + PERIOD;

	server_rounds = rounds < REQUESTS ? rounds : REQUESTS;
	connections = calloc(n, sizeof(*connections));
	for (unsigned i = 0; i < n; i++) {
		stream_open(&connections[i].s);
		connections[i].first = first + (uint64_t)i * PERIOD / n;
		start(server, i);
		start(client, i);
	}
	join_all();
	for (unsigned i = 0; i < n; i++)
		stream_close(&connections[i].s);
	free(connections);
}

static uint64_t serve_ideal(unsigned cpus, unsigned rounds)
{
	(void)cpus;
	return (uint64_t)(rounds < REQUESTS ? rounds : REQUESTS) * PERIOD + PERIOD + SERVICE;
}

#ifndef ROWS_REAL
/*
 * ---- a server that is asked for one thing at a time, by another process that looks for the answer, and computes 5 us
 * until it asks next
 */

enum { ASKS = 5000, ANSWERS = 5000, LOOK = 100 };
static struct {
	struct stream s;
	_Atomic uint32_t answered;
	uint64_t sent;
	unsigned rounds;
} asked;

/* On a kernel thread that the runtime does not know. */
static void asker(void *arg)
{
	(void)arg;
	for (unsigned k = 0; k < asked.rounds; k++) {
		compute(ASKS);
		asked.sent = rows_now();
		stream_write(&asked.s);
		while (asked.answered == k)
			compute(LOOK);
	}
}

static void answerer(void *arg)
{
	(void)arg;
	for (unsigned k = 0; k < asked.rounds; k++) {
		stream_read(&asked.s);
		late(asked.sent);
		compute(ANSWERS);
		asked.answered = k + 1;
	}
}

static void ask(unsigned cpus, unsigned rounds)
{
	struct native *client;

	(void)cpus;
	asked.rounds = rounds;
	asked.answered = 0;
	stream_open(&asked.s);
	start(answerer, 0);
	client = native_start(asker, NULL);
	join_all();
	native_join(client);
	stream_close(&asked.s);
}

static uint64_t ask_ideal(unsigned cpus, unsigned rounds)
{
	(void)cpus;
	return (uint64_t)rounds * (ASKS + ANSWERS);
}
#endif

/* ---- producers and consumers: a queue for four CPUs, 5 us for each item on either side ------- */

enum { ITEM = 5000, SLOTS = 64, QUEUE_CPUS = 4 };
static struct queue {
	struct mutex m;
	struct cond more, room;
	uint64_t put[SLOTS];
	unsigned n, first, rounds;
} *queues;

static void producer(void *arg)
{
	struct queue *q = &queues[(uintptr_t)arg];

	for (unsigned k = 0; k < q->rounds; k++) {
		compute(ITEM);
		mutex_lock(&q->m);
		while (q->n == SLOTS)
			cond_wait(&q->room, &q->m, 0);
		q->put[(q->first + q->n++) % SLOTS] = rows_now();
		mutex_unlock(&q->m);
		cond_signal(&q->more, 1);
	}
}

static void consumer(void *arg)
{
	struct queue *q = &queues[(uintptr_t)arg];

	for (unsigned k = 0; k < q->rounds; k++) {
		bool waited = false;
		uint64_t put;

		mutex_lock(&q->m);
		for (; !q->n; waited = true)
			cond_wait(&q->more, &q->m, 0);
		put = q->put[q->first++ % SLOTS];
		q->first %= SLOTS;
		q->n--;
		mutex_unlock(&q->m);
		if (waited)
			late(put);
		cond_signal(&q->room, 1);
		compute(ITEM);
	}
}

static void prodcons(unsigned cpus, unsigned rounds)
{
	unsigned groups = of(cpus, QUEUE_CPUS), each = of(cpus, groups);

	queues = calloc(groups, sizeof(*queues));
	for (unsigned g = 0; g < groups; g++) {
		mutex_init(&queues[g].m);
		cond_init(&queues[g].more);
		cond_init(&queues[g].room);
		queues[g].rounds = rounds;
		for (unsigned i = 0; i < each; i++) {
			start(producer, g);
			start(consumer, g);
		}
	}
	join_all();
	free(queues);
}

static uint64_t prodcons_ideal(unsigned cpus, unsigned rounds)
{
	(void)cpus;
	return 2ULL * rounds * ITEM;
}

/* ---- barriers: two threads for each CPU, 20 us in each round --------------------------------- */

enum { STRETCH = 20000 };
static struct {
	struct barrier b;
	unsigned rounds, count;
	_Atomic unsigned in;
	uint64_t last;
} meeting;

static void attendant(void *arg)
{
	(void)arg;
	for (unsigned k = 0; k < meeting.rounds; k++) {
		bool closes;

		compute(STRETCH);
		closes = (__atomic_add_fetch((unsigned *)&meeting.in, 1, __ATOMIC_SEQ_CST)) % meeting.count == 0;
		if (closes)
			__atomic_store_n(&meeting.last, rows_now(), __ATOMIC_SEQ_CST);
		barrier_wait(&meeting.b);
		if (!closes)
			late(__atomic_load_n(&meeting.last, __ATOMIC_SEQ_CST));
	}
}

static void barriers(unsigned cpus, unsigned rounds)
{
	meeting.rounds = rounds;
	meeting.count = 2 * cpus;
	meeting.in = 0;
	barrier_init(&meeting.b, meeting.count);
	for (unsigned i = 0; i < meeting.count; i++)
		start(attendant, i);
	join_all();
}

static uint64_t barriers_ideal(unsigned cpus, unsigned rounds)
{
	(void)cpus;
	return (uint64_t)rounds * 2 * STRETCH;
}

/* ---- phases: a thread for each CPU, all meet after each millisecond -------------------------- */

enum { PHASE = 1000000 };

static void worker(void *arg)
{
	(void)arg;
	for (unsigned k = 0; k < meeting.rounds; k++) {
		compute(PHASE);
		barrier_wait(&meeting.b);
	}
}

static void phases(unsigned cpus, unsigned rounds)
{
	meeting.rounds = rounds;
	barrier_init(&meeting.b, cpus);
	for (unsigned i = 0; i < cpus; i++)
		start(worker, i);
	join_all();
}

static uint64_t phases_ideal(unsigned cpus, unsigned rounds)
{
	(void)cpus;
	return (uint64_t)rounds * PHASE;
}

/* ---- spinners: one for each CPU, and as many that sleep 1 ms and want 10 us ------------------ */

enum { SPIN = 1000000, WANT = 10000 };
static unsigned spinners_rounds;

static void spinner(void *arg)
{
	(void)arg;
	for (unsigned k = 0; k < spinners_rounds; k++)
		compute(SPIN);
}

static void guest(void *arg)
{
	(void)arg;
	for (unsigned k = 0; k < spinners_rounds / 2; k++) {
		uint64_t at = rows_now() + SLEEP;

		nap(SLEEP);
		late(at);
		compute(WANT);
	}
}

static void spinners(unsigned cpus, unsigned rounds)
{
	spinners_rounds = rounds;
	for (unsigned i = 0; i < cpus; i++)
		start(spinner, i);
	for (unsigned i = 0; i < cpus; i++)
		start(guest, i);
	join_all();
}

static uint64_t spinners_ideal(unsigned cpus, unsigned rounds)
{
	(void)cpus;
	return (uint64_t)rounds * SPIN + rounds / 2 * WANT;
}

#ifndef ROWS_REAL
/* ---- visits: one that computes for each CPU, and another process that asks of as many others ------ */

enum { BETWEEN = 250000 };
static struct visit {
	struct stream s;
	uint64_t sent;
} *visits_;

/* On a kernel thread that the runtime does not know. */
static void visitor(void *arg)
{
	struct visit *v = arg;
	uint32_t never = 0, chance = (uint32_t)(v - visits_) * 2654435761u + 1;

	for (unsigned k = 0; k < 2 * spinners_rounds; k++) {
		chance = chance * 1664525 + 1013904223;
		os_futex_wait(&never, 0, rows_now() + BETWEEN / 2 + (chance >> 8) % BETWEEN);
		v->sent = rows_now();
		stream_write(&v->s);
	}
}

static void host(void *arg)
{
	struct visit *v = &visits_[(uintptr_t)arg];

	for (unsigned k = 0; k < 2 * spinners_rounds; k++) {
		stream_read(&v->s);
		late(v->sent);
		compute(WANT);
	}
}

static void visits(unsigned cpus, unsigned rounds)
{
	struct native *outside[MOST];

	spinners_rounds = rounds;
	visits_ = calloc(cpus, sizeof(*visits_));
	for (unsigned i = 0; i < cpus; i++) {
		stream_open(&visits_[i].s);
		start(host, i);
		start(spinner, i);
	}
	for (unsigned i = 0; i < cpus; i++)
		outside[i] = native_start(visitor, &visits_[i]);
	join_all();
	for (unsigned i = 0; i < cpus; i++) {
		native_join(outside[i]);
		stream_close(&visits_[i].s);
	}
	free(visits_);
}

static uint64_t visits_ideal(unsigned cpus, unsigned rounds)
{
	(void)cpus;
	return (uint64_t)rounds * SPIN + 2 * rounds * WANT;
}
#endif

/* ---- alone: one thread computes, and as many as there are other CPUs have just ended ------------ */

enum { CROWD = 200000 };
static unsigned alone_rounds;

static void of_a_crowd(void *arg)
{
	(void)arg;
	compute(CROWD);
}

static void loner(void *arg)
{
	(void)arg;
	for (unsigned k = 0; k < alone_rounds; k++)
		compute(SPIN);
}

static void alone(unsigned cpus, unsigned rounds)
{
	alone_rounds = rounds;
	start(loner, 0);
	for (unsigned i = 1; i < cpus; i++)
		start(of_a_crowd, i);
	join_all();
}

static uint64_t alone_ideal(unsigned cpus, unsigned rounds)
{
	(void)cpus;
	return (uint64_t)rounds * SPIN;
}

/* ---- duets: a leader for two CPUs wakes its follower and computes 200 us; so does that one ------- */

enum { PART = 200000, REST = 50000 };
static struct duet {
	struct mutex m;
	struct cond go, done;
	unsigned asked, served, rounds;
	uint64_t since;
} *duets_;

static void leader(void *arg)
{
	struct duet *d = &duets_[(uintptr_t)arg];

	for (unsigned k = 0; k < d->rounds; k++) {
		nap(REST);
		mutex_lock(&d->m);
		d->asked++;
		d->since = rows_now();
		mutex_unlock(&d->m);
		cond_signal(&d->go, 1);
		compute(PART);
		mutex_lock(&d->m);
		while (d->served != d->asked)
			cond_wait(&d->done, &d->m, 0);
		mutex_unlock(&d->m);
	}
}

static void follower(void *arg)
{
	struct duet *d = &duets_[(uintptr_t)arg];

	for (unsigned k = 0; k < d->rounds; k++) {
		mutex_lock(&d->m);
		while (d->served == d->asked)
			cond_wait(&d->go, &d->m, 0);
		late(d->since);
		mutex_unlock(&d->m);
		compute(PART);
		mutex_lock(&d->m);
		d->served++;
		mutex_unlock(&d->m);
		cond_signal(&d->done, 1);
	}
}

static void duets(unsigned cpus, unsigned rounds)
{
	unsigned n = of(cpus, 2);

	duets_ = calloc(n, sizeof(*duets_));
	for (unsigned i = 0; i < n; i++) {
		mutex_init(&duets_[i].m);
		cond_init(&duets_[i].go);
		cond_init(&duets_[i].done);
		duets_[i].rounds = rounds;
	}
	for (unsigned i = 0; i < n; i++) {
		start(leader, i);
		start(follower, i);
	}
	join_all();
	free(duets_);
}

static uint64_t duets_ideal(unsigned cpus, unsigned rounds)
{
	return rounds * (REST + (uint64_t)PART * (cpus < 2 ? 2 : 1));
}

/* ---- gifts: a leader for two CPUs leaves a mutex, signals with one held, makes a thread; and computes on */

static struct gift {
	struct mutex held, m;
	struct cond all;
	struct barrier b;
	unsigned called, rounds;
	uint64_t since;
} *gifts_;

static void given(void *arg)
{
	struct gift *g = arg;

	late(g->since);
	compute(PART);
}

static void giver(void *arg)
{
	struct gift *g = &gifts_[(uintptr_t)arg];

	for (unsigned k = 0; k < g->rounds; k++) {
		struct thread *t;

		mutex_lock(&g->held);
		barrier_wait(&g->b); /* the taker comes to the mutex */
		compute(PART);
		g->since = rows_now();
		mutex_unlock(&g->held);
		compute(PART);
		barrier_wait(&g->b); /* and to the condvar */
		compute(PART);
		mutex_lock(&g->m);
		g->called++;
		g->since = rows_now();
		cond_signal(&g->all, 2);
		mutex_unlock(&g->m);
		compute(PART);
		g->since = rows_now();
		t = go(given, g);
		compute(PART);
		join(t);
	}
}

static void taker(void *arg)
{
	struct gift *g = &gifts_[(uintptr_t)arg];

	for (unsigned k = 0; k < g->rounds; k++) {
		barrier_wait(&g->b);
		mutex_lock(&g->held);
		late(g->since);
		mutex_unlock(&g->held);
		compute(PART);
		mutex_lock(&g->m);
		barrier_wait(&g->b);
		while (g->called == k)
			cond_wait(&g->all, &g->m, 0);
		late(g->since);
		mutex_unlock(&g->m);
		compute(PART);
	}
}

static void gifts(unsigned cpus, unsigned rounds)
{
	unsigned n = of(cpus, 2);

	gifts_ = calloc(n, sizeof(*gifts_));
	for (unsigned i = 0; i < n; i++) {
		mutex_init(&gifts_[i].held);
		mutex_init(&gifts_[i].m);
		cond_init(&gifts_[i].all);
		barrier_init(&gifts_[i].b, 2);
		gifts_[i].rounds = rounds;
	}
	for (unsigned i = 0; i < n; i++) {
		start(giver, i);
		start(taker, i);
	}
	join_all();
	free(gifts_);
}

static uint64_t gifts_ideal(unsigned cpus, unsigned rounds)
{
	return rounds * (uint64_t)PART * (cpus < 2 ? 8 : 5);
}

/* ---- all ------------------------------------------------------------------------------------- */

const struct row rows[] = {
	{ "pingpong", "a pair for 2 CPUs hands 1 us of work over", pingpong, pingpong_ideal, 4000 },
	{ "convoy", "2 threads a CPU at one mutex, 1 us in it, 4 us outside", convoy, convoy_ideal, 4000 },
	{ "timeouts", "4 threads a CPU in condvars that time out after 200 us", timeouts, timeouts_ideal, 80 },
	{ "forkjoin", "a tree of 8 tasks a CPU, 50 us each", forkjoin, forkjoin_ideal, 40 },
	{ "sleepers", "16 threads a CPU sleep 1 ms and compute 5 us", sleepers, sleepers_ideal, 20 },
	{ "server", "4 connections a CPU, half load by requests of 20 us", serve, serve_ideal, 100 },
#ifndef ROWS_REAL
	{ "asked", "another process asks for one thing at a time, 5 us on either side, and does not sleep",
	  ask, ask_ideal, 2000 },
#endif
	{ "prodcons", "producers and consumers of 5 us at a queue for 4 CPUs", prodcons, prodcons_ideal, 1600 },
	{ "barriers", "2 threads a CPU meet after 20 us", barriers, barriers_ideal, 400 },
	{ "phases", "a thread a CPU, all meet after each millisecond", phases, phases_ideal, 40 },
	{ "spinners", "a spinner a CPU, and as many sleepers of 1 ms", spinners, spinners_ideal, 40 },
#ifndef ROWS_REAL
	{ "visits", "a spinner a CPU, and another process that asks as many others each 250 us",
	  visits, visits_ideal, 40 },
#endif
	{ "alone", "a thread computes, one for each other CPU did for 200 us", alone, alone_ideal, 100 },
	{ "duets", "for 2 CPUs a thread wakes another, and both compute 200 us", duets, duets_ideal, 100 },
	{ "gifts", "the same, by a mutex, a condvar with its mutex, and a new thread", gifts, gifts_ideal, 60 },
	{ NULL, NULL, NULL, NULL, 0 },
};

const struct row *row_of(const char *name)
{
	for (const struct row *r = rows; r->name; r++)
		if (!strcmp(r->name, name))
			return r;
	return NULL;
}

void row_measure(const struct row *r, unsigned cpus, unsigned scale, void (*settle)(void), void (*begun)(void),
		 void (*over)(void), struct rowtimes *out)
{
	unsigned rounds = r->rounds / scale > 4 ? r->rounds / scale : 4;
	uint64_t began;

	r->run(cpus, rounds / 4);
	nsamples = 0;
	settle();
	nap(SETTLE);
	begun();
	began = rows_now();
	r->run(cpus, rounds);
	out->ns = rows_now() - began;
	over();
	out->ideal = r->ideal(cpus, rounds);
	out->samples = nsamples < SAMPLES ? nsamples : SAMPLES;
	qsort(samples, out->samples, sizeof(*samples), by_size);
	out->p50 = out->samples ? samples[out->samples / 2] : 0;
	out->p99 = out->samples ? samples[(uint64_t)out->samples * 99 / 100] : 0;
}
