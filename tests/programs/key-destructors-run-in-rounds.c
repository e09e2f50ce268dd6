/*
 * Destructors of keys: run at exit with the last value, only for keys that hold one; a destructor
 * that sets a value again gets another round, at most PTHREAD_DESTRUCTOR_ITERATIONS (4); a deleted
 * key's destructor never runs; a value of NULL does not count.
 */
#include "check.h"
#include <limits.h>

static pthread_key_t stubborn, polite, late, gone, empty;
static int stubborn_ran, polite_ran, late_ran, wrong_ran;

static void again(void *value)
{
	CHECK(pthread_getspecific(stubborn) == NULL);
	stubborn_ran++;
	CHECK_OK(pthread_setspecific(stubborn, value));
}

static void once(void *value)
{
	CHECK_EQ(*(int *)value, 5);
	CHECK(pthread_getspecific(polite) == NULL);
	polite_ran++;
	/* A value set in a destructor, for a key that had none, is destroyed as well. */
	CHECK_OK(pthread_setspecific(late, value));
}

static void later(void *value)
{
	CHECK_EQ(*(int *)value, 5);
	late_ran++;
}

static void wrong(void *value)
{
	(void)value;
	wrong_ran++;
}

static void *life(void *arg)
{
	int *five = arg;

	CHECK_OK(pthread_setspecific(stubborn, arg));
	CHECK_OK(pthread_setspecific(polite, "not this one"));
	CHECK_OK(pthread_setspecific(polite, five));
	CHECK_OK(pthread_setspecific(gone, arg));
	CHECK_OK(pthread_setspecific(empty, arg));
	CHECK_OK(pthread_setspecific(empty, NULL));
	CHECK_OK(pthread_key_delete(gone));
	return NULL;
}

static void *ends_by_exit(void *arg)
{
	int *five = arg;

	CHECK_OK(pthread_setspecific(polite, five));
	pthread_exit(NULL);
}

int main(void)
{
	static int five = 5;

	CHECK_OK(pthread_key_create(&late, later));
	CHECK_OK(pthread_key_create(&stubborn, again));
	CHECK_OK(pthread_key_create(&polite, once));
	CHECK_OK(pthread_key_create(&gone, wrong));
	CHECK_OK(pthread_key_create(&empty, wrong));
	join(spawn(life, &five));
	CHECK_EQ(stubborn_ran, PTHREAD_DESTRUCTOR_ITERATIONS);
	CHECK_EQ(polite_ran, 1);
	CHECK_EQ(late_ran, 1);
	CHECK_EQ(wrong_ran, 0);
	passed("a stubborn destructor ran %d times", stubborn_ran);
	join(spawn(ends_by_exit, &five));
	CHECK_EQ(polite_ran, 2);
	CHECK_EQ(stubborn_ran, PTHREAD_DESTRUCTOR_ITERATIONS);
	passed("destructors run after pthread_exit too, and nothing was left from the first life");
	return 0;
}
