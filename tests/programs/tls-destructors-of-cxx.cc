/*
 * C++ thread_local objects: constructed on first use by each thread, destroyed once at the end of
 * that thread, in reverse order of construction, before the destructors of pthread keys; they may
 * block, and may bring other thread_locals to life.
 */
#include "check.h"
#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace {

std::atomic<int> made, unmade, keys_after;

struct traced {
	pthread_t owner = pthread_self();
	std::vector<std::string> words;
	traced()
	{
		made++;
	}
	~traced()
	{
		CHECK(pthread_equal(owner, pthread_self()));
		sched_yield();
		for (auto &w : words)
			CHECK(w == "a word that does not fit the small buffer");
		unmade++;
	}
};

thread_local std::string *order;

struct tail {
	char name;
	explicit tail(char c) : name(c) {}
	~tail()
	{
		if (order)
			order->push_back(name);
	}
};

thread_local traced object;
thread_local tail a('a'), b('b'), c('c');
thread_local traced late;

struct awakens {
	bool on = false;
	~awakens()
	{
		if (on)
			late.words.emplace_back("a word that does not fit the small buffer");
	}
};

thread_local awakens awake;
pthread_key_t key;

void key_destructor(void *)
{
	/* All thread_locals of this thread are gone by now. */
	keys_after++;
}

void use(int i)
{
	CHECK_OK(pthread_setspecific(key, &made));
	object.words.emplace_back("a word that does not fit the small buffer");
	sched_yield();
	CHECK_EQ(object.words.size(), 1);
	awake.on = i % 2;
}

} // namespace

int main()
{
	CHECK_OK(pthread_key_create(&key, key_destructor));
	for (int round = 0; round < 10; round++) {
		std::vector<std::thread> ts;

		for (int i = 0; i < 50; i++)
			ts.emplace_back(use, i);
		for (auto &t : ts)
			t.join();
	}
	CHECK_EQ(made.load(), unmade.load());
	CHECK_EQ(keys_after.load(), 500);
	/* Each TU's thread_locals are made together: object and late both, in each of 500 threads.
	 */
	CHECK_EQ(made.load(), 1000);
	passed("1000 objects of 500 threads, each destroyed on its own thread");

	std::string seen;
	std::thread([&] {
		order = &seen;
		(void)object.words.size();
	}).join();
	CHECK(seen == "cba");
	passed("destroyed in reverse order");
	return 0;
}
