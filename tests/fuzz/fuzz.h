/*
 * fuzz: what the fuzzers of this folder share.  Each is a file NAME.c with one function, which libFuzzer or plain.c
 * calls with some bytes; the file includes the parser that it is about, so that the parser is compiled with whatever
 * finds faults.  corpus/NAME/ has inputs that once meant something.
 *
 * Must never: read or write a file of the machine that the input names.
 */
#ifndef WEFT_TESTS_FUZZ_H
#define WEFT_TESTS_FUZZ_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void must(int ok)
{
	if (!ok)
		abort();
}

/* The ith part of an input whose parts end with a NUL; "" past the last.  *n: bytes of it. */
static inline const char *part_of(const uint8_t *data, size_t size, unsigned i, size_t *n)
{
	const uint8_t *end = data + size, *nul;

	for (; size && (nul = memchr(data, 0, (size_t)(end - data))) && i; i--)
		data = nul + 1;
	if (i || !size) {
		*n = 0;
		return "";
	}
	nul = memchr(data, 0, (size_t)(end - data));
	*n = (size_t)((nul ? nul : end) - data);
	return (const char *)data;
}

#endif
