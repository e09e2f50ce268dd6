# http-check URL REQUESTS CONNECTIONS: asks over connections that are kept, each in a thread; every body must be the same.
# With http_fresh set in the environment each request has a connection of its own.
# Prints its digest and how many there were.
import hashlib
import http.client
import os
import sys
import threading
import urllib.parse

url = urllib.parse.urlsplit(sys.argv[1])
requests, connections = int(sys.argv[2]), int(sys.argv[3])
path = url.path + ("?" + url.query if url.query else "")
bodies, errors, lock = {}, {}, threading.Lock()


def ask(n):
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
    for _ in range(n):
        try:
            connection.request("GET", path)
            reply = connection.getresponse()
            body = reply.read()
            key = "%d %s" % (reply.status, hashlib.sha256(body).hexdigest()[:16])
            with lock:
                bodies[key] = bodies.get(key, 0) + 1
            if "http_fresh" in os.environ:
                connection.close()
        except Exception as e:
            connection.close()
            with lock:
                errors[repr(e)] = errors.get(repr(e), 0) + 1
    connection.close()


threads = [threading.Thread(target=ask, args=(requests // connections,)) for _ in range(connections)]
for t in threads:
    t.start()
for t in threads:
    t.join()
for key, n in sorted(bodies.items()):
    print(key, n)
for key, n in sorted(errors.items()):
    print("error", key, n)
sys.exit(bool(errors))
