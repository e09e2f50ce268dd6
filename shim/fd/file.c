/*
 * file: opening, and the calls on files that may keep a kernel thread waiting for a disk or a lock.
 *
 * No poller takes a regular file, so all of these leave their P.  Those that glibc makes
 * cancellation points go through blockN, the others through nocpN; where libc does more than the
 * system call (an emulation, a conversion) its own function runs under handoff.
 */
#include "compat/tcb.h"
#include "shim/fd/fdevents.h"
#include "shim/process/single.h"
#include "shim/thread/procfile.h"
#include "shim/syscall/syscall.h"

/* The mode argument exists only when the flags ask for it. */
#define OPEN_MODE(flags)                                                                           \
	({                                                                                         \
		mode_t mode_ = 0;                                                                  \
		if (__OPEN_NEEDS_MODE(flags)) {                                                    \
			va_list ap_;                                                               \
			va_start(ap_, flags);                                                      \
			mode_ = va_arg(ap_, mode_t);                                               \
			va_end(ap_);                                                               \
		}                                                                                  \
		mode_;                                                                             \
	})

/* The kernel's answer, or that for the path of a thread in /proc. */
static long opened(long r, const char *path, int flags)
{
	struct procfile pf;

	if (likely(!procfile_may_be(path, r < 0 ? (int)-r : 0)) || !procfile_find(path, &pf))
		return r;
	if (r >= 0)
		direct3(SYS_close, r, 0, 0);
	r = direct4(SYS_openat, AT_FDCWD, pf.path, flags, 0);
	procfile_end(&pf);
	return r;
}

static long opens(int dir, const char *path, int flags, mode_t mode)
{
	return opened(block4(SYS_openat, dir, path, flags, mode), path, flags);
}

EXPORT int open(const char *path, int flags, ...)
{
	mode_t mode = OPEN_MODE(flags);

	if (!on_g())
		return (int)FD_NOTED(openat, real.open(path, flags, mode), 0);
	return (int)FD_NOTED(openat, syscall_ret(opens(AT_FDCWD, path, flags, mode)), 0);
}
ALIAS(open64, open);
ALIAS(__open, open);
ALIAS(__open64, open);

EXPORT int openat(int dir, const char *path, int flags, ...)
{
	mode_t mode = OPEN_MODE(flags);

	if (!on_g())
		return (int)FD_NOTED(openat, real.openat(dir, path, flags, mode), 0);
	return (int)FD_NOTED(openat, syscall_ret(opens(dir, path, flags, mode)), 0);
}
ALIAS(openat64, openat);

/* As syscall(): before glibc 2.43 there is nothing else to pass it to. */
EXPORT int openat2(int dir, const char *path, void *how, size_t size)
{
	if (!on_g())
		return (int)FD_NOTED(openat2, real.syscall(SYS_openat2, dir, path, how, size), 0);
	return (int)FD_NOTED(openat2, syscall_ret(block4(SYS_openat2, dir, path, how, size)), 0);
}

/* Fortified: no mode was given.  libc's own reports the flags that would need one, and aborts. */
EXPORT int __open_2(const char *path, int flags)
{
	if (!on_g() || __OPEN_NEEDS_MODE(flags))
		return (int)FD_NOTED(openat, real.__open_2(path, flags), 0);
	return (int)FD_NOTED(openat, syscall_ret(opens(AT_FDCWD, path, flags, 0)), 0);
}
ALIAS(__open64_2, __open_2);

EXPORT int __openat_2(int dir, const char *path, int flags)
{
	if (!on_g() || __OPEN_NEEDS_MODE(flags))
		return (int)FD_NOTED(openat, real.__openat_2(dir, path, flags), 0);
	return (int)FD_NOTED(openat, syscall_ret(opens(dir, path, flags, 0)), 0);
}
ALIAS(__openat64_2, __openat_2);

EXPORT int creat(const char *path, mode_t mode)
{
	if (!on_g())
		return (int)FD_NOTED(openat, real.creat(path, mode), 0);
	return (int)FD_NOTED(openat,
			     syscall_ret(block4(SYS_openat, AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode)), 0);
}
ALIAS(creat64, creat);

/* Both by number. */
long opens_file(const struct call *x)
{
	bool at = x->nr == SYS_openat;

	return opened(call_blocks(x), (const char *)(at ? x->b : x->a), (int)(at ? x->c : x->b));
}

/* ---- what else takes a path, which may be that of a thread in /proc ------------------------- */

