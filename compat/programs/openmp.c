/* openmp: what a run-time of OpenMP does with threads, printed as sums. */
#include <stdio.h>
#include <omp.h>

enum { N = 200000, ROUNDS = 2000 };

static long team(void)
{
	long sum = 0;

#pragma omp parallel for reduction(+ : sum) schedule(dynamic, 64)
	for (int i = 0; i < N; i++)
		sum += i % 7;
	return sum;
}

static long barriers(void)
{
	static int turn[64];
	long odd = 0;

#pragma omp parallel reduction(+ : odd)
	for (int i = 0; i < ROUNDS; i++) {
		turn[omp_get_thread_num()] = i;
#pragma omp barrier
		for (int t = 0; t < omp_get_num_threads(); t++)
			odd += turn[t] != i;
#pragma omp barrier
	}
	return odd;
}

static long fib(int n)
{
	long a, b;

	if (n < 2)
		return n;
#pragma omp task shared(a) if (n > 12)
	a = fib(n - 1);
	b = fib(n - 2);
#pragma omp taskwait
	return a + b;
}

static long locked(void)
{
	omp_lock_t l;
	long n = 0, m = 0;

	omp_init_lock(&l);
#pragma omp parallel for
	for (int i = 0; i < N / 10; i++) {
		omp_set_lock(&l);
		n++;
		omp_unset_lock(&l);
#pragma omp critical
		m++;
	}
	omp_destroy_lock(&l);
	return n * 2 + m;
}

int main(void)
{
	long f = 0;

	printf("team %ld\n", team());
	printf("barriers %ld\n", barriers());
#pragma omp parallel
#pragma omp single
	f = fib(22);
	printf("tasks %ld\n", f);
	printf("locks %ld\n", locked());
	/* Teams that come and go, of several sizes. */
	for (int i = 1; i < 40; i++) {
		long n = 0;
#pragma omp parallel num_threads(i % 9 + 1) reduction(+ : n)
		n += 1;
		if (n != i % 9 + 1)
			printf("a team of %ld, not %d\n", n, i % 9 + 1);
	}
	return 0;
}
