/*
 * layout: what weftctl(1) must know of the library in another process, published by the library itself.
 *
 * The library holds one constant struct layout in its RELRO segment.  weftctl finds it in the memory of the
 * process by its magic, so it needs no file, no symbol and no debug information: the library may be stripped,
 * deleted, or in another root.  `names` is the list of all rows of layout.def; where it is not weftctl's own, the
 * two are different builds and weftctl refuses.
 *
 * Included by the library and by ctl/.  Must never: include anything of weft's.
 */
#ifndef WEFT_LAYOUT_H
#define WEFT_LAYOUT_H

#include <stdint.h>

enum { LAYOUT_MAGIC = 16, LAYOUT_VERSION = 32, LAYOUT_TEXT = 480 };

enum layout_addr {
#define ADDR(name, lvalue) LA_##name,
#define FIELD(name, type, member)
#define NUMBER(name, value)
#include "runtime/debug/layout.def"
	NLAYOUT_ADDR
#undef ADDR
#undef FIELD
#undef NUMBER
};

/* Members and numbers. */
enum layout_field {
#define ADDR(name, lvalue)
#define FIELD(name, type, member) LF_##name,
#define NUMBER(name, value) LF_##name,
#include "runtime/debug/layout.def"
	NLAYOUT_FIELD
#undef ADDR
#undef FIELD
#undef NUMBER
};

struct layout {
	char magic[LAYOUT_MAGIC];
	uint32_t size;               /* of this struct */
	uint32_t naddrs;             /* names of addr; those of field follow */
	char version[LAYOUT_VERSION];
	const char *names;           /* layout_names */
	const char *reasons;         /* why a G waits, by number, a line each; for gdb */
	const void *addr[NLAYOUT_ADDR];
	struct layout_place {
		uint32_t at, size;   /* of a number: its value, and 0 */
	} field[NLAYOUT_FIELD];
};

/* Its first byte is written apart, so that no other program's constant is found (weftctl's own among them). */
#define LAYOUT_MAGIC_REST "weft layout 001"
enum { LAYOUT_MAGIC_FIRST = 0xb7 };

static const char layout_names[] __attribute__((unused)) =
#define ADDR(name, lvalue) #name " "
#define FIELD(name, type, member) #name " "
#define NUMBER(name, value) #name " "
#include "runtime/debug/layout.def"
#undef ADDR
#undef FIELD
#undef NUMBER
	;

/*
 * What weftctl asks of the library: it writes text, then asked; the library (sysmon) acts, writes answer, then
 * answered.  The text is KEY=VALUE,...; the answer is empty, or why not.
 */
struct layout_mailbox {
	uint32_t asked, answered;    /* counts of requests */
	char text[LAYOUT_TEXT];
	char answer[LAYOUT_TEXT];
};

#endif
