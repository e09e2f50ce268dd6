/*
 * layout: the table that weftctl(1) reads in a running process (layout.h).
 *
 * A constant and a mailbox: nothing runs, no descriptor is open and no file exists for it.
 *
 * Must never: be changed at run time; be looked for by anything in the library.
 */
#include "runtime/debug/layout.h"

#include "runtime/sched/gmp.h"
#include "runtime/sched/tracefile.h"
#include "runtime/wait/parkinglot.h"

#include <stddef.h>

extern struct trace_control trace_control hidden;

struct layout_mailbox layout_mailbox;

/* What was asked was asked of the parent. */
void layout_fork_child(void)
{
	layout_mailbox.answered = layout_mailbox.asked;
}

static const struct layout layout __attribute__((used)) = {
	/* LAYOUT_MAGIC_REST behind its first byte. */
	.magic = { (char)LAYOUT_MAGIC_FIRST, 'w', 'e', 'f', 't', ' ', 'l', 'a', 'y', 'o', 'u', 't',
		   ' ', '0', '0', '1' },
	.size = sizeof(struct layout),
	.version = PACKAGE_VERSION,
	.naddrs = NLAYOUT_ADDR,
	.names = layout_names,
	.reasons =
#define REASON(name, text, whom) text "\n"
#include "runtime/sched/waitreason.def"
#undef REASON
	,
	.addr = {
#define ADDR(name, lvalue) &(lvalue),
#define FIELD(name, type, member)
#define NUMBER(name, value)
#include "runtime/debug/layout.def"
#undef ADDR
#undef FIELD
#undef NUMBER
	},
	.field = {
#define ADDR(name, lvalue)
#define FIELD(name, type, member) { offsetof(type, member), sizeof(((type *)0)->member) },
#define NUMBER(name, value) { (uint32_t)(value), 0 },
#include "runtime/debug/layout.def"
#undef ADDR
#undef FIELD
#undef NUMBER
	},
};
