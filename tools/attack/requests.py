"""Damaged HTTP requests to a real server in a thread of this process."""

# ruff: noqa: E501 - lists of odd things read better in wide lines

from __future__ import annotations

import json
import logging
import random
import re
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from attack.harness import Outcome
from attack.mutation import MARKS, ODD_NUMBERS, ODD_TEXTS, damaged, damaged_value
from attack.world import World
from hardalign.predictor import load
from hardalign.serve.app import create_app
from hardalign.serve.messages import Limits
from hardalign.serve.server import Clients, listen, make_server

PATIENCE = 20.0
"""Seconds that an answer may take on a busy machine."""
PATHS = ("/", "/docs", "/health", "/models", "/openapi.json", "/predict", "/text", "/page/app.js",
         "/page/../../config.py", "/page/%2e%2e/app.py", "/page//etc/passwd", "/%00", "//", "/é", "*")  # fmt: skip
METHODS = ("POST",) * 8 + ("GET", "GET", "HEAD", "PUT", "OPTIONS", "DELETE", "CONNECT", "X")
HALVES = (b"", b"\r\n", b"\r\n\r\n", b"\r\n\r\n{")
Case = Callable[[random.Random], Outcome]


class _Log(logging.Handler):
    """Keeps log records that have a traceback."""

    def __init__(self) -> None:
        super().__init__()
        self.traces: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info:
            self.traces.append(logging.Formatter().format(record))


@contextmanager
def serving(world: World) -> Iterator[Case]:
    """Serves some models; yields a function that sends one damaged request."""
    models = {name: load(world.model(name)) for name in ("hard", "sigmorphon")}
    listening = listen("127.0.0.1", 0)
    address = listening.getsockname()
    # Do not wait for requests that are never finished.
    clients = Clients(most=100, seconds=0.5)
    server = make_server(create_app(models, Limits(body=1 << 16)), 10, clients)
    log = _Log()
    loggers = [logging.getLogger(name) for name in ("uvicorn.error", "asyncio")]
    for logger in loggers:
        logger.addHandler(log)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    silent: deque[socket.socket] = deque()

    def case(draw: random.Random) -> Outcome:
        request = _request(draw)
        if draw.random() < 0.02:  # headers without bodies, more than there is room for
            silent.append(socket.create_connection(address, timeout=PATIENCE))
            with suppress(OSError):
                silent[-1].sendall(request.partition(b"\r\n\r\n")[0] + draw.choice(HALVES))
            if len(silent) > clients.most + 20:
                silent.popleft().close()
        answer = _ask(address, request, leave=draw.random() < 0.05, wait=draw.random() < 0.3)
        trouble = _odd(answer, request)
        if trouble is None and draw.random() < 0.01:
            started = time.monotonic()
            health = _ask(address, b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            if b'"status":"ok"' not in health or time.monotonic() - started > PATIENCE:
                trouble = f"the server is unhealthy: {health[:200]!r}"
        if log.traces:
            trouble = "\n".join(log.traces)
            log.traces.clear()
        note = trouble and f"{trouble}\n{request[:2000]!r} → {answer[:300]!r}"
        return Outcome(0, answer, repr(request[:2000]), note)

    try:
        yield case
    finally:
        for connection in silent:
            connection.close()
        server.should_exit = True
        thread.join()
        listening.close()
        for logger in loggers:
            logger.removeHandler(log)


def _request(draw: random.Random) -> bytes:
    question: dict[str, Any] = {"words": ["ab", "cab"]}
    for name, value in (("model", "hard"), ("nbest", 2), ("beam", 5), ("alignments", True)):
        if draw.random() < 0.3:
            question[name] = value
    if draw.random() < 0.2:
        question |= {"model": "sigmorphon", "words": ["ab\tN;PL"]}
    if draw.random() < 0.5:
        question = damaged_value(question, draw)
    if draw.random() < 0.05:
        question = {"words": ["ab" * draw.randrange(80)] * draw.randrange(600)}
    path = "/predict"
    if draw.random() < 0.1:
        path, question = "/text", {"text": draw.choice([*ODD_TEXTS, "ab, 12 cab\n"]), "ipa": False}
    if draw.random() < 0.02:
        marks = draw.randrange(30_000)
        word = "a" + MARKS[0] * marks + MARKS[1] * marks
        question = {"text": word} if path == "/text" else {"words": [word]}
    body = json.dumps(question, ensure_ascii=draw.random() < 0.5).encode(errors="surrogatepass")
    if draw.random() < 0.3:
        body = damaged(body, draw)
    method = draw.choice(METHODS)
    if draw.random() < 0.15:
        path = draw.choice(PATHS)
    headers = {
        "Host": draw.choice(["localhost"] * 9 + ["evil.example", "127.0.0.1:80", "[::1]", ""]),
        "Content-Type": draw.choice(["application/json"] * 9 + ["APPLICATION/JSON; x=y", "text/x"]),
        "Content-Length": str(len(body)),
    }
    if draw.random() < 0.1:
        length = draw.choice([*map(str, ODD_NUMBERS), "", "+3", "1,2"])
        headers["Content-Length"] = length
    if draw.random() < 0.1:
        headers["Transfer-Encoding"] = draw.choice(["chunked", "gzip", "identity", "x"])
        if draw.random() < 0.5:
            del headers["Content-Length"]
            body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    if draw.random() < 0.1:
        name = draw.choice(
            ["Origin", "Sec-Fetch-Site", "Expect", "Upgrade", "Connection", "Range", "X-é"]
        )
        values = ("100-continue", "websocket", "cross-site", "bytes=9-1", "bytes=99999999-")
        headers[name] = draw.choice([*ODD_TEXTS, *values])
    lines = [f"{method} {path} HTTP/1.{draw.choice('1110')}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    head = "\r\n".join(lines).encode(errors="surrogatepass") + b"\r\n\r\n"
    if draw.random() < 0.15:
        head = damaged(head, draw)
    return head + body


def _ask(address: Any, request: bytes, leave: bool = False, wait: bool = True) -> bytes:
    """Sends a request and returns all that comes back; or leaves before that.

    A client that does not ``wait`` closes its sending side at once, which may be taken for leaving.
    """
    answer = b""
    with socket.create_connection(address, timeout=PATIENCE) as connection:
        try:
            connection.sendall(request)
            if leave:
                return answer
            if not wait or not _is_whole(request) or request.startswith(b"HEAD"):
                connection.shutdown(socket.SHUT_WR)
            while not _is_whole(answer) and (part := connection.recv(1 << 16)):
                answer += part
        except TimeoutError:
            return b"TIMEOUT " + answer
        except OSError:
            pass  # refused midway, perhaps before all was sent
    return answer


def _is_whole(message: bytes) -> bool:
    """Whether a request or an answer that declares its length is complete."""
    head, end, body = message.partition(b"\r\n\r\n")
    length = re.search(rb"\r\nContent-Length: (\d{1,9})(\r\n|$)", head, re.IGNORECASE)
    return bool(end and length) and len(body) >= int(length[1]) and b"chunked" not in head


def _odd(answer: bytes, request: bytes) -> str | None:
    if answer.startswith(b"TIMEOUT"):
        return "the server neither answers nor hangs up"
    if not answer:
        return None  # half a request, or one whose client left
    status = answer[9:12]
    if not answer.startswith(b"HTTP/1.") or not status.isdigit():
        return "not HTTP"
    head = answer.partition(b"\r\n\r\n")[0]
    if status >= b"400" and b"application/json" not in head and not request.startswith(b"HEAD"):
        return "an error that is not JSON"
    return f"status {status.decode()}" if status >= b"500" and status != b"503" else None
