/*
 * The last user may destroy and free a mutex as soon as it has locked and unlocked it, even while
 * the previous owner is still inside pthread_mutex_unlock (POSIX's reference count example).  The
 * memory is filled with junk at once, so an unlock that looks at the object again will see it.
 */
#include "check.h"

struct object {
	pthread_mutex_t mu;
	int refs;
};

static void put(struct object *o)
{
	int last;

	CHECK_OK(pthread_mutex_lock(&o->mu));
	last = --o->refs == 0;
	CHECK_OK(pthread_mutex_unlock(&o->mu));
	if (last) {
		CHECK_OK(pthread_mutex_destroy(&o->mu));
		memset(o, 0xa5, sizeof *o);
		free(o);
	}
}

static void *user(void *arg)
{
	put(arg);
	return NULL;
}

int main(void)
{
	enum { USERS = 4, ROUNDS = 1500 };

	for (int round = 0; round < ROUNDS; round++) {
		struct object *o = malloc(sizeof *o);
		pthread_t t[USERS];

		CHECK(o != NULL);
		CHECK_OK(pthread_mutex_init(&o->mu, NULL));
		o->refs = USERS + 1;
		for (int i = 0; i < USERS; i++)
			t[i] = spawn(user, o);
		put(o);
		for (int i = 0; i < USERS; i++)
			join(t[i]);
	}
	passed("%d objects freed by their last user", ROUNDS);
	return 0;
}
