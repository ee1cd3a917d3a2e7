"""A web server on this machine that serves one file, and misbehaves as it is told."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class FileServer:
    """Answers each request as the next of ``manners`` says, and with the last one ever after.

    ``whole``: as it should; ``truncated``: promises all and sends half of it; ``corrupt``: other
    bytes; ``silent``: takes the request and says nothing; ``stalled``: says nothing after half; a
    number: that status.
    """

    content: bytes
    manners: list[str] = field(default_factory=lambda: ["whole"])
    requests: list[str] = field(default_factory=list)
    """The path of each request so far."""
    address: str = ""
    released: threading.Event = field(default_factory=threading.Event)

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        self.requests.append(handler.path)
        manner = self.manners.pop(0) if len(self.manners) > 1 else self.manners[0]
        handler.close_connection = True
        if manner == "silent":
            self.released.wait(30)
            return
        if manner.isdigit():
            handler.send_error(int(manner))
            return
        body = self.content
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        if manner in ("truncated", "stalled"):
            body = body[: len(body) // 2]
        elif manner == "corrupt":
            body = bytes(byte ^ 1 for byte in body)
        handler.wfile.write(body)
        handler.wfile.flush()
        if manner == "stalled":
            self.released.wait(30)


@contextmanager
def serving(content: bytes) -> Iterator[FileServer]:
    """Run a server until the end of the block."""
    state = FileServer(content)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.answer(self)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = False  # so that closing waits for them
    state.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield state
    finally:
        state.released.set()
        server.shutdown()
        thread.join()
        server.server_close()
