"""The application on a port of this machine: its socket, its connections, its end."""

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
"""Connections accepted at a time, before any of them can be closed again."""
QUEUE = 4096
"""Connections that may wait to be accepted. Beyond that, clients try again after a second."""
OWN_FILES = 64
"""Files that the process opens itself."""


def listen(host: str, port: int) -> socket.socket:
    """Take a port of a name or address of this machine; 0 is any free one."""
    if not 0 <= port < 1 << 16:
        raise HardalignError(f"--port must be between 0 and 65535, not {port}")
    try:
        (family, *_, address), *_ = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        listening = socket.create_server((address[0], port), family=family, backlog=BACKLOG)
    except (OSError, UnicodeError) as error:  # a name may have parts that no name can have
        text = error.strerror if isinstance(error, OSError) else "this can be no host's name"
        reason = str(text).partition(" (")[0]  # Python adds the address in brackets
        raise HardalignError(
            f"cannot listen on {host} port {port}: {reason}; choose another host or port"
        ) from error
    # Every connection inherits it. Otherwise an answer's body waits until its head is acknowledged,
    # which takes 40 milliseconds; asyncio sees to it only where a socket's protocol was named.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def address_of(listening: socket.socket) -> str:
    """Return what to type into a browser."""
    host, port = listening.getsockname()[:2]
    if host in ("0.0.0.0", "::"):
        host = "localhost"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def make_server(app: ASGIApp, patience: float, clients: Clients | None = None) -> uvicorn.Server:
    """Return a server whose end waits for requests under way, for ``patience`` seconds."""
    connection: Any = partial(Connection, clients=clients or Clients(most_connections()))
    config = uvicorn.Config(
        app,
        http=connection,  # uvicorn asks for a class
        lifespan="on",
        ws="none",
        backlog=BACKLOG,
        log_level="error",  # no line for each request that is no HTTP
        access_log=False,
        server_header=False,
        proxy_headers=False,
        headers=list(HEADERS.items()),
        timeout_graceful_shutdown=math.ceil(patience),
    )
    return Server(config)


class Server(uvicorn.Server):
    """uvicorn's server, whose queue is longer than what asyncio accepts at a time."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        for one in sockets or ():
            one.listen(QUEUE)


def run(server: uvicorn.Server, listening: socket.socket) -> None:
    """Serve until an interrupt or SIGTERM; both are the normal end."""
    # Once all is in order, uvicorn raises again whatever signals it caught.
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            server.run(sockets=[listening])
    finally:
        signal.signal(signal.SIGTERM, previous)
        listening.close()


@dataclass
class Clients:
    """How many connections there may be, and which of them keep the server waiting."""

    most: int = 1000
    seconds: float = 20.0
    """To send a whole request, and to fetch an answer."""
    waiting: dict[Connection, None] = field(default_factory=dict)
    """Connections that the server waits for, longest first."""


class Connection(H11Protocol):
    """A connection that cannot keep the server waiting for long, nor keep others out.

    uvicorn's own limits do not suffice: it waits for a request forever, and ``limit_concurrency``
    counts idle connections, so that these keep others out. Here a client has some seconds to send a
    request, head and body, and when there are too many connections, the one that the server has
    been waiting for longest makes room.
    """

    def __init__(self, *args: Any, clients: Clients, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.clients = clients
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Make room for the connection; where all others are at work, it is refused."""
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
        """Read what has come; from a whole request on, the client waits for the server."""
        super().handle_events()
        self._work()

    def pause_writing(self) -> None:
        """Wait for the client, which does not fetch what was sent."""
        super().pause_writing()
        self._wait()

    def resume_writing(self) -> None:
        """Go on with an answer."""
        super().resume_writing()
        self._work()

    def on_response_complete(self) -> None:
        """Wait until the answer is fetched and the next request sent."""
        self._wait()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002
        """Answer what is no HTTP, in place of the application if that has not begun to."""
        if self.cycle is None or not self.cycle.response_started or self.cycle.response_complete:
            self.transport.write(_refusal("400 Bad Request", "this is not a valid HTTP request"))
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.close()

    def end(self) -> None:
        """Drop the connection at once, with all that has not been fetched."""
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
    """Return how many connections there may be; raises the limit of open files for them."""
    most = Clients.most
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return most
    # Those that are being accepted, and those that are being closed for them.
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
