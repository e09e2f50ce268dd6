/*
 * async: requests that threads of libc's own carry out, and what these call when one is done.
 *
 * A callback (SIGEV_THREAD) is code of the program on a thread that libc made past this library.
 * Weft starts before libc makes it.  Otherwise the callback could be the first to make a thread,
 * and there is only one place for a first thread, main's; or it could wait inside libc's own locks
 * and condition variables when weft starts, where no wake-up of weft's reaches it.  Other helper
 * threads of libc run no code of the program, and start nothing.
 *
 * Must never: start weft in a call that must not allocate (aio_suspend, aio_error, aio_return).
 */
#include "runtime/process.h"
#include "shim/syscall/syscall.h"
#include "shim/thread/thread.h"

void activate_for(const struct sigevent *ev)
{
	if (!weft_on && ev && ev->sigev_notify == SIGEV_THREAD)
		activate();
}

#define REQUEST(ret, name, params, args, ev)                                                       \
	EXPORT ret name params                                                                     \
	{                                                                                          \
		activate_for(ev);                                                                  \
		return real.name args;                                                             \
	}

REQUEST(int, aio_read, (struct aiocb * cb), (cb), &cb->aio_sigevent)
REQUEST(int, aio_read64, (struct aiocb64 * cb), (cb), &cb->aio_sigevent)
REQUEST(int, aio_write, (struct aiocb * cb), (cb), &cb->aio_sigevent)
REQUEST(int, aio_write64, (struct aiocb64 * cb), (cb), &cb->aio_sigevent)
REQUEST(int, aio_fsync, (int op, struct aiocb *cb), (op, cb), &cb->aio_sigevent)
REQUEST(int, aio_fsync64, (int op, struct aiocb64 *cb), (op, cb), &cb->aio_sigevent)
REQUEST(int, getaddrinfo_a, (int mode, struct gaicb *list[], int n, struct sigevent *ev),
	(mode, list, n, ev), ev)

/* By number. */
long asks_notice(const struct call *x)
{
	if (x->b)
		runtime_file_keep((int)x->a);
	return call_plain(x);
}

EXPORT int mq_notify(mqd_t q, const struct sigevent *ev)
{
	activate_for(ev);
	if (ev)
		runtime_file_keep(q);
	return real.mq_notify(q, ev);
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
	activate_for(mode == LIO_WAIT ? NULL : ev);
	for (int i = 0; i < n; i++)
		activate_for(list[i] ? &list[i]->aio_sigevent : NULL);
	if (!on_g() || mode != LIO_WAIT)
		return real.lio_listio(mode, list, n, ev);
	return HANDOFF(real.lio_listio(mode, list, n, ev));
}

EXPORT int lio_listio64(int mode, struct aiocb64 *const list[], int n, struct sigevent *ev)
{
	activate_for(mode == LIO_WAIT ? NULL : ev);
	for (int i = 0; i < n; i++)
		activate_for(list[i] ? &list[i]->aio_sigevent : NULL);
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
