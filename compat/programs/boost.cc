// asio served by several threads, interruptible threads, fibers on stacks of their own.
#include <array>
#include <boost/asio.hpp>
#include <boost/context/continuation.hpp>
#include <boost/fiber/all.hpp>
#include <boost/thread.hpp>
#include <iostream>

namespace asio = boost::asio;
using asio::ip::tcp;

struct session : std::enable_shared_from_this<session> {
	tcp::socket s;
	std::array<char, 64> buf;
	explicit session(tcp::socket s) : s(std::move(s)) {}
	void read()
	{
		s.async_read_some(asio::buffer(buf), [me = shared_from_this()](auto e, size_t n) {
			if (!e)
				asio::async_write(me->s, asio::buffer(me->buf, n), [me](auto e, size_t) { if (!e) me->read(); });
		});
	}
};

static void accept(tcp::acceptor &a)
{
	a.async_accept([&](auto e, tcp::socket s) {
		if (!e)
			std::make_shared<session>(std::move(s))->read();
		if (a.is_open())
			accept(a);
	});
}

int main()
{
	asio::io_context io;
	tcp::acceptor a(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
	auto work = asio::make_work_guard(io);
	boost::thread_group threads, clients;
	std::atomic<int> good{0};

	accept(a);
	for (int i = 0; i < 4; i++)
		threads.create_thread([&] { io.run(); });
	for (int i = 0; i < 10; i++)
		clients.create_thread([&, i] {
			asio::io_context own;
			tcp::socket s(own);
			s.connect(a.local_endpoint());
			for (int j = 0; j < 50; j++) {
				std::string m = std::to_string(i) + " " + std::to_string(j), r(m.size(), 0);
				asio::write(s, asio::buffer(m));
				asio::read(s, asio::buffer(r));
				good += r == m;
			}
		});
	clients.join_all();
	work.reset();
	io.stop();
	threads.join_all();
	std::cout << good << '\n';
	boost::thread sleeper([] { boost::this_thread::sleep_for(boost::chrono::hours(1)); });
	/* One that comes before it sleeps may be lost, natively too. */
	while (!sleeper.try_join_for(boost::chrono::milliseconds(10)))
		sleeper.interrupt();
	long sum = 0;
	boost::fibers::buffered_channel<int> ch(8);
	boost::fibers::fiber make([&] { for (int i = 0; i < 1000; i++) ch.push(i); ch.close(); });
	boost::fibers::fiber take([&] { for (int i : ch) sum += i; });
	make.join(), take.join();
	std::cout << sum << '\n';
	std::atomic<long> steps{0};
	boost::thread_group more;
	for (int t = 0; t < 4; t++)
		more.create_thread([&] {
			namespace ctx = boost::context;
			for (int k = 0; k < 20; k++) {
				auto c = ctx::callcc(std::allocator_arg, ctx::fixedsize_stack(8192), [&](ctx::continuation &&back) {
					for (int i = 0; i < 2000; i++) {
						steps++;
						if (i % 10 == 0)
							back = back.resume();
					}
					return std::move(back);
				});
				while (c)
					c = c.resume();
			}
		});
	more.join_all();
	std::cout << steps << '\n';
}
