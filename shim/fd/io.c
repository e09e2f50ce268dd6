/*
 * io: read and write in all their forms.
 *
 * Every function is a cancellation point and returns what the kernel returned: partial counts,
 * EINTR and EAGAIN are the caller's to see.  The names with 64 are the same functions, since off_t
 * has 64 bits here; the fortified names check the size and go on.  How a G waits is nonblock.c's.
 */
#include "shim/fd/nonblock.h"

EXPORT ssize_t read(int fd, void *buf, size_t n)
{
	if (!on_g())
		return real.read(fd, buf, n);
	return syscall_ret(fd_read(fd, buf, n));
}
TWIN(read);
ALIAS(__read, read);

EXPORT ssize_t __read_chk(int fd, void *buf, size_t n, size_t room)
{
	if (n > room)
		__chk_fail();
	return shim_read(fd, buf, n);
}

EXPORT ssize_t write(int fd, const void *buf, size_t n)
{
	if (!on_g())
		return real.write(fd, buf, n);
	return syscall_ret(fd_write(fd, buf, n));
}
TWIN(write);
ALIAS(__write, write);

EXPORT ssize_t readv(int fd, const struct iovec *iov, int count)
{
	if (!on_g())
		return real.readv(fd, iov, count);
	return syscall_ret(fd_readv(fd, iov, count));
}

EXPORT ssize_t writev(int fd, const struct iovec *iov, int count)
{
	if (!on_g())
		return real.writev(fd, iov, count);
	return syscall_ret(fd_writev(fd, iov, count));
}

/* eventfd's helpers call libc's own read and write, out of our sight. */
EXPORT int eventfd_read(int fd, eventfd_t *value)
{
	return shim_read(fd, value, sizeof(*value)) == (ssize_t)sizeof(*value) ? 0 : -1;
}

EXPORT int eventfd_write(int fd, eventfd_t value)
{
	return shim_write(fd, &value, sizeof(value)) == (ssize_t)sizeof(value) ? 0 : -1;
}

/*
 * Positional forms: files, which no poller takes.  The two-word offset of the vector forms is whole
 * in its low word on a 64-bit kernel, which ignores the high one.
 */
EXPORT ssize_t pread(int fd, void *buf, size_t n, off_t at)
{
	if (!on_g())
		return real.pread(fd, buf, n, at);
	return syscall_ret(block4(SYS_pread64, fd, buf, n, at));
}
TWIN(pread);
ALIAS(pread64, pread);
ALIAS(__pread64, pread);

EXPORT ssize_t __pread_chk(int fd, void *buf, size_t n, off_t at, size_t room)
{
	if (n > room)
		__chk_fail();
	return shim_pread(fd, buf, n, at);
}
ALIAS(__pread64_chk, __pread_chk);

EXPORT ssize_t pwrite(int fd, const void *buf, size_t n, off_t at)
{
	if (!on_g())
		return real.pwrite(fd, buf, n, at);
	return syscall_ret(block4(SYS_pwrite64, fd, buf, n, at));
}
ALIAS(pwrite64, pwrite);
ALIAS(__pwrite64, pwrite);

EXPORT ssize_t preadv(int fd, const struct iovec *iov, int count, off_t at)
{
	if (!on_g())
		return real.preadv(fd, iov, count, at);
	return syscall_ret(block5(SYS_preadv, fd, iov, count, at, 0));
}
ALIAS(preadv64, preadv);

EXPORT ssize_t pwritev(int fd, const struct iovec *iov, int count, off_t at)
{
	if (!on_g())
		return real.pwritev(fd, iov, count, at);
	return syscall_ret(block5(SYS_pwritev, fd, iov, count, at, 0));
}
ALIAS(pwritev64, pwritev);

/*
 * Offset -1 means the file position: without flags these are readv and writev.  With flags they
 * wait on a kernel thread, where the kernel says which of them pipes and sockets know.
 */
EXPORT ssize_t preadv2(int fd, const struct iovec *iov, int count, off_t at, int flags)
{
	if (!on_g())
		return real.preadv2(fd, iov, count, at, flags);
	if (at == -1 && flags == 0)
		return syscall_ret(fd_readv(fd, iov, count));
	return syscall_ret(block6(SYS_preadv2, fd, iov, count, at, 0, flags));
}
ALIAS(preadv64v2, preadv2);

EXPORT ssize_t pwritev2(int fd, const struct iovec *iov, int count, off_t at, int flags)
{
	if (!on_g())
		return real.pwritev2(fd, iov, count, at, flags);
	if (at == -1 && flags == 0)
		return syscall_ret(fd_writev(fd, iov, count));
	return syscall_ret(block6(SYS_pwritev2, fd, iov, count, at, 0, flags));
}
ALIAS(pwritev64v2, pwritev2);
