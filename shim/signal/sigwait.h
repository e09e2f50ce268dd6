/*
 * sigwait.h: the waits for signals, on a G: the result or -errno.
 *
 * point: it is a cancellation point.  Else a cancellation ends it only where the thread is
 * asynchronous.
 */
#ifndef WEFT_SHIM_SIGWAIT_H
#define WEFT_SHIM_SIGWAIT_H

#include "shim/shim.h"

#include <signal.h>

long signal_await(bool point, const void *set, siginfo_t *info,
		  const struct timespec *timeout) hidden;
long signal_suspend(bool point, const void *mask) hidden;
long signal_pause(bool point) hidden;

#endif
