// What <thread>, <future>, <barrier> and their kin do, printed as sums.
#include <atomic>
#include <barrier>
#include <condition_variable>
#include <future>
#include <iostream>
#include <latch>
#include <list>
#include <mutex>
#include <numeric>
#include <semaphore>
#include <shared_mutex>
#include <stop_token>
#include <thread>
#include <vector>

static std::atomic<int> ended;

struct Leaves {
	~Leaves() { ended++; }
};

static thread_local Leaves leaves;

static long sum(const std::vector<int> &v, size_t from, size_t to)
{
	if (to - from < 1000)
		return std::accumulate(v.begin() + from, v.begin() + to, 0L);
	auto left = std::async(std::launch::async, sum, std::cref(v), from, (from + to) / 2);
	return sum(v, (from + to) / 2, to) + left.get();
}

static int phases()
{
	int wrong = 0, done = 0;
	std::atomic<int> in{0};
	std::barrier b(6, [&]() noexcept { wrong += in.exchange(0) != 6; done++; });
	std::list<std::jthread> threads;

	for (int i = 0; i < 6; i++)
		threads.emplace_back([&] {
			for (int j = 0; j < 300; j++) {
				in++;
				b.arrive_and_wait();
			}
		});
	threads.clear();
	return wrong ? -wrong : done;
}

static long shared()
{
	std::shared_mutex m;
	long value = 0, odd = 0;
	std::mutex om;
	std::list<std::jthread> threads;

	for (int i = 0; i < 8; i++)
		threads.emplace_back([&, i] {
			(void)&leaves;
			for (int j = 0; j < 500; j++) {
				if (i % 4 == 0) {
					std::unique_lock l(m);
					value++;
					value++;
				} else {
					std::shared_lock l(m);
					if (value % 2) {
						std::lock_guard g(om);
						odd++;
					}
				}
			}
		});
	threads.clear();
	return odd ? -odd : value;
}

static int stopped()
{
	std::condition_variable_any cv;
	std::mutex m;
	std::latch ready(4);
	std::counting_semaphore<8> sem(0);
	std::list<std::jthread> threads;
	std::atomic<int> left{0};

	for (int i = 0; i < 4; i++)
		threads.emplace_back([&](std::stop_token st) {
			std::unique_lock l(m);
			ready.count_down();
			left += !cv.wait(l, st, [] { return false; });
			sem.release();
		});
	ready.wait();
	for (auto &t : threads)
		t.request_stop();
	for (int i = 0; i < 4; i++)
		sem.acquire();
	threads.clear();
	return left;
}

int main()
{
	std::vector<int> v(20000);

	std::iota(v.begin(), v.end(), 0);
	std::cout << "async " << sum(v, 0, v.size()) << "\nphases " << phases() << "\nshared " << shared()
		  << "\nstopped " << stopped() << '\n';
	try {
		std::async(std::launch::async, []() -> int { throw std::runtime_error("thrown"); }).get();
	} catch (const std::exception &e) {
		std::cout << e.what() << '\n';
	}
	for (int i = 0; i < 300; i++)
		std::thread([] { (void)&leaves; }).join();
	std::atomic<int> word{0};
	std::jthread waker([&] { word = 1; word.notify_all(); });
	word.wait(0);
	std::cout << "ended " << ended << '\n';
}
