/*
 * protobuf: see protobuf.h.
 *
 * The length of a message within stands before it and is not known until its end.  It gets as many bytes as it needs
 * then, and the message moves behind them: what is written here is short.
 */
#include "ctl/protobuf.h"

#include <stdlib.h>
#include <string.h>

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, VARINT_MOST = 10 };

static bool room_for(struct pb *b, size_t n)
{
	size_t room = b->room ? b->room : 4096;
	uint8_t *more;

	if (b->n + n <= b->room)
		return true;
	while (room < b->n + n)
		room *= 2;
	more = b->failed ? NULL : realloc(b->at, room);
	if (!more) {
		b->failed = true;
		return false;
	}
	b->at = more;
	b->room = room;
	return true;
}

void pb_raw(struct pb *b, const void *from, size_t n)
{
	if (n == 0 || !room_for(b, n))
		return;
	memcpy(b->at + b->n, from, n);
	b->n += n;
}

static size_t varint_of(uint64_t v, uint8_t to[VARINT_MOST])
{
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		to[n++] = (uint8_t)(v | 0x80);
	to[n++] = (uint8_t)v;
	return n;
}

void pb_varint(struct pb *b, uint64_t v)
{
	uint8_t bytes[VARINT_MOST];

	pb_raw(b, bytes, varint_of(v, bytes));
}

static void key(struct pb *b, unsigned field, unsigned wire)
{
	pb_varint(b, (uint64_t)field << 3 | wire);
}

void pb_number(struct pb *b, unsigned field, uint64_t v)
{
	key(b, field, WIRE_VARINT);
	pb_varint(b, v);
}

void pb_fixed64(struct pb *b, unsigned field, uint64_t v)
{
	uint8_t bytes[8];

	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(v >> 8 * i);
	key(b, field, WIRE_FIXED64);
	pb_raw(b, bytes, sizeof(bytes));
}

void pb_bytes(struct pb *b, unsigned field, const void *from, size_t n)
{
	key(b, field, WIRE_BYTES);
	pb_varint(b, n);
	pb_raw(b, from, n);
}

void pb_string(struct pb *b, unsigned field, const char *s)
{
	pb_bytes(b, field, s, strlen(s));
}

size_t pb_begin(struct pb *b, unsigned field)
{
	key(b, field, WIRE_BYTES);
	return b->n;
}

void pb_end(struct pb *b, size_t begun)
{
	uint8_t bytes[VARINT_MOST];
	size_t n = varint_of(b->n - begun, bytes);

	if (!room_for(b, n))
		return;
	memmove(b->at + begun + n, b->at + begun, b->n - begun);
	memcpy(b->at + begun, bytes, n);
	b->n += n;
}

void pb_packed(struct pb *b, unsigned field, const uint64_t *v, size_t n)
{
	size_t begun = pb_begin(b, field);

	for (size_t i = 0; i < n; i++)
		pb_varint(b, v[i]);
	pb_end(b, begun);
}

void pb_free(struct pb *b)
{
	free(b->at);
	*b = (struct pb){ 0 };
}
