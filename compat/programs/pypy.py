# pypy: threads, queues, a pool, a timer signal, children, barriers, deep recursion in threads.
import threading, queue, subprocess, os, signal, time, concurrent.futures as cf, gc, sys
q = queue.Queue(10); out = []
def w():
    while True:
        x = q.get()
        if x is None: return
        out.append(sum(i * i % 7 for i in range(x)))
ts = [threading.Thread(target=w) for _ in range(12)]
[t.start() for t in ts]
for i in range(600): q.put(i)
for t in ts: q.put(None)
[t.join() for t in ts]
print(sum(out), len(out))
with cf.ThreadPoolExecutor(8) as e: print(sum(e.map(lambda x: len(str(2 ** x)), range(500))))
hits = []
signal.signal(signal.SIGALRM, lambda s, f: hits.append(s)); signal.setitimer(signal.ITIMER_REAL, 0.05, 0.02)
t0 = time.time()
while len(hits) < 5 and time.time() - t0 < 10: pass
signal.setitimer(signal.ITIMER_REAL, 0); print(len(hits) >= 5)
print(subprocess.run(['echo', 'child'], capture_output=True).stdout)
r, wr = os.pipe(); pid = os.fork()
if pid == 0:
    t = threading.Thread(target=lambda: os.write(wr, b'in child')); t.start(); t.join(); os._exit(0)
print(os.read(r, 100), os.waitpid(pid, 0)[1])
c = threading.Condition(); s = threading.Semaphore(3); b = threading.Barrier(5); got = []
def x(i):
    with s: time.sleep(0.001)
    b.wait()
    with c: got.append(i); c.notify_all()
tt = [threading.Thread(target=x, args=(i,)) for i in range(5)]; [t.start() for t in tt]
with c: print(c.wait_for(lambda: len(got) == 5, 5))
for i in range(5): gc.collect()
def f(n): return f(n + 1) + 1
try: f(0)
except RecursionError: print('deep')
def g():
    try: f(0)
    except RecursionError: got.append('deep')
threading.stack_size(1 << 20); t = threading.Thread(target=g); t.start(); t.join(); print(got[-1])
