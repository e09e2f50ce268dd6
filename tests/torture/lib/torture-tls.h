/*
 * torture-tls: a library with thread-locals in the three models a shared object may use, loaded by
 * torture.cc while its threads are alive.  Four copies, torture-tls-N.c, so that several modules
 * come while threads live; each knows its initial values by NUMBER.  Only number 0 has initial-exec
 * variables, since static TLS is scarce and never given back.
 */
#ifndef NUMBER
#error "include it from torture-tls-N.c, which defines NUMBER"
#endif

__thread long torture_gd __attribute__((tls_model("global-dynamic"))) = 1000 + NUMBER;
static __thread long ld_a __attribute__((tls_model("local-dynamic"))) = 2000 + NUMBER;
static __thread long ld_b[100] __attribute__((tls_model("local-dynamic")));
#if NUMBER == 0
static __thread long ie __attribute__((tls_model("initial-exec"))) = 3000;
#endif

/* The sum of all variables; add goes to each of them, so a fresh thread has sum(0) == the initial
 * one. */
long torture_tls(long add)
{
	long sum;

	torture_gd += add;
	ld_a += add;
	ld_b[99] += add;
	sum = torture_gd + ld_a + ld_b[0] + ld_b[99];
#if NUMBER == 0
	ie += add;
	sum += ie;
#endif
	return sum;
}

long torture_tls_initial(void)
{
	return 1000 + NUMBER + 2000 + NUMBER + (NUMBER == 0 ? 3000 : 0);
}

long torture_tls_variables(void)
{
	return NUMBER == 0 ? 4 : 3;
}
