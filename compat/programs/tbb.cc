// Work stealing, a pipeline, a flow graph, containers and arenas.
#include <atomic>
#include <iostream>
#include <numeric>
#include <tbb/tbb.h>
#include <tbb/flow_graph.h>
#include <thread>
#include <vector>

int main()
{
	tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 6);
	std::vector<long> v(500000);

	tbb::parallel_for(size_t(0), v.size(), [&](size_t i) { v[i] = (i * 7919) % 100003; });
	std::cout << tbb::parallel_reduce(tbb::blocked_range<size_t>(0, v.size()), 0L,
		[&](auto r, long s) { for (auto i = r.begin(); i != r.end(); i++) s += v[i]; return s; },
		std::plus<long>()) << '\n';
	tbb::parallel_sort(v.begin(), v.end());
	std::cout << std::is_sorted(v.begin(), v.end()) << '\n';
	int next = 0;
	long sum = 0;
	tbb::parallel_pipeline(8,
		tbb::make_filter<void, int>(tbb::filter_mode::serial_in_order, [&](tbb::flow_control &f) { if (next == 2000) f.stop(); return next++; }) &
		tbb::make_filter<int, long>(tbb::filter_mode::parallel, [](int i) { return long(i) * i; }) &
		tbb::make_filter<long, void>(tbb::filter_mode::serial_in_order, [&](long x) { sum = sum * 3 % 1000003 + x; }));
	std::cout << sum << '\n';
	tbb::concurrent_hash_map<int, int> map;
	tbb::parallel_for(0, 20000, [&](int i) { tbb::concurrent_hash_map<int, int>::accessor a; map.insert(a, i % 100); a->second++; });
	std::cout << map.size() << '\n';
	tbb::flow::graph g;
	std::atomic<long> total{0};
	tbb::flow::function_node<int, int> square(g, tbb::flow::unlimited, [](int i) { return i * i; });
	tbb::flow::function_node<int> add(g, 1, [&](int i) { total += i; });
	make_edge(square, add);
	for (int i = 0; i < 500; i++)
		square.try_put(i);
	g.wait_for_all();
	std::cout << total << '\n';
	std::vector<std::thread> outside;
	std::atomic<int> n{0};
	for (int i = 0; i < 4; i++)
		outside.emplace_back([&] { tbb::task_arena a(3); a.execute([&] { tbb::parallel_for(0, 1000, [&](int) { n++; }); }); });
	for (auto &t : outside)
		t.join();
	std::cout << n << '\n';
}
