"""How the server stands up to many clients, beside the same requests one by one.

    python benchmarks/load.py MODEL FILE [--clients 50] [--requests 2000] [--nbest K]

Each request asks one word of FILE. First one client sends them all, each after the answer to the
one before; then all clients at once, so that the server answers them in batches. Both in one run
and against one server: of a busy machine, the ratio is what to look at.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from itertools import cycle, islice
from typing import Any
from urllib.parse import urlsplit

import hardalign
from hardalign.data.reading import read_examples
from serving import served

Result = tuple[float, str]
"""Seconds to the answer, and the answer."""


def client(authority: str, bodies: list[bytes]) -> list[Result]:
    """Ask everything over one connection."""
    connection = HTTPConnection(authority, timeout=60)
    results = []
    for body in bodies:
        start = time.perf_counter()
        connection.request("POST", "/predict", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        content: dict[str, Any] = json.loads(response.read())
        if response.status != 200:
            sys.exit(f"status {response.status}: {content}")
        text = content["answers"][0]["predictions"][0]["text"]
        results.append((time.perf_counter() - start, text))
    connection.close()
    return results


def run(authority: str, bodies: list[bytes], clients: int) -> tuple[float, list[list[Result]]]:
    """Share requests out among clients; seconds, and the results of each client."""
    shares = [bodies[k::clients] for k in range(clients)]
    start = time.perf_counter()
    with ThreadPoolExecutor(clients) as threads:
        results = list(threads.map(lambda share: client(authority, share), shares))
    return time.perf_counter() - start, results


def report(name: str, seconds: float, results: list[list[Result]]) -> None:
    times = [1000 * taken for own in results for taken, _ in own]
    median, last = statistics.median(times), statistics.quantiles(times, n=100)[98]
    print(
        f"{name:<12} {len(times) / seconds:7.1f} requests/s   "
        f"median {median:6.1f} ms   99th percentile {last:6.1f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("file")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--nbest", type=int, help="default: greedy search")
    arguments = parser.parse_args()

    layout = hardalign.load(arguments.model).description.format
    read = (word for word in read_examples(arguments.file, layout, "prediction") if word.source)
    words = list(islice(cycle(islice(read, arguments.requests)), arguments.requests))
    search = {} if arguments.nbest is None else {"nbest": arguments.nbest}
    bodies = [
        json.dumps({"words": [layout.join_source(word.source)], **search}).encode()
        for word in words
    ]
    with served([arguments.model]) as address:
        authority = urlsplit(address).netloc
        client(authority, bodies[:20])  # nobody measures the first call
        alone_seconds, alone = run(authority, bodies, 1)
        seconds, together = run(authority, bodies, arguments.clients)

    report("one by one", alone_seconds, alone)
    report(f"{arguments.clients} clients", seconds, together)
    print(f"{alone_seconds / seconds:.1f} times as many; {len(bodies)} requests each, no error")
    expected = [text for _, text in alone[0]]
    for k, own in enumerate(together):
        if [text for _, text in own] != expected[k :: arguments.clients]:
            sys.exit("the answers are not the same")


if __name__ == "__main__":
    main()
