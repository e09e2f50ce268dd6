/*
 * stackshape: no two parts of a slot overlap, whatever is asked for.
 */
#include "tests/unit/world.h"

#include <limits.h>
#include <stdint.h>

static void one(void)
{
	world(1);
}

TestSuite(shape, .init = one, .timeout = 60);

enum { PAGE = 4096, STACK_MIN = 16384 };

static const size_t sizes[] = {
	STACK_MIN, STACK_MIN + 1,  STACK_MIN + 63, STACK_MIN + 64,
	20000,		   65535,		   65536,		   65537,
	98303,		   98304,		   100000,		   1000000,
	1 << 20,	   (1 << 20) + 4095,	   8 << 20,		   (8 << 20) + 17,
};
static const size_t guards[] = { 0, 1, 4095, 4096, 4097, 5000, 65536, 1 << 20 };
static const size_t aligns[] = { 0, 64, 128, 4096, 8192, 65536 };

#define ROWS(table, v) for (size_t v##_i = 0, v; v##_i < nelem(table) && ((v = table[v##_i]), 1); v##_i++)

static size_t rounded_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

Test(shape, no_two_parts_overlap)
{
	ROWS(sizes, size) ROWS(guards, guard) ROWS(aligns, align) {
		size_t al = align > 64 ? align : 64;
		struct gattr a = { .stacksize = size, .guardsize = guard, .tlsarea = al, .tlsalign = align };
		struct shape s;
		int err = stack_shape(&a, &s);

		if (size < al) {
			cr_assert_eq(err, -EINVAL, "nothing would be left of the stack");
			continue;
		}
		cr_assert_eq(err, 0);
		cr_assert_eq(s.size % PAGE, 0);
		cr_assert_eq(s.guard, rounded_up(guard, PAGE));
		cr_assert_eq(s.top - s.guard, size / al * al, "what the program asked for, as libc rounds it");
		cr_assert_geq(s.size, s.top);
		cr_assert_lt(s.size, s.top + PAGE);
		cr_assert_not(s.user);
	}
}

Test(shape, on_the_programs_own_stack_there_is_no_slot)
{
	char mine[64];

	ROWS(sizes, size) ROWS(aligns, align) {
		struct gattr a = { .stack = mine, .stacksize = size, .guardsize = PAGE, .tlsarea = 4096,
				   .tlsalign = align };
		struct shape s;

		cr_assert_eq(stack_shape(&a, &s), 0);
		cr_assert_eq(s.guard | s.top | s.size, 0);
		cr_assert(s.user);
	}
}

/* A sum that goes past the end of all memory is an error, never a small number. */
Test(shape, no_sum_overflows)
{
	static const size_t huge[] = { SIZE_MAX,	 SIZE_MAX - 63,	   SIZE_MAX - 4095,
				       SIZE_MAX - 4096,	 SIZE_MAX - 8191,  SIZE_MAX - 65535,
				       SIZE_MAX - 100032, SIZE_MAX / 2 + 1, SIZE_MAX / 2 };
	static const size_t any[] = { 0, STACK_MIN, 8 << 20, SIZE_MAX / 2, SIZE_MAX - 65535, SIZE_MAX };

	ROWS(huge, h) ROWS(any, o) ROWS(aligns, align) {
		struct gattr stack = { .stacksize = h, .guardsize = o, .tlsarea = 4096, .tlsalign = align };
		struct gattr guard = { .stacksize = o, .guardsize = h, .tlsarea = 4096, .tlsalign = align };
		const struct gattr *tried[] = { &stack, &guard };

		for (size_t i = 0; i < nelem(tried); i++) {
			struct shape s;

			if (stack_shape(tried[i], &s))
				continue;
			cr_assert_geq(s.top, s.guard);
			cr_assert_geq(s.guard, tried[i]->guardsize);
			cr_assert_geq(s.size, s.top);
		}
	}
}

Test(shape, a_stack_that_libc_would_refuse_is_refused_as_libc_does)
{
	struct gattr a = { .stacksize = SIZE_MAX, .guardsize = 4096, .tlsarea = 4096 };
	struct shape s;

	cr_expect_eq(stack_shape(&a, &s), -EINVAL);
	a.guardsize = 0;
	cr_expect_eq(stack_shape(&a, &s), -ENOMEM, "libc would ask the kernel, which has none");
	a.stacksize = 65536;
	a.guardsize = SIZE_MAX;
	cr_expect_eq(stack_shape(&a, &s), -EINVAL);
}
