"""An application on a port of this machine, until somebody ends it."""

from __future__ import annotations

import contextlib
import math
import signal
import socket

import uvicorn
from starlette.types import ASGIApp

from hardalign.errors import HardalignError


def listen(host: str, port: int) -> socket.socket:
    """Take a port.

    Args:
        host: A name or address of this machine.
        port: 0 is any free one.

    Raises:
        HardalignError: If it cannot be had.
    """
    if not 0 <= port < 1 << 16:
        raise HardalignError(f"--port must be between 0 and 65535, not {port}")
    try:
        (family, *_, address), *_ = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        listening = socket.create_server((address[0], port), family=family, backlog=1024)
    except OSError as error:
        reason = str(error.strerror).partition(" (")[0]  # Python adds the address in brackets
        raise HardalignError(
            f"cannot listen on {host} port {port}: {reason}; choose another --host or --port"
        ) from error
    # Every connection inherits it. Otherwise an answer's body waits until its head is acknowledged,
    # which takes 40 milliseconds; asyncio sees to it only where a socket's protocol was named.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def address_of(listening: socket.socket) -> str:
    """What to type into a browser."""
    host, port = listening.getsockname()[:2]
    if host in ("0.0.0.0", "::"):
        host = "localhost"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def make_server(app: ASGIApp, patience: float) -> uvicorn.Server:
    """A server that, when it is ended, finishes what it has begun.

    Args:
        app: The application.
        patience: Seconds that it waits for that.
    """
    config = uvicorn.Config(
        app,
        lifespan="on",
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=math.ceil(patience),
    )
    return uvicorn.Server(config)


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
