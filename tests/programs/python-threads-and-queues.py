"""CPython threads: its locks are sem_t or mutex and condition, its GIL a timed condition wait.

A queue between many threads, locks, conditions, events, semaphores, barriers, timers,
thread-locals, a pool, subprocesses, sockets, and work that fights for the GIL.  The output is
the same on every run.
"""
import concurrent.futures
import hashlib
import queue
import socket
import subprocess
import sys
import threading
import time


def passed(what):
    print("ok", what, flush=True)


def run(n, target):
    ts = [threading.Thread(target=target, args=(i,)) for i in range(n)]
    for t in ts:
        t.start()
    for t in ts:
        t.join()


def queues():
    q, out = queue.Queue(maxsize=5), queue.Queue()

    def worker():
        while True:
            item = q.get()
            if item is None:
                return
            out.put(item * item)

    workers = [threading.Thread(target=worker) for _ in range(20)]
    for w in workers:
        w.start()
    for i in range(3000):
        q.put(i)
    for _ in workers:
        q.put(None)
    for w in workers:
        w.join()
    got = sorted(out.get() for _ in range(3000))
    assert got == [i * i for i in range(3000)] and out.empty()
    try:
        out.get(timeout=0.03)
        raise SystemExit("an empty queue gave something")
    except queue.Empty:
        pass
    passed("3000 items through a queue of 5 places and 20 workers")


def synchronisation():
    lock, cond, event = threading.RLock(), threading.Condition(), threading.Event()
    sem, barrier = threading.BoundedSemaphore(3), threading.Barrier(10)
    local = threading.local()
    state = {"count": 0, "turn": 0, "inside": 0, "leaders": 0}

    def work(me):
        local.me = me
        event.wait()
        for _ in range(50):
            with lock, lock:
                state["count"] += 1
        with sem:
            with lock:
                state["inside"] += 1
                assert state["inside"] <= 3
            time.sleep(0.001)
            with lock:
                state["inside"] -= 1
        for k in range(20):
            with cond:
                assert cond.wait_for(lambda: state["turn"] % 10 == me, timeout=50)
                assert state["turn"] == k * 10 + me
                state["turn"] += 1
                cond.notify_all()
        if barrier.wait() == 0:
            state["leaders"] += 1
        assert local.me == me

    threading.Timer(0.02, event.set).start()
    run(10, work)
    assert (state["count"], state["turn"], state["leaders"]) == (500, 200, 1)
    passed("locks, conditions, events, semaphores, barriers, locals")


def gil():
    """Switches every 50 microseconds: pure computing, and calls that let go of the GIL."""
    sys.setswitchinterval(0.00005)
    results = [None] * 12
    block = bytes(range(256)) * 64

    def work(me):
        total, h = 0, hashlib.sha256()
        for i in range(20000):
            total += i * me
            if i % 200 == 0:
                h.update(block)
        results[me] = (total, h.hexdigest())

    run(12, work)
    want = hashlib.sha256(block * 100).hexdigest()
    assert results == [(19999 * 20000 // 2 * me, want) for me in range(12)]
    passed("12 threads fought for the interpreter")


def pools():
    with concurrent.futures.ThreadPoolExecutor(max_workers=30) as pool:
        assert sum(pool.map(lambda x: x % 7, range(2000))) == sum(x % 7 for x in range(2000))
        futures = [pool.submit(int, s) for s in ("1", "x", "3")]
        assert futures[0].result() == 1 and futures[2].result() == 3
        assert isinstance(futures[1].exception(), ValueError)
    passed("a pool of 30")


def processes_and_sockets():
    def child(me):
        out = subprocess.run(["sh", "-c", "echo %d; exit %d" % (me, me)], stdout=subprocess.PIPE)
        assert out.stdout == b"%d\n" % me and out.returncode == me

    run(8, child)
    server = socket.create_server(("127.0.0.1", 0), backlog=40)
    port = server.getsockname()[1]

    def serve(_):
        conn, _ = server.accept()
        with conn:
            while True:
                data = conn.recv(100)
                if not data:
                    return
                conn.sendall(data)

    def client(me):
        if me % 2:
            return serve(me)
        with socket.create_connection(("127.0.0.1", port)) as s:
            s.settimeout(40)
            for k in range(20):
                text = b"client %d message %d" % (me, k)
                s.sendall(text)
                back = b""
                while len(back) < len(text):
                    back += s.recv(100)
                assert back == text

    run(40, client)
    server.close()
    passed("subprocesses and 20 connections")


queues()
synchronisation()
gil()
pools()
processes_and_sockets()
