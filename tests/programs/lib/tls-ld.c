/* A library with several thread-locals reached by the local-dynamic model. */
static __thread long a __attribute__((tls_model("local-dynamic"))) = 1;
static __thread long b __attribute__((tls_model("local-dynamic"))) = 2;
static __thread long c[50] __attribute__((tls_model("local-dynamic")));

long tls_ld_sum(long add)
{
	long sum = 0;

	a += add;
	b += 2 * add;
	c[49] += 3 * add;
	for (int i = 0; i < 50; i++)
		sum += c[i];
	return a + b + sum;
}
