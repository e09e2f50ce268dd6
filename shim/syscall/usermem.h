/*
 * usermem: memory that an argument of a system call names: see usermem.c.
 */
#ifndef WEFT_SHIM_USERMEM_H
#define WEFT_SHIM_USERMEM_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "runtime/runtime.h"

/* Copies it, n bytes, a page at most.  False: the call's result is -EFAULT. */
bool user_read(void *to, const void *from, size_t n) hidden;
/* As far as a zero, n bytes at most. */
bool user_string(char *to, const char *from, size_t n) hidden;
/* As user_read(); eight bytes at least. */
bool user_write(void *to, const void *from, size_t n) hidden;

/* A futex word, which stays as it is. */
bool user_word_readable(const uint32_t *at) hidden;
bool user_word_writable(uint32_t *at) hidden;

enum { LEAST_PAGE = 4096 };

/* In the page of the caller's frame, where its variables are: it is there, and nobody need be asked. */
static inline bool user_beside_frame(const void *at, size_t n)
{
	uintptr_t first = (uintptr_t)__builtin_frame_address(0);
	uintptr_t end = (first | (LEAST_PAGE - 1)) + 1;

	return (uintptr_t)at >= first && (uintptr_t)at < end && n <= end - (uintptr_t)at;
}

/* The same as user_read() and user_write(), where the memory is the caller's own frame more often than not. */
static inline bool user_get(void *to, const void *from, size_t n)
{
	if (unlikely(!user_beside_frame(from, n)))
		return user_read(to, from, n);
	memcpy(to, from, n);
	return true;
}

static inline bool user_put(void *to, const void *from, size_t n)
{
	if (unlikely(!user_beside_frame(to, n)))
		return user_write(to, from, n);
	memcpy(to, from, n);
	return true;
}

#endif
