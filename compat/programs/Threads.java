import java.lang.management.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.concurrent.locks.*;
import java.util.stream.*;

public class Threads {
	static int turn;

	static int deep(int n) {
		return deep(n + 1) + 1;
	}

	public static void main(String[] args) throws Exception {
		ExecutorService pool = Executors.newFixedThreadPool(16);
		List<Future<Long>> fs = new ArrayList<>();
		for (int i = 0; i < 200; i++) {
			int k = i;
			fs.add(pool.submit(() -> LongStream.range(0, 2000).map(x -> x * k % 17).sum()));
		}
		long sum = 0;
		for (Future<Long> f : fs)
			sum += f.get();
		System.out.println(sum);
		ReentrantLock lock = new ReentrantLock();
		Condition moved = lock.newCondition();
		List<Thread> ring = new ArrayList<>();
		for (int i = 0; i < 3; i++) {
			int me = i;
			ring.add(new Thread(() -> {
				for (int k = 0; k < 100; k++) {
					lock.lock();
					while (turn % 3 != me)
						moved.awaitUninterruptibly();
					turn++;
					moved.signalAll();
					lock.unlock();
				}
			}));
		}
		for (Thread t : ring)
			t.start();
		for (Thread t : ring)
			t.join();
		System.out.println(turn);
		System.out.println(IntStream.range(0, 1000000).parallel().filter(x -> x % 3 == 0).count());
		Thread sleeper = new Thread(() -> {
			try {
				Thread.sleep(100000);
			} catch (InterruptedException e) {
				System.out.println("interrupted");
			}
		});
		sleeper.start();
		Thread.sleep(20);
		sleeper.interrupt();
		sleeper.join();
		try {
			deep(0);
		} catch (StackOverflowError e) {
			System.out.println("overflow");
		}
		Thread inside = new Thread(() -> {
			try {
				deep(0);
			} catch (StackOverflowError e) {
				System.out.println("overflow in a thread");
			}
		});
		inside.start();
		inside.join();
		try {
			((Object) null).hashCode();
		} catch (NullPointerException e) {
			System.out.println("null");
		}
		ScheduledExecutorService timer = Executors.newScheduledThreadPool(2);
		CountDownLatch ticks = new CountDownLatch(20);
		timer.scheduleAtFixedRate(ticks::countDown, 1, 2, TimeUnit.MILLISECONDS);
		System.out.println(ticks.await(20, TimeUnit.SECONDS));
		timer.shutdownNow();
		ThreadMXBean bean = ManagementFactory.getThreadMXBean();
		System.out.println(bean.getCurrentThreadCpuTime() > 0);
		System.out.println(bean.getCurrentThreadUserTime() > 0);
		System.out.println(bean.dumpAllThreads(true, true).length > 16);
		pool.shutdown();
		System.out.println(pool.awaitTermination(10, TimeUnit.SECONDS));
		Process p = new ProcessBuilder("cat").start();
		p.getOutputStream().write("through a child\n".getBytes());
		p.getOutputStream().close();
		System.out.print(new String(p.getInputStream().readAllBytes()));
		SynchronousQueue<Integer> q = new SynchronousQueue<>();
		new Thread(() -> IntStream.range(0, 500).forEach(i -> {
			try {
				q.put(i);
			} catch (InterruptedException e) {
			}
		})).start();
		int got = 0;
		for (int i = 0; i < 500; i++)
			got += q.take();
		System.out.println(got);
		Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook")));
	}
}
