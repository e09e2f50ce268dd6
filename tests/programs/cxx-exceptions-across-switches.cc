/*
 * Exceptions while the thread changes its place: a catch handler, a destructor during unwinding and
 * a nested exception each block and yield in the middle, and the C++ runtime's per-thread state
 * (current exception, uncaught count) is still this thread's afterwards.
 */
#include "check.h"
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

std::mutex mu;

void change_places(int i)
{
	if (i % 3 == 0) {
		std::lock_guard<std::mutex> lock(mu);
		std::this_thread::yield();
	} else if (i % 3 == 1) {
		usleep(20);
	} else {
		std::this_thread::yield();
	}
}

struct yields_while_unwound {
	int i, uncaught;
	~yields_while_unwound()
	{
		CHECK_EQ(std::uncaught_exceptions(), uncaught);
		change_places(i);
		CHECK_EQ(std::uncaught_exceptions(), uncaught);
		try {
			throw i;
		} catch (int n) {
			change_places(i + 1);
			CHECK_EQ(n, i);
		}
	}
};

void throws(int me, int i, int depth)
{
	yields_while_unwound y{ i, 1 };

	if (depth > 0) {
		throws(me, i, depth - 1);
		return;
	}
	throw std::runtime_error(std::to_string(me) + "/" + std::to_string(i));
}

void work(int me)
{
	std::exception_ptr kept;

	for (int i = 0; i < 100; i++) {
		std::string want = std::to_string(me) + "/" + std::to_string(i);
		int handled = 0;

		try {
			try {
				throws(me, i, 4);
			} catch (const std::runtime_error &e) {
				CHECK(want == e.what());
				change_places(i);
				CHECK(want == e.what());
				kept = std::current_exception();
				try {
					throw std::logic_error("inner " + want);
				} catch (const std::logic_error &inner) {
					change_places(i + 1);
					CHECK(inner.what() == "inner " + want);
				}
				change_places(i + 2);
				handled++;
				throw;
			}
		} catch (const std::exception &e) {
			CHECK(want == e.what());
			handled++;
		}
		CHECK_EQ(handled, 2);
		CHECK_EQ(std::uncaught_exceptions(), 0);
		CHECK(std::current_exception() == nullptr);
		try {
			std::rethrow_exception(kept);
		} catch (const std::runtime_error &e) {
			CHECK(want == e.what());
		}
	}
}

} // namespace

int main()
{
	std::vector<std::thread> ts;

	for (int i = 0; i < 40; i++)
		ts.emplace_back(work, i);
	for (auto &t : ts)
		t.join();
	passed("40 threads, 100 exceptions each, blocked in the middle of every one");
	return 0;
}
