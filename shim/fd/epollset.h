/*
 * epollset: what the program puts into its epolls, as far as it decides whether a G may park for
 * one.
 */
#ifndef WEFT_SHIM_EPOLLSET_H
#define WEFT_SHIM_EPOLLSET_H

#include "shim/fd/fdtable.h"

/* epoll_ctl(2): its result or -errno. */
long epollset_ctl(int ep, int op, int fd, void *event) hidden;
/* fd, perhaps an epoll, is about to get another number. */
void epollset_copied(int fd) hidden;

#endif
