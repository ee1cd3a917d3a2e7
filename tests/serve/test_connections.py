from __future__ import annotations

import json
import logging
import os
import resource
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from itertools import cycle
from pathlib import Path

import httpx
import pytest

from hardalign.serve.server import BACKLOG, OWN_FILES, Clients
from helpers import eventually
from serve.helpers import MODELS, Gate, Serve, connect, received, running

pytestmark = pytest.mark.filterwarnings("ignore::hardalign.predictor.UnknownSymbolsWarning")


class Patience:
    """Knows in how many seconds the server must tell its health: one, or more on a busy machine.

    Where whoever sleeps is woken late, so is whoever waits for a request or an answer, and there
    are several to be woken one after the other.
    """

    def __init__(self) -> None:
        self._late = 0.0

    def sleep(self, seconds: float, wait: Callable[[float], object] = time.sleep) -> None:
        start = time.monotonic()
        wait(seconds)
        self._late = max(self._late, time.monotonic() - start - seconds)

    def seconds(self) -> float:
        load = os.getloadavg()[0] / len(os.sched_getaffinity(0))
        return max(1.0, load, 5 * self._late)


HEAD = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
BODILESS = (
    b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Content-Length: 100000\r\n\r\n"
)
"""A head whose body never comes."""


@pytest.mark.parametrize("beginning", [b"", b"GET", HEAD, HEAD + b"\r\n" + HEAD, BODILESS])
def test_a_request_that_never_ends(serve: Serve, beginning: bytes) -> None:
    client = serve(clients=Clients(seconds=0.5))
    with connect(client) as slow:
        slow.sendall(beginning)
        start = time.monotonic()
        answers = received(slow).count(b"200 OK")
        assert 0.3 < time.monotonic() - start < 10
    assert answers == beginning.count(b"\r\n\r\nGET")


def test_drops_of_a_head_win_no_time(serve: Serve) -> None:
    client = serve(clients=Clients(seconds=0.5))
    with connect(client) as slow:
        start = time.monotonic()
        slow.settimeout(0.01)
        for byte in cycle(b"X-Drop: 1\r\n"):
            try:
                slow.sendall(bytes([byte]))
                if not slow.recv(1):
                    break
            except TimeoutError:
                assert time.monotonic() - start < 10
            except ConnectionError:
                break


def test_answers_that_nobody_fetches(serve: Serve) -> None:
    client = serve(clients=Clients(most=3, seconds=1))
    asked = HEAD.replace(b"/health", b"/openapi.json") + b"\r\n"
    with connect(client) as slow:
        slow.settimeout(0.1)

        def dropped() -> bool:
            try:
                slow.sendall(asked * 100)
            except TimeoutError:
                return False  # the server reads no more
            except ConnectionError:
                return True
            return False

        eventually(dropped, within=30)
        assert client.get("/health").is_success


def test_the_longest_idle_makes_room(serve: Serve) -> None:
    client = serve(clients=Clients(most=3))
    with ExitStack() as stack:
        idle = [stack.enter_context(connect(client)) for _ in range(3)]
        assert client.get("/health").is_success
        assert received(idle[0]) == b""
        idle[1].sendall(HEAD + b"Connection: close\r\n\r\n")
        assert b"200 OK" in received(idle[1])


@pytest.mark.parametrize("beginning", [b"GET", BODILESS, BODILESS + b" " * 70_000])
def test_half_a_request_makes_room_too(serve: Serve, beginning: bytes) -> None:
    client = serve(clients=Clients(most=3))
    with ExitStack() as stack:
        slow = [stack.enter_context(connect(client)) for _ in range(3)]
        for connection in slow:
            connection.sendall(beginning)
        for _ in range(3):
            with connect(client) as fresh:
                fresh.sendall(HEAD + b"Connection: close\r\n\r\n")
                assert b"200 OK" in received(fresh)
        assert received(slow[0]) == b""


