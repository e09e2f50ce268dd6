/* tcb: what callers of the interface may rely on about areas, ids and the cancellation word. */
#include "compat/glibc.h"
#include "compat/tcb.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct tcb_stack stk;

static void *area(void)
{
	void *p = aligned_alloc(tcb_area_align(), tcb_area_size());

	cr_assert_not_null(p);
	memset(p, 0, tcb_area_size());
	stk = (struct tcb_stack){p, tcb_area_size(), 0};
	return p;
}

static void init(void)
{
	cr_assert_eq(compat_init(), 0, "%s", compat_why());
}

TestSuite(tcb, .init = init, .timeout = 60);

Test(tcb, area_holds_static_tls_and_the_block)
{
	char *a = area();
	char *t = (char *)tcb_create(a, &stk, 0x10000001);

	cr_assert_eq(tcb_area_size() % tcb_area_align(), 0u);
	cr_assert_eq((uintptr_t)t % tcb_area_align(), 0u);
	cr_assert_geq(t - a, (ptrdiff_t)layout.libc_tls.offset);
	cr_assert_leq(t + layout.size, a + tcb_area_size());
	tcb_destroy((struct tcb *)t);
	free(a);
}

Test(tcb, block_knows_its_own_address_and_id)
{
	void *a = area();
	struct tcb *t = tcb_create(a, &stk, 0x10000001);

	cr_assert_eq(*word_at(t, 0x10), (uintptr_t)t);
	cr_assert_eq(tcb_tid(t), 0x10000001u);
	tcb_set_tid(t, 7);
	cr_assert_eq(tcb_tid(t), 7u);
	cr_assert_eq(tcb_reuse(t, &stk, 0x10000002), 0);
	cr_assert_eq(tcb_tid(t), 0x10000002u);
	tcb_destroy(t);
	free(a);
}

Test(tcb, canary_and_pointer_guard_are_the_process_ones)
{
	void *a = area();
	struct tcb *t = tcb_create(a, &stk, 1);

	cr_assert_eq(*word_at(t, 0x28), *word_at(tcb_self(), 0x28));
	cr_assert_eq(*word_at(t, 0x30), *word_at(tcb_self(), 0x30));
	tcb_destroy(t);
	free(a);
}

Test(tcb, request_is_pending_only_while_enabled_and_not_exiting)
{
	void *a = area();
	struct tcb *t = tcb_create(a, &stk, 1);
	int *w = tcb_cancelhandling(t);

	cr_assert(tcb_cancel_enabled(t) && !tcb_cancel_async(t) && !tcb_cancel_pending(t));
	*w |= tcb_cancel_request_bits;
	cr_assert(tcb_cancel_pending(t));
	*(uint8_t *)at(t, layout.cancel_async.offset) |= layout.cancel_async.mask;
	cr_assert(tcb_cancel_async(t));
	*(uint8_t *)at(t, layout.cancel_disabled.offset) |= layout.cancel_disabled.mask;
	cr_assert(!tcb_cancel_pending(t) && !tcb_cancel_async(t));
	*(uint8_t *)at(t, layout.cancel_disabled.offset) &= (uint8_t)~layout.cancel_disabled.mask;
	*w |= 0x10;
	cr_assert(!tcb_cancel_pending(t));
	/* None of it reaches the next life. */
	cr_assert_eq(tcb_reuse(t, &stk, 2), 0);
	cr_assert(tcb_cancel_enabled(t) && !tcb_cancel_async(t) && *w == 0);
	tcb_destroy(t);
	free(a);
}

Test(tcb, every_static_module_is_at_the_same_distance)
{
	struct tls_module m[TLS_MODULES_MAX];
	int n = tls_static_modules(m, TLS_MODULES_MAX);
	void *a = area();
	struct tcb *t = tcb_create(a, &stk, 1);
	ptrdiff_t err = (char *)&errno - (char *)tcb_self();

	cr_assert_gt(n, 0);
	cr_assert(tls_dtv_matches((char *)t, m, n));
	cr_assert_eq(*(int *)at(t, err), 0);
	*(int *)at(t, err) = 5;
	cr_assert_eq(tcb_reuse(t, &stk, 2), 0);
	cr_assert_eq(*(int *)at(t, err), 0);
	cr_assert(tls_dtv_matches((char *)t, m, n));
	tcb_destroy(t);
	free(a);
}

Test(tcb, the_lock_of_a_file_counts_from_where_it_was_measured)
{
	const struct compat_file_lock *l = (const void *)stderr->_lock;

	flockfile(stderr);
	cr_assert_eq(l->count, compat_file_held);
	flockfile(stderr);
	cr_assert_eq(l->count, compat_file_held + 1);
	funlockfile(stderr);
	funlockfile(stderr);
	cr_assert_eq(l->owner, NULL);
}

Test(tcb, a_condition_variable_s_flags_are_inside_it)
{
	cr_assert_lt(compat_cond_flags_offset, sizeof(pthread_cond_t));
	cr_assert_eq(compat_cond_flags_offset % 4, 0u);
}
