"""A server with a thread per connection, from the standard library: each reply is a digest of its path."""

import hashlib
import http.server
import signal
import sys


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # connections stay, and with each its thread

    def do_GET(self):
        body = hashlib.sha256(self.path.encode()).hexdigest().encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 1024


def leave(*_):
    sys.exit(0)


signal.signal(signal.SIGTERM, leave)
Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
