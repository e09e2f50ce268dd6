/*
 * usermem: memory that an argument of a system call names: see usermem.c.
 */
#ifndef WEFT_SHIM_USERMEM_H
#define WEFT_SHIM_USERMEM_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/runtime.h"


/* Copies it, n bytes, a page at most.  False: the call's result is -EFAULT. */
bool user_read(void *to, const void *from, size_t n) hidden;
/* As far as a zero, n bytes at most. */
bool user_string(char *to, const char *from, size_t n) hidden;
/* As user_read(); eight bytes at least. */
bool user_write(void *to, const void *from, size_t n) hidden;

#endif