def test_where_all_are_at_work_the_next_is_refused(serve: Serve, gate: Gate) -> None:
    client = serve(clients=Clients(most=2))
    body = json.dumps({"words": ["a"]}).encode()
    head = b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    head += b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
    with connect(client) as first, connect(client) as second:
        for connection in (first, second):
            connection.sendall(head + body)
        assert gate.reached.wait(30)
        # Both are accepted before whoever comes later, and neither has an answer yet.
        assert not select.select([first, second], [], [], 1.0)[0]
        with connect(client) as other:
            other.sendall(HEAD + b"Connection: close\r\n\r\n")
            answer_head, _, answer = received(other).partition(b"\r\n\r\n")
        assert b"503" in answer_head
        assert b"Retry-After" in answer_head
        assert json.loads(answer) == {"error": "too many connections"}
        gate.opened.set()
        assert all(b"200 OK" in received(connection) for connection in (first, second))


def test_a_client_that_leaves(
    serve: Serve, gate: Gate, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    client = serve()
    head = b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    body = json.dumps({"words": ["a"] * 400}).encode()
    with connect(client) as leaving:  # in the middle of the body
        leaving.sendall(head + b"Content-Length: 999\r\n\r\n" + body[:10])
    with connect(client) as leaving:  # while the model works
        leaving.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        assert gate.reached.wait(30)
        with connect(client) as second:
            second.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            eventually(lambda: client.get("/health").json()["waiting"] >= 400 * 3)
    # What nobody waits for is not worked for.
    eventually(lambda: client.get("/health").json()["waiting"] == 0)
    gate.opened.set()
    assert client.post("/predict", json={"words": ["ab"]}).is_success
    assert caplog.records == []
    assert capfd.readouterr().err == ""


SERVER = """
import resource, sys
sys.path[:0] = {paths!r}
resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
from helpers import tiny_predictor
from hardalign.serve.app import create_app
from hardalign.serve.messages import Limits
from hardalign.serve.server import address_of, listen, make_server, run
listening = listen("127.0.0.1", 0)
print(address_of(listening), flush=True)
models = {{"hard": tiny_predictor(layout="pairs")}}
run(make_server(create_app(models, Limits()), 10), listening)
"""


@contextmanager
def process_of_few_files() -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    """A server in a process that may open 1024 files, as is common."""
    code = SERVER.format(paths=sys.path)
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        with httpx.Client(base_url=address, timeout=30, trust_env=False) as client:
            try:
                yield process, client
            finally:
                process.terminate()


def memory(process: subprocess.Popen[str]) -> int:
    """Bytes that a process holds."""
    pages = Path(f"/proc/{process.pid}/statm").read_text().split()[1]
    return int(pages) * resource.getpagesize()


@pytest.mark.parametrize("kind", ["idle", "half a head", "no body", "half a body"])
def test_slow_connections_keep_nobody_out(kind: str) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    count = 2300
    if hard != resource.RLIM_INFINITY:
        count = min(count, hard - 200)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count + 200), hard))
    half = {"idle": b"", "half a head": b"GET / HT", "no body": BODILESS}
    sent = half.get(kind, BODILESS + b" " * 90_000)
    slowest, patience = 0.0, Patience()
    with process_of_few_files() as (process, client), ExitStack() as stack:
        eventually(lambda: client.get("/health").is_success)
        before = memory(process)
        for k in range(count):
            stack.enter_context(connect(client)).sendall(sent)
            if k % 50 == 0:
                patience.sleep(0.01)
                start = time.monotonic()
                with connect(client) as fresh:
                    fresh.sendall(HEAD + b"Connection: close\r\n\r\n")
                    assert b"200 OK" in received(fresh)
                slowest = max(slowest, time.monotonic() - start)
        opened = len(list(Path(f"/proc/{process.pid}/fd").iterdir()))
        assert opened <= 1024 - BACKLOG
        assert count > 1024 - 2 * BACKLOG - OWN_FILES  # more than there is room for
        assert memory(process) - before < 300_000 * opened
        assert client.post("/predict", json={"words": ["ab"]}).is_success
        stack.close()
        process.terminate()
        assert process.wait(30) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""
    assert slowest < patience.seconds()


