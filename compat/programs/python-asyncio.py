# An event loop with servers, clients, an executor of threads and sub-processes.
import asyncio
import concurrent.futures
import hashlib


async def serve(reader, writer):
    while line := await reader.readline():
        writer.write(hashlib.sha256(line).hexdigest().encode() + b"\n")
        await writer.drain()
    writer.close()


async def ask(port, n):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    total = 0
    for i in range(20):
        line = b"%d %d\n" % (n, i)
        writer.write(line)
        total += (await reader.readline()).strip().decode() == hashlib.sha256(line).hexdigest()
    writer.close()
    return total


def slow(n):
    return hashlib.pbkdf2_hmac("sha256", b"%d" % n, b"salt", 20000).hex()[:8]


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    print("answers", sum(await asyncio.gather(*(ask(port, n) for n in range(50)))))
    server.close()
    loop = asyncio.get_running_loop()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        print(*await asyncio.gather(*(loop.run_in_executor(pool, slow, n) for n in range(24))))
    runs = [await asyncio.create_subprocess_exec("cat", stdin=-1, stdout=-1) for _ in range(8)]
    outs = await asyncio.gather(*(p.communicate(b"child %d" % i) for i, p in enumerate(runs)))
    print(*(out.decode() for out, _ in outs))
    try:
        await asyncio.wait_for(asyncio.sleep(60), 0.05)
    except asyncio.TimeoutError:
        print("timed out")


asyncio.run(main())
