/*
 * echo.h: what the echo server and its client share.
 */
#ifndef WEFT_BENCH_ECHO_H
#define WEFT_BENCH_ECHO_H

#include "bench.h"

#define ECHO_MESSAGE 64 /* bytes of a request, and of its reply */

void echo_write(int fd, const char *p, size_t n); /* all of it, or dies */
int echo_no_delay(int fd);
void echo_raise_limit(long need); /* thousands of descriptors on either side */

#endif
