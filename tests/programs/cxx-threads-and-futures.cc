/*
 * The C++ thread library: std::thread, jthread with stop tokens, async in both policies, promise
 * and future with values and exceptions, packaged_task.
 */
#include "check.h"
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

long sum(const std::vector<int> &v, std::size_t from, std::size_t to)
{
	if (to - from <= 500)
		return std::accumulate(v.begin() + from, v.begin() + to, 0L);
	auto mid = (from + to) / 2;
	auto left = std::async(std::launch::async, [&] { return sum(v, from, mid); });
	long right = sum(v, mid, to);

	return left.get() + right;
}

void asyncs()
{
	std::vector<int> v(50000);
	std::iota(v.begin(), v.end(), 1);
	CHECK_EQ(sum(v, 0, v.size()), 50000L * 50001 / 2);
	passed("recursive async");

	auto lazy = std::async(std::launch::deferred, [id = std::this_thread::get_id()] {
		return id == std::this_thread::get_id();
	});
	CHECK(lazy.wait_for(0s) == std::future_status::deferred);
	CHECK(lazy.get());

	std::vector<std::future<int>> fs;
	int thrown = 0;

	for (int i = 0; i < 50; i++)
		fs.push_back(std::async(std::launch::async, [i] {
			std::this_thread::yield();
			if (i % 5 == 0)
				throw std::out_of_range(std::to_string(i));
			return i * i;
		}));
	for (int i = 0; i < 50; i++) {
		try {
			CHECK_EQ(fs[i].get(), i * i);
		} catch (const std::out_of_range &e) {
			CHECK(i % 5 == 0 && e.what() == std::to_string(i));
			thrown++;
		}
	}
	CHECK_EQ(thrown, 10);
	passed("deferred, and exceptions that cross threads");
}

void promises()
{
	std::promise<std::string> p;
	std::shared_future<std::string> f = p.get_future().share();
	std::vector<std::thread> ts;
	std::atomic<int> got{ 0 };

	CHECK(f.wait_for(20ms) == std::future_status::timeout);
	for (int i = 0; i < 30; i++)
		ts.emplace_back([f, &got] {
			CHECK(f.get() == "the value, long enough to be allocated");
			got++;
		});
	p.set_value("the value, long enough to be allocated");
	for (auto &t : ts)
		t.join();
	CHECK_EQ(got.load(), 30);

	std::future<int> broken;
	{
		std::promise<int> gone;
		broken = gone.get_future();
	}
	try {
		broken.get();
		CHECK(false);
	} catch (const std::future_error &e) {
		CHECK(e.code() == std::future_errc::broken_promise);
	}

	std::promise<int> at_exit;
	auto late = at_exit.get_future();
	std::thread([&at_exit] { at_exit.set_value_at_thread_exit(8); }).join();
	CHECK_EQ(late.get(), 8);
	std::packaged_task<int(int)> task([](int x) { return x * 2; });
	auto result = task.get_future();
	std::thread(std::move(task), 21).detach();
	CHECK_EQ(result.get(), 42);
	passed("promises, shared futures, tasks");
}

void jthreads()
{
	std::mutex mu;
	std::condition_variable_any cv;
	std::atomic<int> stopped{ 0 };
	{
		std::vector<std::jthread> ts;

		for (int i = 0; i < 20; i++)
			ts.emplace_back([&](std::stop_token st) {
				std::unique_lock lock(mu);
				cv.wait(lock, st, [] { return false; });
				CHECK(st.stop_requested());
				stopped++;
			});
		let_others_block();
		CHECK_EQ(stopped.load(), 0);
	}
	CHECK_EQ(stopped.load(), 20);
	passed("20 jthreads stopped by their destructors");
}

} // namespace

int main()
{
	asyncs();
	promises();
	jthreads();
	return 0;
}
