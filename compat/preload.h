/*
 * preload: the words of LD_PRELOAD, a list separated by spaces or colons.
 *
 * Here for two: the launcher puts the library into it, and the library takes itself out.
 */
#ifndef WEFT_COMPAT_PRELOAD_H
#define WEFT_COMPAT_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define PRELOAD_SEPARATORS " :"

/* A word that names weft: this build or another, for two of them in one process would not do. */
static inline bool preload_is_weft(const char *word, size_t n)
{
	static const char name[] = "libweft.so";
	size_t len = sizeof(name) - 1;

	return n >= len && !memcmp(word + n - len, name, len) && (n == len || word[n - len - 1] == '/');
}

/* Copies the list without such words; returns its length.  to may be the list itself. */
static inline size_t preload_without_weft(char *to, const char *list)
{
	size_t at = 0;

	while (*list) {
		size_t n = strcspn(list, PRELOAD_SEPARATORS);
		const char *next = list + n + (list[n] != '\0');

		if (n && !preload_is_weft(list, n)) {
			if (at)
				to[at++] = ':';
			memmove(to + at, list, n);
			at += n;
		}
		list = next;
	}
	to[at] = '\0';
	return at;
}

/* One of its words names weft. */
static inline bool preload_has_weft(const char *list)
{
	size_t n;

	for (; *list; list += n + (list[n] != '\0')) {
		n = strcspn(list, PRELOAD_SEPARATORS);
		if (preload_is_weft(list, n))
			return true;
	}
	return false;
}

#endif
