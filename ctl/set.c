/*
 * set: `weftctl set`: options that change while a process runs.
 *
 * The text goes into the library's mailbox; sysmon there parses it, and answers.
 *
 * Must never: ask while another is asking.
 */
#include "ctl/verbs.h"

#include <string.h>
#include <unistd.h>

enum { LOOK_US = 2000 };

static const uint64_t patience = 2000000000; /* ns: sysmon looks at least each 10 ms, but where all Ps are idle */

static uint64_t member(const struct proc *p, enum layout_field f)
{
	return p->addr[LA_mailbox] + p->layout.field[f].at;
}

static bool read_counts(const struct proc *p, uint32_t *asked, uint32_t *answered)
{
	return proc_read(p, member(p, LF_mailbox_asked), asked, sizeof(*asked)) &&
	       proc_read(p, member(p, LF_mailbox_answered), answered, sizeof(*answered));
}

static int ask(const struct proc *p, const char *text)
{
	uint64_t until = now_ns() + patience;
	char answer[LAYOUT_TEXT];
	uint32_t asked, answered;

	if (!read_counts(p, &asked, &answered) || asked != answered) {
		say("%d: %s", p->pid, proc_gone(p) ? "has ended" : "another weftctl asks it for something, or it is idle and has not "
			       "answered yet (again, once it runs)");
		return EXIT_REFUSED;
	}
	asked++;
	if (!proc_write(p, member(p, LF_mailbox_text), text, strlen(text) + 1) ||
	    !proc_write(p, member(p, LF_mailbox_asked), &asked, sizeof(asked))) {
		say("%d: cannot be written to", p->pid);
		return EXIT_REFUSED;
	}
	while (answered != asked && now_ns() < until && !proc_gone(p)) {
		usleep(LOOK_US);
		if (!proc_read(p, member(p, LF_mailbox_answered), &answered, sizeof(answered)))
			break;
	}
	if (answered != asked) {
		say("%d: %s", p->pid, proc_gone(p) ? "has ended" : "is idle; it does so when it runs next");
		return proc_gone(p) ? EXIT_REFUSED : EXIT_DONE;
	}
	if (!proc_string(p, member(p, LF_mailbox_answer), answer, sizeof(answer)) || !answer[0])
		return EXIT_DONE;
	say("%d: %s (nothing is changed)", p->pid, answer);
	return EXIT_REFUSED;
}

int verb_set(int argc, char **argv)
{
	char text[LAYOUT_TEXT] = "";
	struct proc *p;
	int status;

	if (argc < 3)
		return usage_of("set");
	for (int i = 2; i < argc; i++) {
		if (strlen(text) + strlen(argv[i]) + 2 > sizeof(text)) {
			say("set: the options are longer than %zu characters", sizeof(text));
			return EXIT_USAGE;
		}
		strcat(strcat(text, i > 2 ? "," : ""), argv[i]);
	}
	p = open_scheduled(argv[1], &status);
	if (!p)
		return status;
	status = ask(p, text);
	proc_close(p);
	return status;
}
