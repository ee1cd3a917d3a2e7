"""Connections that do nothing, or do it slowly, do not keep others out.

A client has so many seconds for the head of a request, and then for its body and to fetch the
answer. There are never more connections than there are files to open for them: when all are taken,
the one that has been idle for longest makes room for the next.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST = 2000
"""Connections open at a time, where the system allows so many files."""
BACKLOG = 128
"""Connections accepted at a time, before any of them can be closed again."""
OWN_FILES = 64
"""Files that the process opens itself."""
BUSY_BODY = b'{"error":"too many connections; try again later"}'
BUSY = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 1\r\n"
    b"Connection: close\r\nContent-Length: %d\r\n\r\n%b" % (len(BUSY_BODY), BUSY_BODY)
)


@dataclass
class Allowance:
    """How many connections a server may have, and how long they may take."""

    most: int = MOST
    head_seconds: float = 10.0
    """For the head of a request, from the connection or from the answer before."""
    answer_seconds: float = 60.0
    """From there until the client has fetched its answer."""
    idle: dict[Connection, None] = field(default_factory=dict)
    """The connections that no request has come from, longest idle first."""


class Connection(H11Protocol):
    """An HTTP connection with limits of time and number."""

    def __init__(self, *args: Any, allowance: Allowance, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.allowance = allowance
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Makes room for the connection, or refuses it."""
        super().connection_made(transport)
        if len(self.connections) > self.allowance.most:
            if not self.allowance.idle:
                transport.write(BUSY)
                transport.close()
                return
            next(iter(self.allowance.idle)).end()
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forgets the connection."""
        self._forget()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Reads what has come; a client whose request has a whole head gets time for the rest."""
        cycle = self.cycle
        super().handle_events()
        if self.cycle is not cycle and not self.cycle.response_complete:
            self._forget()
            self._timer = self.loop.call_later(self.allowance.answer_seconds, self.end)

    def send_400_response(self, msg: str) -> None:
        """Answers what is no HTTP; the application's own answer to what came before is dropped."""
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            with suppress(h11.LocalProtocolError):  # to HEAD, no body can be sent
                super().send_400_response(msg)
        self.transport.close()

    def on_response_complete(self) -> None:
        """Waits for the next request."""
        if not self.transport.is_closing():
            self._expect_head()
        super().on_response_complete()

    def end(self) -> None:
        """Drops the connection at once, with all that has not been fetched."""
        self._forget()
        self.connections.discard(self)
        self.transport.abort()

    def _expect_head(self) -> None:
        self._forget()
        self.allowance.idle[self] = None
        self._timer = self.loop.call_later(self.allowance.head_seconds, self.end)

    def _forget(self) -> None:
        """Stops waiting for the client, which is not idle any more either."""
        self.allowance.idle.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()


def most_connections() -> int:
    """Returns how many connections there may be; raises the limit of open files for them."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return MOST
    # Those that are being accepted, and those that are being closed for them.
    reserved = OWN_FILES + 2 * BACKLOG
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    if soft != unlimited and soft < MOST + reserved:
        soft = MOST + reserved if hard == unlimited else min(hard, MOST + reserved)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return MOST if soft == unlimited else max(1, min(MOST, soft - reserved))


class Once(logging.Filter):
    """Lets a message through once in a minute, so that no repeated error fills a disk."""

    SECONDS = 60.0

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[tuple[object, ...], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Tells whether a message is to be written."""
        kind, trace = (record.exc_info or (None, None, None))[::2]
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        key = (record.msg[:40], kind, trace and (trace.tb_frame.f_code, trace.tb_lineno))
        now = time.monotonic()
        if now - self._last.get(key, -self.SECONDS) < self.SECONDS:
            return False
        if len(self._last) > 1000:
            self._last.clear()
        self._last[key] = now
        return True
