// d: messages, a task pool, a collector that stops all threads, conditions, fibers that change threads.
import std.stdio, std.concurrency, std.parallelism, core.thread, core.sync.mutex, core.sync.condition, core.sync.semaphore, core.time, std.range, std.algorithm, core.memory, core.atomic, std.array;
void worker(Tid owner) { long s = 0; bool go = true; while (go) receive((int i) { s += i; }, (string x) { go = false; }); send(owner, s); }
shared int n;
void main() {
  auto ts = iota(8).map!(i => spawn(&worker, thisTid)).array;
  foreach (i; 0 .. 8000) ts[i % 8].send(i);
  foreach (t; ts) t.send("end");
  long sum = 0; foreach (t; ts) sum += receiveOnly!long; writeln("messages ", sum);
  auto a = new long[100_000]; foreach (i, ref x; taskPool.parallel(a)) x = i * i % 97;
  writeln("parallel ", taskPool.reduce!"a+b"(a));
  // The collector stops all threads while they allocate.
  auto th = iota(6).map!((i) { auto t = new Thread({ foreach (k; 0 .. 3000) { auto p = new int[](100 + k % 50); p[] = k; if (p[k % 100] != k) atomicOp!"+="(n, 1000000); } atomicOp!"+="(n, 1); }); t.start(); return t; }).array;
  foreach (k; 0 .. 30) { GC.collect(); Thread.sleep(1.msecs); }
  foreach (t; th) t.join();
  writeln("collected ", atomicLoad(n));
  auto m = new Mutex; auto c = new Condition(m); int turn = 0;
  auto x = new Thread({ foreach (k; 0 .. 1000) { synchronized (m) { while (turn != 1) c.wait(); turn = 0; c.notify(); } } }); x.start();
  foreach (k; 0 .. 1000) { synchronized (m) { while (turn != 0) c.wait(); turn = 1; c.notify(); } }
  x.join(); writeln("pingpong ", turn);
  synchronized (m) writeln("timed ", c.wait(20.msecs));
  auto f = new Fiber({ foreach (k; 0 .. 3) { writeln("fiber ", k); Fiber.yield(); } }); while (f.state != Fiber.State.TERM) f.call();
  // fibers that move between threads
  auto fs = iota(50).map!(i => new Fiber({ foreach (k; 0 .. 20) { auto q = new int[](50); q[] = k; Fiber.yield(); atomicOp!"+="(n, q[3] == k); } })).array;
  foreach (round; 0 .. 21) { auto half = iota(2).map!((h) { auto t = new Thread({ foreach (i; 0 .. 25) { auto g = fs[i * 2 + (h ^ (round & 1))]; if (g.state != Fiber.State.TERM) g.call(); } }); t.start(); return t; }).array; foreach (t; half) t.join(); GC.collect(); }
  writeln("moved ", atomicLoad(n));
  auto t2 = new Thread({ throw new Exception("thrown"); }); t2.start(); try { t2.join(); } catch (Exception e) { writeln("caught ", e.msg); }
}
