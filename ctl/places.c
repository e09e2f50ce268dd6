/*
 * places: whether the table of places that a process publishes can be true (process.h).
 *
 * The table lies in the process's memory: what may write there may write the table.  All other files take a
 * member from a copied struct at the place that the table says: it is checked once, here, before any is taken.
 *
 * Must never: compare with weftctl's own numbers, for another build of the same rows may have others.
 */
#include "ctl/process.h"

#include <string.h>

enum { STRUCT_MOST = 1 << 16, SCHED_MOST = 1 << 24, CHUNK_BYTES_MOST = 1 << 26, GS_MOST = 1 << 24, PS_MOST = 1 << 16,
       CONTEXT_MOST = 1 << 6 };

/* Whose member each row is, as C calls the struct; NULL: a number. */
static const char *const of[NLAYOUT_FIELD] = {
#define ADDR(name, lvalue)
#define FIELD(name, type, member) [LF_##name] = #type,
#define NUMBER(name, value) [LF_##name] = NULL,
#include "runtime/debug/layout.def"
#undef ADDR
#undef FIELD
#undef NUMBER
};

static bool is(const struct layout *l, enum layout_field number, uint64_t least, uint64_t most)
{
	return l->field[number].at >= least && l->field[number].at <= most;
}

/* Sizes of structs and tables are what weftctl can hold, and a walk over a table ends. */
static bool numbers_hold(const struct layout *l)
{
	return is(l, LF_g_size, 1, STRUCT_MOST) && is(l, LF_m_size, 1, STRUCT_MOST) &&
	       is(l, LF_p_size, 1, STRUCT_MOST) && is(l, LF_gchunk_size, 1, STRUCT_MOST) &&
	       is(l, LF_gchunk_gs, 1, CHUNK_BYTES_MOST / l->field[LF_g_size].at) &&
	       is(l, LF_gchunks, 1, GS_MOST / l->field[LF_gchunk_gs].at) && is(l, LF_maxprocs, 1, PS_MOST) &&
	       is(l, LF_context_words, 1, CONTEXT_MOST) &&
	       is(l, LF_context_pc, 0, l->field[LF_context_words].at - 1);
}

/* Bytes of the struct. */
static uint64_t size_of(const struct layout *l, const char *name)
{
	if (strcmp(name, "struct g") == 0)
		return l->field[LF_g_size].at;
	if (strcmp(name, "struct m") == 0)
		return l->field[LF_m_size].at;
	if (strcmp(name, "struct p") == 0)
		return l->field[LF_p_size].at;
	if (strcmp(name, "struct gchunk") == 0)
		return l->field[LF_gchunk_size].at;
	if (strcmp(name, "struct layout_mailbox") == 0)
		return sizeof(struct layout_mailbox);
	/* Members of these are read in the process, one by one. */
	return SCHED_MOST;
}

static bool size_holds(const struct layout *l, int field)
{
	uint64_t size = l->field[field].size;

	switch (field) {
	case LF_g_name:
		return size == PROC_NAME;
	case LF_mailbox_text:
	case LF_mailbox_answer:
		return size == LAYOUT_TEXT;
	case LF_m_all:
		return size >= sizeof(uint64_t);
	case LF_sched_gchunks:
		return size == (uint64_t)l->field[LF_gchunks].at * l->field[LF_gchunk_size].at;
	default:
		return size > 0 && size <= sizeof(uint64_t);
	}
}

bool proc_layout_holds(const struct layout *l)
{
	if (!numbers_hold(l))
		return false;
	for (int i = 0; i < NLAYOUT_FIELD; i++) {
		const struct layout_place *f = &l->field[i];

		if (of[i] && ((uint64_t)f->at + f->size > size_of(l, of[i]) || !size_holds(l, i)))
			return false;
	}
	return true;
}
