/*
 * control: options that change while the process runs, as `weftctl set` asks (layout.h: the mailbox).
 *
 * sysmon looks at the mailbox, one load a look.  The text is parsed as the variable WEFT is, into a copy; where any
 * entry is bad, or is an option that is looked at only once, nothing changes.  Those that may change are words that
 * each use reads anew, so a reader sees the old value or the new one.
 *
 * Must never: change an option that somebody has acted on already; wait for anybody.
 */
#include "runtime/debug/layout.h"
#include "runtime/sched/gmp.h"

#include <string.h>

#define CHANGEABLE(X) \
	X(procs) X(schedtrace) X(scheddetail) X(wakesurplus) X(readywake) X(stealage) X(nap) X(spin) X(slice) \
	X(wakeslice) X(pollsurplus) X(mutexnext) X(fairness)

extern struct layout_mailbox layout_mailbox hidden;

static struct outbuf answer; /* sysmon's */

static void refuse(const char *entry, int len, const char *why)
{
	if (!answer.len)
		weft_print(&answer, "%.*s: %s", len, entry, why);
}

/* Of was and to, what stays is put from was into to; the rest must be equal then. */
static bool only_changeable(const struct weft_options *was, const struct weft_options *to)
{
	struct weft_options rest = *to;

#define X(name) rest.name = was->name;
	CHANGEABLE(X)
#undef X
	return memcmp(&rest, was, sizeof(rest)) == 0;
}

static void act(const char *text)
{
	static struct weft_options to; /* with the same bytes between its members as weft_opt */

	answer.len = 0;
	memcpy(&to, &weft_opt, sizeof(to));
	if (weft_options_parse(&to, text, refuse))
		return;
	if (!only_changeable(&weft_opt, &to)) {
		weft_print(&answer, "an option that is looked at only when a program starts");
		return;
	}
	if (to.procs != weft_opt.procs && fromnow_holds(FROMNOW_LOCKED)) {
		weft_print(&answer, "procs: the program has locked its threads to kernel threads, each with a P");
		return;
	}
	if (to.procs && to.procs != (unsigned)load_acquire(&gomaxprocs) && procresize(to.procs, 0)) {
		weft_print(&answer, "procs: no memory for so many");
		return;
	}
#define X(name) *(volatile __typeof__(weft_opt.name) *)&weft_opt.name = to.name;
	CHANGEABLE(X)
#undef X
}

/* sysmon, at each look. */
void control_look(void)
{
	uint32_t asked = load_acquire(&layout_mailbox.asked);
	char text[LAYOUT_TEXT];

	if (likely(asked == load_relaxed(&layout_mailbox.answered)))
		return;
	memcpy(text, layout_mailbox.text, sizeof(text));
	text[sizeof(text) - 1] = '\0';
	act(text);
	answer.len = answer.len < LAYOUT_TEXT - 1 ? answer.len : LAYOUT_TEXT - 1;
	memcpy(layout_mailbox.answer, answer.data, answer.len);
	layout_mailbox.answer[answer.len] = '\0';
	store_release(&layout_mailbox.answered, asked);
}
