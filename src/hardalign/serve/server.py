"""An application on a port of this machine, until somebody ends it."""

from __future__ import annotations

import contextlib
import logging
import math
import signal
import socket
from functools import partial
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from hardalign.errors import HardalignError
from hardalign.serve.connections import BACKLOG, Allowance, Connection, Once, most_connections

FETCH_SECONDS = 30.0
"""For fetching an answer, once it is there."""


def listen(host: str, port: int) -> socket.socket:
    """Takes a port of a name or address of this machine; 0 is any free one.

    Raises:
        HardalignError: If it cannot be had.
    """
    if not 0 <= port < 1 << 16:
        raise HardalignError(f"the port must be between 0 and 65535, not {port}")
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
    """Returns what to type into a browser."""
    host, port = listening.getsockname()[:2]
    if host in ("0.0.0.0", "::"):
        host = "localhost"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def make_server(
    app: ASGIApp, patience: float, allowance: Allowance | None = None
) -> uvicorn.Server:
    """Returns a server that, when it is ended, finishes what it has begun.

    Args:
        app: The application.
        patience: Seconds that a request may take, and that the end waits for those under way.
        allowance: Of connections; by default as many as the system allows.
    """
    if allowance is None:
        allowance = Allowance(most_connections(), answer_seconds=patience + FETCH_SECONDS)
    connection: Any = partial(Connection, allowance=allowance)  # uvicorn asks for a class
    config = uvicorn.Config(
        app,
        http=connection,
        lifespan="on",
        ws="none",
        backlog=BACKLOG,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=math.ceil(patience),
    )
    for name in ("uvicorn.error", "asyncio"):
        logger = logging.getLogger(name)
        if not any(isinstance(present, Once) for present in logger.filters):
            logger.addFilter(Once())
    return uvicorn.Server(config)


def run(server: uvicorn.Server, listening: socket.socket) -> None:
    """Serves until an interrupt or SIGTERM; both are the normal end."""
    # Once all is in order, uvicorn raises again whatever signals it caught.
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            server.run(sockets=[listening])
    finally:
        signal.signal(signal.SIGTERM, previous)
        listening.close()
