# Pools of processes: queues with feeder threads, semaphores and shared memory of the system, children by fork and by spawn.
import multiprocessing as mp
from multiprocessing import shared_memory


def square(n):
    return n * n


def add(name, lock, times):
    shared = shared_memory.SharedMemory(name)
    for _ in range(times):
        with lock:
            n = int.from_bytes(shared.buf[:8], "little") + 1
            shared.buf[:8] = n.to_bytes(8, "little")
    shared.close()


def main():
    with mp.get_context("fork").Pool(4) as pool:
        print(sum(pool.map(square, range(1000))))
    with mp.get_context("spawn").Pool(2) as pool:
        print(sum(pool.imap_unordered(square, range(100))))
    shared = shared_memory.SharedMemory(create=True, size=8)
    lock = mp.Lock()
    workers = [mp.Process(target=add, args=(shared.name, lock, 500)) for _ in range(4)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    print(int.from_bytes(shared.buf[:8], "little"), [w.exitcode for w in workers])
    shared.close()
    shared.unlink()


if __name__ == "__main__":
    main()
