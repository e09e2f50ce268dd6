/*
 * Cancellation and pthread_exit unwind C++ frames: destructors run, catch (...) sees the forced
 * unwind and must rethrow it, locks held by guards are released, and thread_locals are destroyed.
 */
#include "check.h"
#include <atomic>
#include <condition_variable>
#include <cxxabi.h>
#include <mutex>

namespace {

std::atomic<int> destroyed, caught, locals_gone;
std::mutex mu;
std::condition_variable cv;
bool ready;

struct guard {
	~guard()
	{
		destroyed++;
	}
};

struct local {
	~local()
	{
		locals_gone++;
	}
	int touched = 0;
};

thread_local local tl;

void deep(int n)
{
	guard g;

	if (n > 0)
		return deep(n - 1);
	try {
		std::unique_lock<std::mutex> lock(mu);
		ready = true;
		cv.notify_all();
		while (ready)
			pause();
	} catch (abi::__forced_unwind &) {
		caught++;
		throw;
	}
}

void *in_pause(void *)
{
	tl.touched = 1;
	deep(20);
	return nullptr;
}

void *by_exit(void *value)
{
	guard g;

	tl.touched = 1;
	try {
		pthread_exit(value);
	} catch (...) {
		caught++;
		throw;
	}
}

} // namespace

int main()
{
	pthread_t t = spawn(in_pause, nullptr);

	let_others_block();
	CHECK_OK(pthread_cancel(t));
	CHECK(join(t) == PTHREAD_CANCELED);
	/* Whenever the request came, the thread acted on it in pause(). */
	CHECK(ready);
	CHECK_EQ(destroyed.load(), 21);
	CHECK_EQ(caught.load(), 1);
	CHECK_EQ(locals_gone.load(), 1);
	CHECK(mu.try_lock());
	mu.unlock();
	passed("cancel: 21 destructors, one catch, the lock is free, the thread_local is gone");

	char value;

	CHECK(join(spawn(by_exit, &value)) == &value);
	CHECK_EQ(destroyed.load(), 22);
	CHECK_EQ(caught.load(), 2);
	CHECK_EQ(locals_gone.load(), 2);
	passed("pthread_exit: the same");
	return 0;
}
