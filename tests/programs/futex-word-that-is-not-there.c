/*
 * A private futex word in memory that is not there: EFAULT for what reads it, with other threads that
 * wait meanwhile, and nothing for a wake-up, which does not.
 */
#include "check.h"
#include <linux/futex.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static uint32_t word;

static long futex(void *at, int op, long a, long b, void *at2, long c)
{
	return syscall(SYS_futex, at, op | FUTEX_PRIVATE_FLAG, a, b, at2, c);
}

static void *waits(void *arg)
{
	while (__atomic_load_n(&word, __ATOMIC_SEQ_CST) == 0)
		futex(&word, FUTEX_WAIT, 0, 0, NULL, 0);
	return arg;
}

static void *all(void *arg)
{
	char *at = arg;

	for (int i = 0; i < 3; i++, at += 4096 / 4) {
		CHECK_ERR(futex(at, FUTEX_WAIT, 0, 0, NULL, 0), EFAULT);
		CHECK_ERR(futex(at, FUTEX_WAIT_BITSET, 0, 0, NULL, 1), EFAULT);
		CHECK_ERR(futex(at, FUTEX_CMP_REQUEUE, 1, 1, &word, 0), EFAULT);
		CHECK_ERR(futex(&word, FUTEX_WAKE_OP, 0, 0, at, 0), EFAULT);
		CHECK_EQ(futex(at, FUTEX_WAKE, 1, 0, NULL, 0), 0);
	}
	return arg;
}

int main(void)
{
	char *none = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t t = spawn(waits, NULL);

	CHECK(none != MAP_FAILED);
	let_others_block();
	join(spawn(all, none));
	all(none);
	CHECK_ERR(futex(&word, FUTEX_WAIT, 1, 0, NULL, 0), EAGAIN);
	__atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
	CHECK(futex(&word, FUTEX_WAKE, 1, 0, NULL, 0) >= 0);
	join(t);
	passed("words that are not there");
	return 0;
}
