/*
 * set_robust_list(2): the words on the list of a thread that ends get FUTEX_OWNER_DIED, and one waiter is
 * woken; words of others and what cannot be read are left alone; get_robust_list(2) says what is
 * registered, libc's own list before.  A fork child has none.
 */
#include "check.h"
#include <linux/futex.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>

struct held {
	struct robust_list link;
	uint32_t word;
};

static struct list {
	struct robust_list_head head;
	struct held held[4];
} lists[8];
static _Atomic int woken;

static long futex(uint32_t *w, int op, uint32_t v)
{
	return syscall(SYS_futex, w, op, v, NULL, NULL, 0);
}

static struct robust_list_head *registered(void)
{
	struct robust_list_head *head = NULL;
	size_t size = 0;

	CHECK_EQ(syscall(SYS_get_robust_list, 0, &head, &size), 0);
	CHECK_EQ(size, sizeof(*head));
	return head;
}

static void register_list(struct list *l, int n)
{
	CHECK(registered() != &l->head);
	l->head.futex_offset = offsetof(struct held, word) - offsetof(struct held, link);
	l->head.list.next = n ? &l->held[0].link : &l->head.list;
	for (int i = 0; i < n; i++)
		l->held[i].link.next = i + 1 < n ? &l->held[i + 1].link : &l->head.list;
	CHECK_EQ(syscall(SYS_set_robust_list, &l->head, sizeof(l->head)), 0);
	CHECK(registered() == &l->head);
}

static void *ends(void *arg)
{
	struct list *l = arg;

	register_list(l, 3);
	CHECK_ERR(syscall(SYS_set_robust_list, &l->head, 8), EINVAL);
	l->held[0].word = (uint32_t)gettid();
	l->held[1].word = 12; /* another's */
	__atomic_fetch_or(&l->held[2].word, (uint32_t)gettid(), __ATOMIC_SEQ_CST);
	l->head.list_op_pending = &l->held[3].link;
	l->held[3].word = (uint32_t)gettid();
	return NULL;
}

static void *waits(void *arg)
{
	struct held *h = arg;
	uint32_t v = FUTEX_WAITERS;

	while (!((v = __atomic_load_n(&h->word, __ATOMIC_SEQ_CST)) & FUTEX_OWNER_DIED))
		futex(&h->word, FUTEX_WAIT, v);
	woken++;
	return NULL;
}

static void *lost(void *arg)
{
	struct list *l = arg;

	register_list(l, 2);
	l->held[0].word = (uint32_t)gettid();
	l->held[0].link.next = (struct robust_list *)16;
	return NULL;
}

int main(void)
{
	pthread_t w;
	int status;
	pid_t pid;

	join(spawn(ends, &lists[0]));
	CHECK_EQ(lists[0].held[0].word, FUTEX_OWNER_DIED);
	CHECK_EQ(lists[0].held[1].word, 12);
	CHECK_EQ(lists[0].held[2].word, FUTEX_OWNER_DIED);
	CHECK_EQ(lists[0].held[3].word, FUTEX_OWNER_DIED);
	passed("what a thread held when it ended is marked, and nothing else");

	lists[1].held[2].word = FUTEX_WAITERS;
	w = spawn(waits, &lists[1].held[2]);
	let_others_block();
	join(spawn(ends, &lists[1]));
	join(w);
	CHECK_EQ(woken, 1);
	CHECK_EQ(lists[1].held[2].word, FUTEX_WAITERS | FUTEX_OWNER_DIED);
	passed("the waiter is woken");

	join(spawn(lost, &lists[2]));
	CHECK_EQ(lists[2].held[0].word, FUTEX_OWNER_DIED);
	passed("a list that leads nowhere does no harm");

	register_list(&lists[3], 1);
	lists[3].held[0].word = (uint32_t)gettid();
	CHECK_SYS(pid = fork());
	if (pid == 0)
		_exit(registered() == &lists[3].head);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	passed("a fork child has not the list of its parent");
	CHECK_EQ(syscall(SYS_set_robust_list, NULL, sizeof(lists[3].head)), 0);
	return 0;
}