POISON = [
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # somebody speaks TLS
    b"GET / HTTP/9.9\r\n\r\n",
    b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
    b"POST /predict HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"X" * 100_000,
]
POISONED_BODIES = [
    rb'{"words": ["\ud800"]}',
    b'{"words": ' + b"[" * 50_000,
    b'{"words": ["' + b"a" * 101 + b'"]}',
    json.dumps({"words": ["abcd" * 20] * 400, "beam": 20}).encode(),
    json.dumps({"words": ["q\u0000\u202e\U0001f600"], "nbest": 20, "alignments": True}).encode(),
    b"{}" * 600_000,
    json.dumps({"words": ["a" + "\u0301" * 400 + "\u0316" * 400] * 40}).encode(),
    ('{"text": "a' + "\u0301" * 30_000 + "\u0316" * 30_000 + '"}').encode(),
]


def test_many_clients_among_poisoners() -> None:
    words = [a + b + c for a in "abcd" for b in "abcd" for c in "abcdq"]
    expected = dict(zip(words, (one.text for one in MODELS["hard"](words)), strict=True))
    over = threading.Event()
    healths: list[float] = []
    patience = Patience()

    def poison(client: httpx.Client, which: int) -> None:
        for k, raw in enumerate(cycle(POISON)):
            if over.is_set():
                return
            try:
                with connect(client) as connection:
                    connection.sendall(raw)
                    if k % 2:
                        received(connection)
            except OSError:
                pass  # the server has had enough
            body = POISONED_BODIES[(k + which) % len(POISONED_BODIES)]
            connection = HTTPConnection(client.base_url.host, client.base_url.port or 80)
            try:
                connection.request("POST", "/predict", body, {"Content-Type": "application/json"})
                assert connection.getresponse().status in (200, 400, 413, 422)
            except OSError:
                pass
            connection.close()

    def another(client: httpx.Client) -> httpx.Client:
        # Threads that share one may close each other's connections; and its certificates are slow.
        return httpx.Client(base_url=client.base_url, timeout=30, trust_env=False, verify=False)

    def ask(client: httpx.Client, which: int) -> None:
        with another(client) as own:
            for word in words[which::16]:
                response = own.post("/predict", json={"words": [word]})
                assert response.status_code == 200
                assert response.json()["answers"][0]["predictions"][0]["text"] == expected[word]

    def watch(client: httpx.Client) -> None:
        with another(client) as own:
            while not over.is_set():
                patience.sleep(0.05, over.wait)
                start = time.monotonic()
                assert own.get("/health").is_success
                healths.append(time.monotonic() - start)

    with running() as (_, client), ThreadPoolExecutor(69) as threads:
        others = [threads.submit(poison, client, k) for k in range(4)]
        others.append(threads.submit(watch, client))
        try:
            for asked in [threads.submit(ask, client, k % 16) for k in range(64)]:
                asked.result()
        finally:
            over.set()
        for one in others:
            one.result()
    assert max(healths) < patience.seconds()


@pytest.mark.parametrize("method", [b"DELETE", b"HEAD"])
def test_a_body_that_is_no_http(method: bytes, caplog: pytest.LogCaptureFixture) -> None:
    """It is refused once: by the server, and not by the application too, which fails then."""
    head = method + b" /predict HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    with running() as (_, client), caplog.at_level(logging.ERROR):
        address = (client.base_url.host, client.base_url.port)
        for _ in range(2):
            with socket.create_connection(address, timeout=30) as connection:
                connection.sendall(head + b"this is no chunk\r\n\r\n")
                answer = b""
                while part := connection.recv(1 << 16):
                    answer += part
            assert answer.startswith(b"HTTP/1.1 4")
    assert not [record for record in caplog.records if record.exc_info]