#define BY_PATH(ret, failed, name, params, args, args_of)                                          \
	EXPORT ret name params                                                                     \
	{                                                                                          \
		ret r_ = real.name args;                                                           \
		struct procfile pf_;                                                               \
                                                                                                   \
		if (likely(r_ != (failed) || !procfile_may_be(path, errno)) ||                     \
		    !procfile_find(path, &pf_))                                                    \
			return r_;                                                                 \
		r_ = real.name args_of;                                                            \
		procfile_end(&pf_);                                                                \
		return r_;                                                                         \
	}

BY_PATH(int, -1, access, (const char *path, int mode), (path, mode), (pf_.path, mode))
BY_PATH(int, -1, stat, (const char *path, struct stat *st), (path, st), (pf_.path, st))
BY_PATH(int, -1, lstat, (const char *path, struct stat *st), (path, st), (pf_.path, st))
BY_PATH(int, -1, stat64, (const char *path, struct stat64 *st), (path, st), (pf_.path, st))
BY_PATH(int, -1, lstat64, (const char *path, struct stat64 *st), (path, st), (pf_.path, st))
BY_PATH(ssize_t, -1, readlink, (const char *path, char *to, size_t n), (path, to, n), (pf_.path, to, n))

EXPORT DIR *opendir(const char *path)
{
	DIR *d = real.opendir(path);
	struct procfile pf;

	if (likely(!procfile_may_be(path, d ? 0 : errno)))
		return d;
	if (d && procfile_lists(path))
		single_lists(); /* the kernel is asked by the first readdir() */
	if (d || !procfile_find(path, &pf))
		return d;
	d = real.opendir(pf.path);
	procfile_end(&pf);
	return d;
}

EXPORT void rewinddir(DIR *d)
{
	single_lists_again();
	real.rewinddir(d);
}

EXPORT int open_by_handle_at(int mount, struct file_handle *handle, int flags)
{
	if (!on_g())
		return (int)FD_NOTED(openat, real.open_by_handle_at(mount, handle, flags), 0);
	return (int)FD_NOTED(openat, syscall_ret(block3(SYS_open_by_handle_at, mount, handle, flags)), 0);
}

EXPORT ssize_t getdents64(int fd, void *buf, size_t n)
{
	if (!on_g())
		return real.getdents64(fd, buf, n);
	return syscall_ret(nocp3(SYS_getdents64, fd, buf, n));
}

/*
 * To the disk.  Mostly it waits, but there is no way to ask, and in memory it takes a fifth of a
 * microsecond.  Giving the P away costs the waking of a kernel thread, so the caller gives it away
 * at once only when other Gs are queued.
 */
static long to_disk(long nr, long a, long b, long c, long d)
{
	return runtime_others_wait() ? await4(nr, a, b, c, d) : block4(nr, a, b, c, d);
}

EXPORT int fsync(int fd)
{
	if (!on_g())
		return real.fsync(fd);
	return (int)syscall_ret(to_disk(SYS_fsync, fd, 0, 0, 0));
}

EXPORT int fdatasync(int fd)
{
	if (!on_g())
		return real.fdatasync(fd);
	return (int)syscall_ret(to_disk(SYS_fdatasync, fd, 0, 0, 0));
}

EXPORT int msync(void *at, size_t n, int flags)
{
	if (!on_g())
		return real.msync(at, n, flags);
	return (int)syscall_ret(to_disk(SYS_msync, (long)at, (long)n, flags, 0));
}

enum { RANDOM_WHOLE = 256 }; /* bytes that no signal cuts: getrandom(2) */

/*
 * More than that end short at any signal, also one of weft's, which are not sent into a call that it knows.  Where
 * libc makes them by itself no signal counts, but it falls back on the call.
 */
EXPORT ssize_t getrandom(void *buf, size_t n, unsigned flags)
{
	ssize_t got = 0, more;

	if (!on_g() || n <= RANDOM_WHOLE)
		return real.getrandom(buf, n, flags);
	if (compat_random) {
		got = real.getrandom(buf, n, flags);
		if (got < 0 || (size_t)got == n)
			return got;
	}
	more = block6(SYS_getrandom, (long)buf + got, (long)(n - (size_t)got), flags, 0, 0, 0);
	return got && more < 0 ? got : syscall_ret(more < 0 ? more : got + more);
}

EXPORT int sync_file_range(int fd, off64_t at, off64_t n, unsigned int flags)
{
	if (!on_g())
		return real.sync_file_range(fd, at, n, flags);
	return (int)syscall_ret(to_disk(SYS_sync_file_range, fd, at, n, flags));
}

