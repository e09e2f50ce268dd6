/*
 * top: `weftctl top`: a process's threads, live, as top(1): how many do what, and where, the same ones folded.
 *
 * A row is a place (the innermost call of the program's own) and a state, with the number of threads there.  Of many
 * that wait for one reason a part is looked at each time, and the numbers are scaled: the load on this command is
 * bounded, few of a kind are seen all the same, and the process itself pays for nothing but the stops of those that
 * compute (stack.h).
 *
 * Must never: be drawn where no terminal is; leave the terminal as it draws.
 */
#include "ctl/counts.h"
#include "ctl/latency.h"
#include "ctl/stack.h"
#include "ctl/verbs.h"

#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#if defined(HAVE_NCURSES) && defined(HAVE_LIBDW)
#include <ncurses.h>

enum { LOOKED_AT = 500, TICK_MS = 1000, GLANCE_MS = 20, TEXT = 256, MORE = 64 };

struct row {
	uint64_t pc;                /* innermost, of the program's */
	uint32_t status;
	unsigned reason;
	unsigned long n;
	struct proc_g first;
};

struct top {
	struct proc *p;
	struct stacks *s;
	struct counts was, now;
	bool timed;                 /* latency is looked at: each look traces the process for GLANCE_MS */
	struct latency latency;
	struct row *row;
	size_t n, room;
	unsigned long seen[NREASON], each[NREASON]; /* Gs so far; one in so many is looked at */
	size_t at;                  /* the row that is marked */
	bool running_first, open;   /* open: the marked row's whole stack is shown */
};

static bool add(const struct proc_g *seen, void *arg)
{
	struct proc_g now = *seen, *g = &now;
	struct top *t = arg;
	unsigned why = g->waitreason < NREASON ? g->waitreason : 0;
	uint64_t pc[1] = { 0 };
	struct row *r;

	if (g->status == GWAITING && t->seen[why]++ % t->each[why])
		return true;
	if (stacks_fresh(t->s, g, pc, 1) < 0)
		return true;
	for (r = t->row; r < t->row + t->n; r++)
		if (r->pc == pc[0] && r->status == g->status && (g->status != GWAITING || r->reason == g->waitreason))
			break;
	if (r == t->row + t->n) {
		if (t->n == t->room) {
			struct row *more = realloc(t->row, (t->room + MORE) * sizeof(*more));

			if (!more)
				return false;
			t->row = more;
			t->room += MORE;
			r = t->row + t->n;
		}
		*r = (struct row){ pc[0], g->status, g->waitreason, 0, *g };
		t->n++;
	}
	r->n += g->status == GWAITING ? t->each[why] : 1;
	return true;
}

static int by_number(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->n != y->n)
		return x->n < y->n ? 1 : -1;
	return (x->pc > y->pc) - (x->pc < y->pc);
}

static int running_first(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int rx = x->status == GWAITING ? 2 : x->status == GSYSCALL, ry = y->status == GWAITING ? 2 : y->status == GSYSCALL;

	return rx != ry ? rx - ry : by_number(a, b);
}

static bool look(struct top *t)
{
	t->was = t->now;
	if (!counts_take(t->p, &t->now))
		return false;
	t->n = 0;
	for (int i = 0; i < NREASON; i++) {
		t->seen[i] = 0;
		t->each[i] = t->now.reason[i] / LOOKED_AT + 1;
	}
	proc_each_g(t->p, add, t);
	qsort(t->row, t->n, sizeof(*t->row), t->running_first ? running_first : by_number);
	return true;
}

/* ---- drawing --------------------------------------------------------------------------------- */

static const char *state_of(const struct row *r)
{
	if (r->status == GWAITING)
		return proc_reason(r->reason);
	return r->status == GSYSCALL ? "in a system call" : proc_status(r->status);
}

/* Cut off at the edge. */
static void __attribute__((format(printf, 2, 3))) line(int y, const char *format, ...)
{
	char text[2 * TEXT];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	if (y < LINES)
		mvaddnstr(y, 0, text, COLS);
}

static void draw_head(struct top *t)
{
	const struct counts *was = &t->was, *c = &t->now;

	line(0, "weft top - process %d   %.1f%% CPU   %.0f runs/s   %.0f calls/s", t->p->pid,
		 counts_rate(was, c, was->cpu, c->cpu) / 1e7, counts_rate(was, c, was->runs, c->runs),
		 counts_rate(was, c, was->syscalls, c->syscalls));
	line(1, "%lu threads: %lu run, %lu ready, %lu wait, %lu in system calls", c->threads, c->running, c->runnable,
		 c->waiting, c->calls);
	line(2, "Ps %d of %d busy, %lu queued   Ms %d, %d idle, %d spinning", c->psbusy, c->ps, (unsigned long)c->queued,
		 c->ms, c->msidle, c->spinning);
	if (t->latency.n)
		line(3, "woken to running: half within %.0f us, 99 of 100 within %.0f us, all within %.0f us (%zu in %d ms)",
		     (double)t->latency.p50 / 1e3, (double)t->latency.p99 / 1e3, (double)t->latency.most / 1e3,
		     t->latency.n, GLANCE_MS);
	else if (t->timed)
		line(3, "woken to running: none in %d ms", GLANCE_MS);
	attron(A_REVERSE);
	line(4, "%-*s", COLS, " THREADS  STATE             WHERE");
	attroff(A_REVERSE);
}

