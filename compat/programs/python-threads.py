"""Python threads over everything the standard library blocks in; prints the same line every time."""

import concurrent.futures
import hashlib
import queue
import threading
import time

out = []

# A bounded queue, more producers and consumers than processors.
items, count, sums = queue.Queue(maxsize=16), 2000, []


def produce(k):
    for i in range(count):
        items.put(k * count + i)


def consume():
    total = 0
    while (item := items.get()) is not None:
        total += item
    sums.append(total)


producers = [threading.Thread(target=produce, args=(k,)) for k in range(8)]
consumers = [threading.Thread(target=consume) for _ in range(8)]
for t in producers + consumers:
    t.start()
for t in producers:
    t.join()
for _ in consumers:
    items.put(None)
for t in consumers:
    t.join()
out.append(sum(sums) == sum(range(8 * count)))

# A baton passed round a ring under one condition.
turn, cond, laps = 0, threading.Condition(), []


def ring(me, size, rounds):
    global turn
    for r in range(rounds):
        with cond:
            while turn % size != me:
                cond.wait()
            laps.append(me)
            turn += 1
            cond.notify_all()


runners = [threading.Thread(target=ring, args=(i, 5, 100)) for i in range(5)]
for t in runners:
    t.start()
for t in runners:
    t.join()
out.append(laps == list(range(5)) * 100)

# Pure computing threads: only the interpreter's switch interval lets them share.
counts = [0] * 4


def compute(i):
    h = b"seed"
    for _ in range(20000):
        h = hashlib.md5(h).digest()
        counts[i] += 1
    out_digest[i] = h.hex()


out_digest = [None] * 4
threads = [threading.Thread(target=compute, args=(i,)) for i in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
out.append(counts == [20000] * 4 and len(set(out_digest)) == 1)
out.append(out_digest[0])

# Events, timers, timed waits that expire and timed waits that do not.
fired = threading.Event()
timer = threading.Timer(0.02, fired.set)
timer.start()
out.append(fired.wait(20))
out.append(threading.Event().wait(0.01))
lock = threading.Lock()
lock.acquire()
out.append(lock.acquire(timeout=0.01))
start = time.monotonic()
time.sleep(0.02)
out.append(time.monotonic() - start >= 0.02)

# Many short-lived threads, thread locals, a barrier and a pool.
local, seen = threading.local(), []
barrier = threading.Barrier(50)


def short(i):
    local.value = i
    barrier.wait()
    seen.append(local.value)


threads = [threading.Thread(target=short, args=(i,)) for i in range(50)]
for t in threads:
    t.start()
for t in threads:
    t.join()
out.append(sorted(seen) == list(range(50)))
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    out.append(sum(pool.map(lambda x: x * x, range(2000))))

print(*out)
