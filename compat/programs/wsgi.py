# What uwsgi and gunicorn serve: a digest of the path, computed many times, sometimes after a sleep.
import hashlib
import time


def application(environ, start_response):
    digest = environ["PATH_INFO"].encode()
    for _ in range(200):
        digest = hashlib.sha256(digest).digest()
    time.sleep(0.001)
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "64")])
    return [digest.hex().encode()]
