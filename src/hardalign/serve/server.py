"""Serve the application on a local port: socket, connections, shutdown."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import signal
import socket
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from hardalign.errors import HardalignError
from hardalign.serve.app import HEADERS

BACKLOG = 128
"""Connections accepted at once, before any of them can be closed again."""
QUEUE = 4096
"""Connections that may wait to be accepted. Further clients try again after a second."""
OWN_FILES = 64
"""Files that the process itself opens."""


def listen(host: str, port: int) -> socket.socket:
    """Listen on a port of a local host name or address; 0 means any free port."""
    if not 0 <= port < 1 << 16:
        raise HardalignError(f"--port must be between 0 and 65535, not {port}")
    try:
        (family, *_, address), *_ = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        listening = socket.create_server((address[0], port), family=family, backlog=BACKLOG)
    except (OSError, UnicodeError) as error:  # UnicodeError: not a valid host name
        text = error.strerror if isinstance(error, OSError) else "not a valid host name"
        reason = str(text).partition(" (")[0]  # Python adds the address in brackets
        raise HardalignError(
            f"cannot listen on {host} port {port}: {reason}; choose another host or port"
        ) from error
    # Inherited by every connection. Without it, the body of a response waits 40 milliseconds for
    # its head to be acknowledged; asyncio sets it only if a socket's protocol was given explicitly.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def address_of(listening: socket.socket) -> str:
    """Return the URL to open in a browser."""
    host, port = listening.getsockname()[:2]
    if host in ("0.0.0.0", "::"):
        host = "localhost"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def make_server(app: ASGIApp, patience: float, clients: Clients | None = None) -> uvicorn.Server:
    """Return a server that waits up to ``patience`` seconds for open requests on shutdown."""
    connection: Any = partial(Connection, clients=clients or Clients(most_connections()))
    config = uvicorn.Config(
        app,
        http=connection,  # uvicorn asks for a class
        lifespan="on",
        ws="none",
        backlog=BACKLOG,
        log_level="error",  # no warning for each request that is not valid HTTP
        access_log=False,
        server_header=False,
        proxy_headers=False,
        headers=list(HEADERS.items()),
        timeout_graceful_shutdown=math.ceil(patience),
    )
    return Server(config)


class Server(uvicorn.Server):
    """uvicorn's server, with a queue longer than the number asyncio accepts at once."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start listening."""
        await super().startup(sockets)
        for one in sockets or ():
            one.listen(QUEUE)


def run(server: uvicorn.Server, listening: socket.socket) -> None:
    """Serve until an interrupt or SIGTERM, which are both a normal exit."""
    # After a clean shutdown, uvicorn re-raises the signals that it caught.
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            server.run(sockets=[listening])
    finally:
        signal.signal(signal.SIGTERM, previous)
        listening.close()


@dataclass
class Clients:
    """The limit on connections, and those that the server is waiting for."""

    most: int = 1000
    seconds: float = 20.0
    """Time to send a whole request, and to fetch a response."""
    waiting: dict[Connection, None] = field(default_factory=dict)
    """Connections that the server is waiting for, longest wait first."""


class Connection(H11Protocol):
    """A connection that can neither stall the server for long nor keep others out.

    uvicorn's own limits do not suffice: it waits for a request forever, and its
    ``limit_concurrency`` counts idle connections, which thus keep others out. Here a client must
    send a request, head and body, within ``Clients.seconds``, and when there are too many
    connections, the one that the server has been waiting for longest is dropped.
    """

    def __init__(self, *args: Any, clients: Clients, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.clients = clients
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Make room for the connection, or refuse it if all others are being served."""
        super().connection_made(transport)
        self._wait()
        if len(self.connections) > self.clients.most:
            longest = next(iter(self.clients.waiting))
            if longest is self:
                transport.write(_refusal("503 Service Unavailable", "too many connections"))
                transport.close()
            else:
                longest.end()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_waiting()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Handle the data received; after a whole request, the client waits for the server."""
        super().handle_events()
        self._work()

    def pause_writing(self) -> None:
        """Wait for the client, which is not reading the response."""
        super().pause_writing()
        self._wait()

    def resume_writing(self) -> None:
        """Resume a response."""
        super().resume_writing()
        self._work()

    def on_response_complete(self) -> None:
        """Wait for the client to fetch the response and send the next request."""
        self._wait()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002
        """Refuse invalid HTTP, unless the application has already started a response."""
        if self.cycle is None or not self.cycle.response_started or self.cycle.response_complete:
            self.transport.write(_refusal("400 Bad Request", "this is not a valid HTTP request"))
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.close()

    def end(self) -> None:
        """Drop the connection at once, discarding unsent data."""
        self._stop_waiting()
        self.connections.discard(self)
        self.transport.abort()

    def _wait(self) -> None:
        self._stop_waiting()
        self.clients.waiting[self] = None
        self._timer = self.loop.call_later(self.clients.seconds, self.end)

    def _work(self) -> None:
        cycle = self.cycle
        if cycle and not (cycle.more_body or cycle.response_complete or self.flow.write_paused):
            self._stop_waiting()

    def _stop_waiting(self) -> None:
        self.clients.waiting.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()


def most_connections() -> int:
    """Raise the limit on open files as needed; return how many connections it allows."""
    most = Clients.most
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return most
    # For connections being accepted, and those being closed to make room for them.
    reserved = OWN_FILES + 2 * BACKLOG
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= most + reserved:
        return most
    soft = most + reserved if hard == resource.RLIM_INFINITY else min(hard, most + reserved)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return max(1, soft - reserved)


def _refusal(status: str, error: str) -> bytes:
    body = json.dumps({"error": error})
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\n"
    return f"{head}Retry-After: 1\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
