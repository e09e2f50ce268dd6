# http-beside FILE: an HTTP/1.1 server beside a client under test, never under weft; its port goes to FILE.
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BODY = bytes(i * 7 % 251 for i in range(8192))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 500
    daemon_threads = True


server = Server(("127.0.0.1", 0), Handler)
with open(sys.argv[1], "w") as f:
    f.write("%d\n" % server.server_port)
server.serve_forever()
