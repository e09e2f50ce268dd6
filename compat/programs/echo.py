# echo serve PORT: a server that sends back what it gets; echo {plain|tls} PORT CONNECTIONS TIMES: its client, all at once.
import asyncio
import ssl
import sys


async def serve(reader, writer):
    try:
        while data := await reader.read(4096):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    writer.close()


async def ask(port, context, n, times):
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    equal = 0
    for i in range(times):
        data = (b"%d %d " % (n, i)) * (1 + i * 7)
        writer.write(data)
        equal += await reader.readexactly(len(data)) == data
    writer.close()
    return equal


async def main():
    port = int(sys.argv[2])
    if sys.argv[1] == "serve":
        await (await asyncio.start_server(serve, "127.0.0.1", port)).serve_forever()
    context = None
    if sys.argv[1] == "tls":
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    count, times = int(sys.argv[3]), int(sys.argv[4])
    print(sum(await asyncio.gather(*(ask(port, context, n, times) for n in range(count)))), "equal")


asyncio.run(main())
