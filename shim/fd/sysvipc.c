/*
 * sysvipc: System V queues and semaphores, POSIX queues.
 *
 * The kernel does the waiting, but is asked without waiting first: a call that must wait gives its
 * P to others before it does.  Message calls are cancellation points, semop is none.
 */
#include "shim/syscall/rawsyscall.h"
#include "shim/syscall/usermem.h"

/* With IPC_NOWAIT nothing sleeps: an empty or full queue is ENOMSG or EAGAIN at once. */
EXPORT ssize_t msgrcv(int id, void *msg, size_t n, long type, int flags)
{
	long r;

	if (!on_g())
		return real.msgrcv(id, msg, n, type, flags);
	if (flags & MSG_COPY && !(flags & IPC_NOWAIT)) /* an error, which the try would not tell */
		return syscall_ret(block5(SYS_msgrcv, id, msg, n, type, flags));
	testcancel();
	r = direct5(SYS_msgrcv, id, msg, n, type, flags | IPC_NOWAIT);
	if (r == -ENOMSG && !(flags & IPC_NOWAIT))
		r = await5(SYS_msgrcv, id, msg, n, type, flags);
	return syscall_ret(r);
}

EXPORT int msgsnd(int id, const void *msg, size_t n, int flags)
{
	long r;

	if (!on_g())
		return real.msgsnd(id, msg, n, flags);
	testcancel();
	r = direct4(SYS_msgsnd, id, msg, n, flags | IPC_NOWAIT);
	if (r == -EAGAIN && !(flags & IPC_NOWAIT))
		r = await4(SYS_msgsnd, id, msg, n, flags);
	return (int)syscall_ret(r);
}

/* Into *copy; false: for the kernel to refuse. */
static bool valid(struct timespec *copy, const struct timespec *ts)
{
	return !ts || (user_get(copy, ts, sizeof(*copy)) && copy->tv_sec >= 0 && copy->tv_nsec >= 0 &&
		       copy->tv_nsec < 1000000000);
}

/*
 * A try is every operation with IPC_NOWAIT; EAGAIN of one that had it anyway comes again.
 * (Rejected: no time instead of a flag; the kernel then sleeps for its timer slack.)
 */
static long semaphore(int id, const struct sembuf *ops, size_t n, const struct timespec *timeout)
{
	enum { SEMOP_FEW = 8 };
	struct sembuf now[SEMOP_FEW];
	struct timespec time;
	long r;

	if (n > SEMOP_FEW || !n || !valid(&time, timeout) || !user_get(now, ops, n * sizeof(now[0])))
		return nocp4(SYS_semtimedop, id, ops, n, timeout);
	for (size_t i = 0; i < n; i++)
		now[i].sem_flg |= IPC_NOWAIT;
	r = nocp4(SYS_semtimedop, id, now, n, NULL);
	if (r != -EAGAIN)
		return r;
	call_timed(SYS_semtimedop);
	return await_nocp(SYS_semtimedop, id, (long)ops, (long)n, (long)timeout, 0, 0);
}

EXPORT int semtimedop(int id, struct sembuf *ops, size_t n, const struct timespec *timeout)
{
	if (!on_g())
		return real.semtimedop(id, ops, n, timeout);
	return (int)syscall_ret(semaphore(id, ops, n, timeout));
}

EXPORT int semop(int id, struct sembuf *ops, size_t n)
{
	if (!on_g())
		return real.semop(id, ops, n);
	return (int)syscall_ret(semaphore(id, ops, n, NULL));
}

/* Until a time that is over: ETIMEDOUT where it would wait. */
static long queue(long nr, mqd_t q, long msg, long n, long prio, const struct timespec *until)
{
	static const struct timespec past;
	struct timespec time;
	long r;

	if (!valid(&time, until))
		return block5(nr, q, msg, n, prio, until);
	r = block5(nr, q, msg, n, prio, &past);
	return r == -ETIMEDOUT ? await5(nr, q, msg, n, prio, until) : r;
}

EXPORT int mq_timedsend(mqd_t q, const char *msg, size_t n, unsigned int prio,
			const struct timespec *until)
{
	if (!on_g())
		return real.mq_timedsend(q, msg, n, prio, until);
	return (int)syscall_ret(queue(SYS_mq_timedsend, q, (long)msg, (long)n, (long)prio, until));
}

EXPORT int mq_send(mqd_t q, const char *msg, size_t n, unsigned int prio)
{
	if (!on_g())
		return real.mq_send(q, msg, n, prio);
	return (int)syscall_ret(queue(SYS_mq_timedsend, q, (long)msg, (long)n, (long)prio, NULL));
}

EXPORT ssize_t mq_timedreceive(mqd_t q, char *msg, size_t n, unsigned int *prio,
			       const struct timespec *until)
{
	if (!on_g())
		return real.mq_timedreceive(q, msg, n, prio, until);
	return syscall_ret(queue(SYS_mq_timedreceive, q, (long)msg, (long)n, (long)prio, until));
}

EXPORT ssize_t mq_receive(mqd_t q, char *msg, size_t n, unsigned int *prio)
{
	if (!on_g())
		return real.mq_receive(q, msg, n, prio);
	return syscall_ret(queue(SYS_mq_timedreceive, q, (long)msg, (long)n, (long)prio, NULL));
}
