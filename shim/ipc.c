/*
 * ipc: System V queues and semaphores, POSIX queues, and waiting for asynchronous I/O.
 *
 * The kernel does the waiting.  Message calls are cancellation points, semop is none.  Asynchronous
 * I/O itself stays libc's: its helpers are kernel threads of their own, only waiting for them is a
 * matter of the G that does.
 */
#include "shim/direct.h"

/* With IPC_NOWAIT nothing sleeps: an empty or full queue is ENOMSG or EAGAIN at once. */
EXPORT ssize_t msgrcv(int id, void *msg, size_t n, long type, int flags)
{
	if (!on_g())
		return real.msgrcv(id, msg, n, type, flags);
	if (flags & IPC_NOWAIT) {
		testcancel();
		return syscall_ret(direct5(SYS_msgrcv, id, msg, n, type, flags));
	}
	return syscall_ret(block5(SYS_msgrcv, id, msg, n, type, flags));
}

EXPORT int msgsnd(int id, const void *msg, size_t n, int flags)
{
	if (!on_g())
		return real.msgsnd(id, msg, n, flags);
	if (flags & IPC_NOWAIT) {
		testcancel();
		return (int)syscall_ret(direct4(SYS_msgsnd, id, msg, n, flags));
	}
	return (int)syscall_ret(block4(SYS_msgsnd, id, msg, n, flags));
}

EXPORT int semtimedop(int id, struct sembuf *ops, size_t n, const struct timespec *timeout)
{
	if (!on_g())
		return real.semtimedop(id, ops, n, timeout);
	return (int)syscall_ret(nocp4(SYS_semtimedop, id, ops, n, timeout));
}

EXPORT int semop(int id, struct sembuf *ops, size_t n)
{
	if (!on_g())
		return real.semop(id, ops, n);
	return (int)syscall_ret(nocp4(SYS_semtimedop, id, ops, n, NULL));
}

EXPORT int mq_timedsend(mqd_t q, const char *msg, size_t n, unsigned int prio,
			const struct timespec *until)
{
	if (!on_g())
		return real.mq_timedsend(q, msg, n, prio, until);
	return (int)syscall_ret(block5(SYS_mq_timedsend, q, msg, n, prio, until));
}

EXPORT int mq_send(mqd_t q, const char *msg, size_t n, unsigned int prio)
{
	if (!on_g())
		return real.mq_send(q, msg, n, prio);
	return (int)syscall_ret(block5(SYS_mq_timedsend, q, msg, n, prio, NULL));
}

EXPORT ssize_t mq_timedreceive(mqd_t q, char *msg, size_t n, unsigned int *prio,
			       const struct timespec *until)
{
	if (!on_g())
		return real.mq_timedreceive(q, msg, n, prio, until);
	return syscall_ret(block5(SYS_mq_timedreceive, q, msg, n, prio, until));
}

EXPORT ssize_t mq_receive(mqd_t q, char *msg, size_t n, unsigned int *prio)
{
	if (!on_g())
		return real.mq_receive(q, msg, n, prio);
	return syscall_ret(block5(SYS_mq_timedreceive, q, msg, n, prio, NULL));
}

EXPORT int aio_suspend(const struct aiocb *const list[], int n, const struct timespec *timeout)
{
	if (!on_g())
		return real.aio_suspend(list, n, timeout);
	return HANDOFF(real.aio_suspend(list, n, timeout));
}

EXPORT int aio_suspend64(const struct aiocb64 *const list[], int n, const struct timespec *timeout)
{
	if (!on_g())
		return real.aio_suspend64(list, n, timeout);
	return HANDOFF(real.aio_suspend64(list, n, timeout));
}

/* LIO_WAIT waits for all of them; LIO_NOWAIT only queues. */
EXPORT int lio_listio(int mode, struct aiocb *const list[], int n, struct sigevent *ev)
{
	if (!on_g() || mode != LIO_WAIT)
		return real.lio_listio(mode, list, n, ev);
	return HANDOFF(real.lio_listio(mode, list, n, ev));
}

EXPORT int lio_listio64(int mode, struct aiocb64 *const list[], int n, struct sigevent *ev)
{
	if (!on_g() || mode != LIO_WAIT)
		return real.lio_listio64(mode, list, n, ev);
	return HANDOFF(real.lio_listio64(mode, list, n, ev));
}

EXPORT int gai_suspend(const struct gaicb *const list[], int n, const struct timespec *timeout)
{
	if (!on_g())
		return real.gai_suspend(list, n, timeout);
	return HANDOFF(real.gai_suspend(list, n, timeout));
}
