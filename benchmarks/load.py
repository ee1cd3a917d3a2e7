"""Measures a server under load: one client, many clients, and many clients beside attackers.

    python benchmarks/load.py MODEL FILE [--clients 64] [--requests 2000] [--nbest K] [--slow 2300]

Each request is for one word of FILE. First one client sends them all, one after another; then all
clients at once, so that the server answers in batches; then all clients again, beside four that
send malicious requests and many slow connections: idle ones, partial headers, headers without a
body, and partial bodies. Every answer must equal the first client's, none may be refused, and
/health must answer within a second throughout. All in one run and against one server on a loopback
address: on a busy machine, look at the ratio.
"""

from __future__ import annotations

import argparse
import json
import resource
import socket
import statistics
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack
from http.client import HTTPConnection, HTTPException
from itertools import count, cycle, islice
from multiprocessing import Manager, get_context
from threading import Event
from typing import Any
from urllib.parse import urlsplit

import hardalign
from hardalign.data.reading import read_examples
from serving import served

Result = tuple[float, str]
"""Seconds to the answer, and the answer."""
JSON = {"Content-Type": "application/json"}
POISON = [
    rb'{"words": ["\ud800"]}',
    b"{" * 100_000,
    b'{"words": ["' + b"a" * 101 + b'"]}',
    json.dumps({"words": ["psychology" * 5] * 500, "beam": 20}).encode(),
    json.dumps({"words": ["\u0000\u202e\U0001f600"], "nbest": 20, "alignments": True}).encode(),
    b" " * (1 << 21),
    json.dumps({"words": ["a" + "\u0301" * 400 + "\u0316" * 400] * 20}).encode(),
    ('{"words": ["a' + "\u0301" * 30_000 + "\u0316" * 30_000 + '"]}').encode(),
]
"""Bodies to be refused, and one to be answered."""
HEAD = (
    b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Content-Length: 100000\r\n\r\n"
)
SLOW = (b"", b"GET / HT", HEAD, HEAD + b" " * 90_000)
"""All that slow connections ever send."""
HEALTH_SECONDS = 1.0


def client(authority: str, bodies: list[bytes]) -> list[Result]:
    """Send all requests over one connection."""
    connection = HTTPConnection(authority, timeout=60)
    results = []
    for body in bodies:
        start = time.perf_counter()
        connection.request("POST", "/predict", body, JSON)
        response = connection.getresponse()
        content: dict[str, Any] = json.loads(response.read())
        if response.status != 200:
            sys.exit(f"status {response.status}: {content}")
        text = content["answers"][0]["predictions"][0]["text"]
        results.append((time.perf_counter() - start, text))
    connection.close()
    return results


def poison(authority: str, first: int, over: Event) -> int:
    """Send malicious requests until ``over``; return how many."""
    for k in count(first):
        if over.is_set():
            return k - first
        connection = HTTPConnection(authority, timeout=60)
        try:
            connection.request("POST", "/predict", POISON[k % len(POISON)], JSON)
            if k % 3:  # some leave without waiting for the answer
                status = connection.getresponse().status
                if status not in (200, 400, 413, 422):
                    sys.exit(f"poison gave status {status}")
        except (OSError, HTTPException):
            pass  # the server had read enough
        connection.close()
    raise AssertionError


def watch(authority: str, over: Event) -> list[float]:
    """Return the seconds that /health takes on new connections until ``over``.

    In its own process, because the clients' threads delay each other.
    """
    times = []
    while not over.wait(0.05):
        start = time.perf_counter()
        connection = HTTPConnection(authority, timeout=60)
        connection.request("GET", "/health")
        if connection.getresponse().status != 200:
            sys.exit("the server is unhealthy")
        connection.close()
        times.append(time.perf_counter() - start)
    return times


def run(authority: str, bodies: list[bytes], clients: int) -> tuple[float, list[list[Result]]]:
    """Divide requests among clients; return seconds and each client's results."""
    shares = [bodies[k::clients] for k in range(clients)]
    start = time.perf_counter()
    with ThreadPoolExecutor(clients) as threads:
        results = list(threads.map(lambda share: client(authority, share), shares))
    return time.perf_counter() - start, results


def attacked(
    authority: str, bodies: list[bytes], clients: int, slow: int
) -> tuple[float, list[list[Result]]]:
    """The same beside malicious requests and slow connections, which are counted."""
    host, _, port = authority.partition(":")
    with (
        Manager() as manager,
        ExitStack() as stack,
        ProcessPoolExecutor(1, get_context("spawn")) as watcher,
        ThreadPoolExecutor(4) as threads,
    ):
        over = manager.Event()
        health = watcher.submit(watch, authority, over)
        for k in range(slow):
            connection = socket.create_connection((host, int(port)), timeout=60)
            stack.enter_context(connection).sendall(SLOW[k % len(SLOW)])
        poisoners = [threads.submit(poison, authority, k, over) for k in range(4)]
        try:
            seconds, results = run(authority, bodies, clients)
        finally:
            over.set()
        sent = sum(one.result() for one in poisoners)
        times = health.result()
        print(
            f"{slow} slow connections, {sent} poisoned requests: {len(times)} times "
            f"/health median {1000 * statistics.median(times):.0f} ms, slowest {max(times):.2f} s"
        )
    if max(times) > HEALTH_SECONDS:
        sys.exit(f"/health took more than {HEALTH_SECONDS:g} s")
    return seconds, results


def report(name: str, seconds: float, results: list[list[Result]]) -> None:
    times = [1000 * taken for own in results for taken, _ in own]
    median, last = statistics.median(times), statistics.quantiles(times, n=100)[98]
    print(
        f"{name:<20} {len(times) / seconds:7.1f} requests/s   "
        f"median {median:6.1f} ms   99th percentile {last:6.1f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("file")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--nbest", type=int, help="default: greedy search")
    parser.add_argument("--slow", type=int, default=2300)
    arguments = parser.parse_args()

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    layout = hardalign.load(arguments.model).description.format
    read = (word for word in read_examples(arguments.file, layout, "prediction") if word.source)
    words = list(islice(cycle(islice(read, arguments.requests)), arguments.requests))
    search = {} if arguments.nbest is None else {"nbest": arguments.nbest}
    bodies = [
        json.dumps({"words": [layout.join_source(word.source)], **search}).encode()
        for word in words
    ]
    clients = arguments.clients
    with served([arguments.model]) as address:
        authority = urlsplit(address).netloc
        client(authority, bodies[:20])  # warm-up
        alone_seconds, alone = run(authority, bodies, 1)
        together_seconds, together = run(authority, bodies, clients)
        attacked_seconds, beside = attacked(authority, bodies, clients, arguments.slow)

    report("one by one", alone_seconds, alone)
    report(f"{clients} clients", together_seconds, together)
    report("the same, attacked", attacked_seconds, beside)
    ratio = alone_seconds / together_seconds
    print(f"{ratio:.1f} times as many together; {len(bodies)} requests each, no error")
    expected = [text for _, text in alone[0]]
    for results in (together, beside):
        for k, own in enumerate(results):
            if [text for _, text in own] != expected[k::clients]:
                sys.exit("the answers differ")


if __name__ == "__main__":
    main()
