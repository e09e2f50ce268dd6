/*
 * plain: feeds files to a fuzzer without libFuzzer: all of its corpus, and every beginning of each.
 */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>

int main(int argc, char **argv)
{
	enum { MOST = 1 << 16, SHORT = 512 };
	static uint8_t bytes[MOST];

	for (int i = 1; i < argc; i++) {
		FILE *f = fopen(argv[i], "rb");
		size_t n;

		if (!f) {
			perror(argv[i]);
			return 1;
		}
		n = fread(bytes, 1, sizeof(bytes), f);
		fclose(f);
		for (size_t k = n; k <= n; k -= k > SHORT ? 1 + k / 8 : 1) {
			/* Of its own, so that what is behind it is nobody's. */
			uint8_t *copy = malloc(k ? k : 1);

			must(copy != NULL);
			memcpy(copy, bytes, k);
			LLVMFuzzerTestOneInput(copy, k);
			free(copy);
		}
	}
	printf("%d inputs\n", argc - 1);
	return 0;
}
