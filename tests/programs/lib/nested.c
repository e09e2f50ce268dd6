/* The address of a nested function that uses its frame is code on the stack: a trampoline. */
static __attribute__((noinline)) long twice(long (*fn)(long), long n)
{
	return fn(fn(n));
}

long nested_add(long by, long n)
{
	long add(long to)
	{
		return to + by;
	}

	return twice(add, n);
}
