/*
 * What glibc's own build defines before each of its tests: the tests and the library under them are compiled
 * against the installed headers instead.  Empty stands for "nothing to hide here".
 */
#include <limits.h>
#define attribute_hidden
#define attribute_relro
#define libc_hidden_proto(...)
#define libc_hidden_def(...)
#define weak_alias(...)
#define __glibc_unlikely(c) __builtin_expect((c), 0)
#define __glibc_likely(c) __builtin_expect((c), 1)
#define IS_IN(x) 0
#define SHLIB_COMPAT(...) 0
#define TEST_COMPAT(...) 0
#ifndef TIMEOUTFACTOR
#define TIMEOUTFACTOR 1
#endif
