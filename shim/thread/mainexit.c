/*
 * mainexit: main's pthread_exit, and cancellation of main.
 *
 * libc unwinds an exiting main thread to its own buffer and then ends the *kernel thread*; ours
 * must not end, it is M0.  So main runs inside a frame of ours that registers its own buffer: the
 * unwinding stops here, after every frame of the program had its cleanup, and the main G ends like
 * any other.
 *
 * The process ends when the last thread does.  Gs are counted; a thread of libc's own (one that
 * serves timers never ends) is looked for when the last G ends.  While there is one, a G that the
 * program does not see waits for it.  That one is a G so that callbacks may go on to make others:
 * it ends in its turn, and whichever is the last looks again.
 */
#include "shim/syscall/rawsyscall.h"
#include "shim/thread/thread.h"

#include <linux/futex.h>

#include <setjmp.h>

/* Exported for the cleanup macros of C code; the header hides them where exceptions are on. */
extern void __pthread_register_cancel(__pthread_unwind_buf_t *buf);
extern void __pthread_unregister_cancel(__pthread_unwind_buf_t *buf);

static int (*program_main)(int, char **, char **);

static int main_of_weft(int argc, char **argv, char **envp)
{
	__pthread_unwind_buf_t buf;

	if (__sigsetjmp_cancel(buf.__cancel_jmp_buf, 0) == 0) {
		__pthread_register_cancel(&buf);
		/* In this frame, as libc: a handler of exit's may end the thread, too. */
		exit(program_main(argc, argv, envp));
	}
	if (!weft_on) {
		/* No G was ever made: libc's own way from here on. */
		__pthread_unregister_cancel(&buf);
		real.pthread_exit(self_thread.result);
	}
	syscall_reset();
	if (!self_thread.exiting)
		self_thread.result = PTHREAD_CANCELED;
	thread_end(&self_thread);
}

EXPORT int __libc_start_main(int (*m)(int, char **, char **), int argc, char **argv,
			     int (*init)(int, char **, char **), void (*fini)(void),
			     void (*rtld_fini)(void), void *stack_end)
{
	program_main = m;
	return real.__libc_start_main(main_of_weft, argc, argv, init, fini, rtld_fini, stack_end);
}

/* Of those that come and go one is waited for, not too long: its stack may be another's by then. */
static void *await_others(void *unused)
{
	struct timespec ts = {.tv_nsec = 100000000};
	uint32_t *word, id;

	entersyscallblock();
	while ((word = tcb_other(&id)))
		direct4(SYS_futex, word, FUTEX_WAIT, id, &ts);
	exitsyscall();
	return unused;
}

/* Detached, and with all signals shut out, as threads of libc's own are. */
static int make_waiter(void)
{
	pthread_attr_t attr;
	sigset_t all;
	pthread_t t;
	int err;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setsigmask_np(&attr, &all);
	err = pthread_create(&t, &attr, await_others, NULL);
	pthread_attr_destroy(&attr);
	return err;
}

void thread_lastexit(void)
{
	uint32_t id;
	int status;

	if (tcb_other(&id)) {
		if (!make_waiter())
			return;
		await_others(NULL); /* no memory for another */
	}
	if (thread_ended_by_number(&status))
		direct3(SYS_exit_group, status, 0, 0);
	exit(0);
}