EXPORT int syncfs(int fd)
{
	if (!on_g())
		return real.syncfs(fd);
	return (int)syscall_ret(nocp1(SYS_syncfs, fd));
}

EXPORT void sync(void)
{
	if (!on_g())
		real.sync();
	else
		HANDOFF_VOID(real.sync());
}

EXPORT ssize_t readahead(int fd, off64_t at, size_t n)
{
	if (!on_g())
		return real.readahead(fd, at, n);
	return syscall_ret(nocp3(SYS_readahead, fd, at, n));
}

EXPORT int fallocate(int fd, int mode, off_t at, off_t n)
{
	if (!on_g())
		return real.fallocate(fd, mode, at, n);
	return (int)syscall_ret(block4(SYS_fallocate, fd, mode, at, n));
}
ALIAS(fallocate64, fallocate);

/* Returns the error; writes zeros itself where the file system cannot. */
EXPORT int posix_fallocate(int fd, off_t at, off_t n)
{
	if (!on_g())
		return real.posix_fallocate(fd, at, n);
	return HANDOFF(real.posix_fallocate(fd, at, n));
}
ALIAS(posix_fallocate64, posix_fallocate);

/* From file to file: either side may be a pipe or a socket that makes the call wait. */

EXPORT ssize_t copy_file_range(int in, off64_t *at_in, int out, off64_t *at_out, size_t n,
			       unsigned int flags)
{
	if (!on_g())
		return real.copy_file_range(in, at_in, out, at_out, n, flags);
	return syscall_ret(block6(SYS_copy_file_range, in, at_in, out, at_out, n, flags));
}

EXPORT ssize_t sendfile(int out, int in, off_t *at, size_t n)
{
	if (!on_g())
		return FD_NOTED(sendfile, real.sendfile(out, in, at, n), out);
	return FD_NOTED(sendfile, syscall_ret(nocp4(SYS_sendfile, out, in, at, n)), out);
}
ALIAS(sendfile64, sendfile);

EXPORT ssize_t splice(int in, off64_t *at_in, int out, off64_t *at_out, size_t n,
		      unsigned int flags)
{
	if (!on_g())
		return FD_NOTED(splice, real.splice(in, at_in, out, at_out, n, flags), in, 0, out);
	return FD_NOTED(splice, syscall_ret(block6(SYS_splice, in, at_in, out, at_out, n, flags)), in, 0,
			out);
}

EXPORT ssize_t tee(int in, int out, size_t n, unsigned int flags)
{
	if (!on_g())
		return FD_NOTED(tee, real.tee(in, out, n, flags), in, out);
	return FD_NOTED(tee, syscall_ret(block4(SYS_tee, in, out, n, flags)), in, out);
}

EXPORT ssize_t vmsplice(int out, const struct iovec *iov, size_t count, unsigned int flags)
{
	if (!on_g())
		return FD_NOTED(vmsplice, real.vmsplice(out, iov, count, flags), out);
	return FD_NOTED(vmsplice, syscall_ret(block4(SYS_vmsplice, out, iov, count, flags)), out);
}

/*
 * Locks.  fcntl()'s are in fd.c.  Asked for without waiting first: a caller that has to wait gives
 * its P away before.
 */

long file_lockw(int fd, int cmd, void *lock)
{
	long r = block3(SYS_fcntl, fd, cmd == F_SETLKW ? F_SETLK : F_OFD_SETLK, lock);

	/* Waiting is what finds a deadlock. */
	return r == -EAGAIN || r == -EACCES ? await3(SYS_fcntl, fd, cmd, lock) : r;
}

EXPORT int flock(int fd, int op)
{
	long r;

	if (!on_g())
		return real.flock(fd, op);
	r = nocp2(SYS_flock, fd, op | LOCK_NB);
	if (r == -EWOULDBLOCK && !(op & LOCK_NB))
		r = await_nocp(SYS_flock, fd, op, 0, 0, 0, 0);
	return (int)syscall_ret(r);
}

/* F_LOCK waits and is a cancellation point; the other three are questions. */
EXPORT int lockf(int fd, int cmd, off_t n)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_CUR, .l_len = n};

	if (!on_g())
		return real.lockf(fd, cmd, n);
	if (cmd != F_LOCK)
		return HANDOFF(real.lockf(fd, cmd, n));
	return (int)syscall_ret(file_lockw(fd, F_SETLKW, &lock));
}
ALIAS(lockf64, lockf);