static void draw_stack(struct top *t, const struct row *r)
{
	struct proc_g first = r->first;
	uint64_t pc[STACK_DEPTH];
	char text[TEXT];
	int n = stacks_fresh(t->s, &first, pc, STACK_DEPTH), y = 6;

	line(5, "%lu threads, G%lu and others: %s", r->n, (unsigned long)r->first.goid, state_of(r));
	for (int i = 0; i < n && y < LINES - 1; i++, y++) {
		stacks_text(t->s, pc[i], i == 0 && r->status == GRUNNING, text, sizeof(text));
		line(y, "    %s", text);
	}
	if (n <= 0)
		line(y, n ? "    (it has ended)" : "    (its stack cannot be read)");
}

static void draw_rows(struct top *t)
{
	int room = LINES - 6;
	size_t from = room > 0 && t->at >= (size_t)room ? t->at - (size_t)room + 1 : 0;
	char text[TEXT];

	for (size_t i = from; i < t->n && (int)(i - from) < room; i++) {
		const struct row *r = &t->row[i];

		if (r->pc)
			stacks_text(t->s, r->pc, r->status == GRUNNING, text, sizeof(text));
		else
			snprintf(text, sizeof(text), "?");
		if (i == t->at)
			attron(A_BOLD);
		line(5 + (int)(i - from), "%c%7lu  %-16.16s  %s", i == t->at ? '>' : ' ', r->n, state_of(r), text);
		attroff(A_BOLD);
	}
}

static void draw(struct top *t)
{
	erase();
	if (t->at >= t->n)
		t->at = t->n ? t->n - 1 : 0;
	draw_head(t);
	if (t->open && t->at < t->n)
		draw_stack(t, &t->row[t->at]);
	else
		draw_rows(t);
	line(LINES - 1, "%s", t->open ? "Enter: back   q: end"
				      : "up, down, Enter: calls of a row   r: running first   n: by number   w: latency   q: end");
	refresh();
}

/* False: end. */
static bool on_key(struct top *t, int key)
{
	switch (key) {
	case 'q':
		return false;
	case 'w':
		t->timed = !t->timed;
		t->latency.n = 0;
		break;
	case 'r':
	case 'n':
		t->running_first = key == 'r';
		break;
	case KEY_UP:
		t->at -= t->at > 0;
		break;
	case KEY_DOWN:
		t->at++;
		break;
	case '\n':
	case KEY_ENTER:
		t->open = !t->open;
		break;
	}
	return true;
}

static void loop(struct top *t)
{
	uint64_t next = 0;
	bool more = look(t);

	while (more && !signalled()) {
		uint64_t now = now_ns();
		int key;

		if (now >= next) {
			more = look(t);
			if (t->timed)
				latency_take(t->p, GLANCE_MS * 1000000ULL, &t->latency);
			next = now + TICK_MS * 1000000ULL;
		}
		draw(t);
		timeout((int)((next - now) / 1000000 + 1));
		key = getch();
		if (key != ERR && !on_key(t, key))
			break;
	}
}

static int top(struct proc *p)
{
	struct top t = { .p = p, .running_first = true };
	SCREEN *screen;

	t.s = stacks_open(p);
	if (!t.s) {
		say("no memory");
		return EXIT_REFUSED;
	}
	stacks_stop(t.s);
	screen = newterm(NULL, stdout, stdin);
	if (!screen) {
		say("the terminal %s is not known (weftctl stat needs none)", getenv("TERM") ? getenv("TERM") : "");
		stacks_close(t.s);
		return EXIT_REFUSED;
	}
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	curs_set(0);
	loop(&t);
	endwin();
	delscreen(screen);
	if (proc_gone(p))
		say("%d: has ended", p->pid);
	free(t.row);
	stacks_close(t.s);
	return EXIT_DONE;
}

int verb_top(int argc, char **argv)
{
	struct proc *p;
	int status;

	if (argc != 2)
		return usage_of("top");
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		say("top: this is no terminal (weftctl stat, weftctl dump need none)");
		return EXIT_REFUSED;
	}
	p = open_scheduled(argv[1], &status);
	if (!p)
		return status;
	until_signalled();
	status = top(p);
	proc_close(p);
	return status;
}

#else

int verb_top(int argc, char **argv)
{
	(void)argc, (void)argv;
	say("top: this weftctl was built without libdw or ncurses (build it where libdw-dev and libncurses-dev are)");
	return EXIT_REFUSED;
}

#endif
