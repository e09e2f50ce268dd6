/*
 * C++ synchronisation: mutex, timed, recursive and shared mutexes, scoped_lock of several,
 * condition_variable with time-outs, counting_semaphore, latch, barrier, and waiting on atomics.
 */
#include "check.h"
#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <latch>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

template <typename F> void run(int n, F f)
{
	std::vector<std::thread> ts;

	for (int i = 0; i < n; i++)
		ts.emplace_back(f, i);
	for (auto &t : ts)
		t.join();
}

void mutexes()
{
	std::mutex a, b, c;
	long sum_ab = 0, sum_bc = 0;

	run(30, [&](int i) {
		for (int k = 0; k < 100; k++) {
			if (i % 2) {
				std::scoped_lock lock(a, b);
				sum_ab++;
			} else {
				std::scoped_lock lock(c, b);
				sum_bc++;
			}
			if (k % 20 == 0)
				std::this_thread::yield();
		}
	});
	CHECK_EQ(sum_ab + sum_bc, 3000);

	std::recursive_timed_mutex rt;
	std::atomic<int> refused{ 0 };
	rt.lock();
	CHECK(rt.try_lock_for(1s));
	run(10, [&](int) {
		auto began = std::chrono::steady_clock::now();
		CHECK(!rt.try_lock_for(30ms));
		CHECK(std::chrono::steady_clock::now() - began >= 30ms);
		CHECK(!rt.try_lock_until(std::chrono::system_clock::now() + 5ms));
		refused++;
	});
	CHECK_EQ(refused.load(), 10);
	rt.unlock();
	rt.unlock();

	std::shared_timed_mutex sh;
	long value = 0;
	run(30, [&](int i) {
		for (int k = 0; k < 100; k++) {
			if (i % 5 == 0) {
				std::unique_lock lock(sh);
				value++;
			} else if (i % 5 == 1) {
				std::shared_lock lock(sh, 30s);
				CHECK(lock.owns_lock());
				CHECK(value <= 600);
			} else {
				std::shared_lock lock(sh);
				long seen = value;
				if (k % 10 == 0)
					std::this_thread::yield();
				CHECK_EQ(value, seen);
			}
		}
	});
	CHECK_EQ(value, 600);
	passed("mutexes");
}

void conditions()
{
	std::mutex mu;
	std::condition_variable cv;
	int turn = 0;

	{
		std::unique_lock lock(mu);
		auto began = std::chrono::steady_clock::now();
		CHECK(!cv.wait_for(lock, 30ms, [] { return false; }));
		CHECK(std::chrono::steady_clock::now() - began >= 30ms);
		CHECK(!cv.wait_until(lock, std::chrono::system_clock::now() + 10ms,
				     [] { return false; }));
	}
	run(10, [&](int me) {
		for (int k = 0; k < 50; k++) {
			std::unique_lock lock(mu);
			CHECK(cv.wait_for(lock, 50s, [&] { return turn % 10 == me; }));
			CHECK_EQ(turn, k * 10 + me);
			turn++;
			cv.notify_all();
		}
	});
	CHECK_EQ(turn, 500);
	passed("condition variables");
}

void counts()
{
	std::counting_semaphore<5> places(5);
	std::atomic<int> inside{ 0 };
	run(40, [&](int) {
		for (int k = 0; k < 20; k++) {
			places.acquire();
			CHECK(++inside <= 5);
			std::this_thread::yield();
			--inside;
			places.release();
		}
	});
	for (int i = 0; i < 5; i++)
		CHECK(places.try_acquire());
	CHECK(!places.try_acquire());
	CHECK(!places.try_acquire_for(20ms));
	passed("counting_semaphore");

	std::latch start(31), done(30);
	std::atomic<int> ran{ 0 };
	std::vector<std::thread> ts;
	for (int i = 0; i < 30; i++)
		ts.emplace_back([&] {
			start.arrive_and_wait();
			ran++;
			done.count_down();
		});
	CHECK_EQ(ran.load(), 0);
	start.count_down();
	done.wait();
	CHECK_EQ(ran.load(), 30);
	for (auto &t : ts)
		t.join();
	passed("latch");

	/* The completion runs once a phase, after all have arrived and before any goes on. */
	std::atomic<int> arrived{ 0 }, completions{ 0 };
	std::barrier bar(15, [&]() noexcept {
		CHECK_EQ(arrived.load() % 15, 0);
		completions++;
	});
	run(15, [&](int) {
		for (int k = 1; k <= 100; k++) {
			arrived++;
			bar.arrive_and_wait();
			CHECK(completions >= k);
			CHECK(arrived >= 15 * k);
		}
	});
	CHECK_EQ(completions.load(), 100);
	passed("barrier");
}

void atomics()
{
	std::atomic<int> turn{ 0 };
	run(10, [&](int me) {
		for (int k = 0; k < 50; k++) {
			for (int now; (now = turn.load()) % 10 != me;)
				turn.wait(now);
			turn++;
			turn.notify_all();
		}
	});
	CHECK_EQ(turn.load(), 500);

	std::atomic_flag flag;
	std::atomic<int> freed{ 0 };
	std::vector<std::thread> ts;
	for (int i = 0; i < 20; i++)
		ts.emplace_back([&] {
			flag.wait(false);
			freed++;
		});
	let_others_block();
	CHECK_EQ(freed.load(), 0);
	flag.test_and_set();
	flag.notify_all();
	for (auto &t : ts)
		t.join();
	CHECK_EQ(freed.load(), 20);
	passed("atomic wait");
}

} // namespace

int main()
{
	mutexes();
	conditions();
	counts();
	atomics();
	return 0;
}
