/*
 * protobuf: writes messages in Google's wire format, into memory that grows.
 *
 * A message within another is written as it is, between pb_begin() and pb_end(): its length is put before it then.
 *
 * Must never: know what a message means; lose an error, which is in failed until the end.
 */
#ifndef WEFT_CTL_PROTOBUF_H
#define WEFT_CTL_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pb {
	uint8_t *at;
	size_t n, room;
	bool failed;                /* no memory: what is here is not whole */
};

void pb_raw(struct pb *b, const void *from, size_t n);
void pb_varint(struct pb *b, uint64_t v);                        /* a number without its field */
void pb_number(struct pb *b, unsigned field, uint64_t v);        /* int64, uint64, bool, enum */
void pb_fixed64(struct pb *b, unsigned field, uint64_t v);
void pb_bytes(struct pb *b, unsigned field, const void *from, size_t n);
void pb_string(struct pb *b, unsigned field, const char *s);
void pb_packed(struct pb *b, unsigned field, const uint64_t *v, size_t n); /* repeated numbers */
/* A message within: what begin returned goes to end. */
size_t pb_begin(struct pb *b, unsigned field);
void pb_end(struct pb *b, size_t begun);
void pb_free(struct pb *b);

#endif
