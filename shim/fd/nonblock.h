/*
 * nonblock: reading and writing bytes and messages on descriptors that a G can park for.
 *
 * Each returns what the system call would: a count or -errno.  Cancellation points; only on a G.
 */
#ifndef WEFT_SHIM_NONBLOCK_H
#define WEFT_SHIM_NONBLOCK_H

#include "shim/fd/fdwait.h"

long fd_read(int fd, void *buf, size_t n) hidden;
long fd_write(int fd, const void *buf, size_t n) hidden;
long fd_readv(int fd, const struct iovec *iov, int count) hidden;
long fd_writev(int fd, const struct iovec *iov, int count) hidden;
long fd_recv(int fd, void *buf, size_t n, int flags, struct sockaddr *from, socklen_t *len) hidden;
long fd_send(int fd, const void *buf, size_t n, int flags, const struct sockaddr *to,
	      socklen_t len) hidden;
long fd_recvmsg(int fd, struct msghdr *msg, int flags) hidden;
long fd_sendmsg(int fd, const struct msghdr *msg, int flags) hidden;
long fd_recvmmsg(int fd, struct mmsghdr *msgs, unsigned int n, int flags,
		  struct timespec *timeout) hidden;
long fd_sendmmsg(int fd, struct mmsghdr *msgs, unsigned int n, int flags) hidden;
long fd_accept(int fd, struct sockaddr *peer, socklen_t *len, int flags, bool with_flags) hidden;

#endif
