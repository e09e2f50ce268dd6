/*
 * std::call_once and pthread_once with initialisers that throw: the exception reaches the caller,
 * and the next caller tries again, until one succeeds; also function-local statics, which wait in
 * the C++ runtime while another thread constructs them.
 */
#include "check.h"
#include <atomic>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

std::atomic<int> attempts, failures, static_attempts, statics_made;

struct slow_static {
	slow_static()
	{
		if (static_attempts++ < 3)
			throw std::runtime_error("not yet");
		std::this_thread::sleep_for(std::chrono::milliseconds(10));
		statics_made++;
	}
	int value = 17;
};

void with_call_once()
{
	std::once_flag flag;
	std::vector<std::thread> ts;

	for (int i = 0; i < 40; i++)
		ts.emplace_back([&] {
			try {
				std::call_once(flag, [] {
					std::this_thread::yield();
					if (attempts++ < 5)
						throw std::runtime_error("not yet");
				});
			} catch (const std::runtime_error &) {
				failures++;
			}
		});
	for (auto &t : ts)
		t.join();
	CHECK_EQ(attempts.load(), 6);
	CHECK_EQ(failures.load(), 5);
	passed("call_once: five failed, the sixth did it");
}

void with_statics()
{
	std::vector<std::thread> ts;
	std::atomic<int> caught{ 0 };

	for (int i = 0; i < 40; i++)
		ts.emplace_back([&] {
			for (;;) {
				try {
					static slow_static s;
					CHECK_EQ(s.value, 17);
					break;
				} catch (const std::runtime_error &) {
					caught++;
				}
			}
		});
	for (auto &t : ts)
		t.join();
	CHECK_EQ(statics_made.load(), 1);
	CHECK_EQ(caught.load(), 3);
	passed("a local static: three failed, then it was made once");
}

pthread_once_t posix_once = PTHREAD_ONCE_INIT;
std::atomic<int> posix_attempts;

void posix_init()
{
	if (posix_attempts++ == 0)
		throw 5;
}

void with_pthread_once()
{
	std::thread([] {
		bool thrown = false;

		try {
			pthread_once(&posix_once, posix_init);
		} catch (int five) {
			thrown = five == 5;
		}
		CHECK(thrown);
	}).join();
	std::thread([] { CHECK_OK(pthread_once(&posix_once, posix_init)); }).join();
	CHECK_OK(pthread_once(&posix_once, posix_init));
	CHECK_EQ(posix_attempts.load(), 2);
	passed("pthread_once: the exception came through and the next call tried again");
}

} // namespace

int main()
{
	with_call_once();
	with_statics();
	with_pthread_once();
	return 0;
}
