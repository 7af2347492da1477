"""A server that answers the paths given, after a delay.  server.py PORT DELAY_SECONDS PATH=STATUS..."""

import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

PORT, DELAY_SECONDS = int(sys.argv[1]), float(sys.argv[2])
STATUS_OF = dict(pair.split("=") for pair in sys.argv[3:])


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(int(STATUS_OF.get(self.path, "404")))
        self.send_header("Content-Length", "0")
        self.end_headers()


time.sleep(DELAY_SECONDS)
HTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
