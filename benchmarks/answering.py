"""Answers beside those of an older version: start-up, single words, files, server, memory, size.

    python benchmarks/answering.py FILE HARD MONOTONIC [--before PYTHON] [--light PYTHON]

FILE holds source words in the format of the models HARD and MONOTONIC, folders of `hard` and
`hard-monotonic`. PYTHON is the interpreter of another installation: before, of commit dbb7dc6, to
be compared with; light, of one without extras, whose size is measured. Every figure is the best of
some turns, and turns alternate between the versions, so that a noisy moment hits both alike.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.client import HTTPConnection
from itertools import cycle, islice
from pathlib import Path

from serving import served

TURNS = 2
ONE = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

SINGLE = """
import sys, time, hardalign
g2p = hardalign.load("en-g2p")
g2p("warm"); g2p("thought")
words = ["action", "knight", "thought", "pneumonia", "character"] * 20
start = time.perf_counter()
for word in words:
    g2p(word).log_prob
print(1000 * (time.perf_counter() - start) / len(words))
"""
MEMORY = """
import resource, hardalign
hardalign.load("en-g2p")("action")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
WORDS_AFTER = """
import sys, time, hardalign
from hardalign.data.reading import read_examples
from hardalign.search import Search
file, model, beam, threads = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
predictor = hardalign.load(model)
examples = list(read_examples(file, predictor.description.format, "prediction"))[:8000]
search = Search(beam=beam)
list(predictor.answers(examples[:200], search, exact=False, threads=threads))
start = time.perf_counter()
for _ in predictor.answers(examples, search, exact=False, threads=threads):
    pass
print(len(examples) / (time.perf_counter() - start))
"""
WORDS_BEFORE = """
import sys, time, torch, hardalign
from hardalign.data.reading import read_examples
from hardalign.search import Search
file, model, beam, threads = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
torch.set_num_threads(threads)
predictor = hardalign.load(model)
examples = list(read_examples(file, predictor.description.format, "prediction"))[:8000]
search = Search(beam=beam, rescore=False)
list(predictor.answers(examples[:200], search))
start = time.perf_counter()
for _ in predictor.answers(examples, search):
    pass
print(len(examples) / (time.perf_counter() - start))
"""


def run(python: str, code: str, *arguments: str, threads: int = 1) -> float:
    """Runs a program that prints a number."""
    environment = {**os.environ, **ONE, "OMP_NUM_THREADS": str(threads)}
    command = [python, "-c", code, *arguments]
    output = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(output.stdout.split()[-1])


def cold(python: str) -> float:
    """Seconds from a shell's prompt to the pronunciation of one word."""
    start = time.perf_counter()
    command = [python, "-c", "from hardalign.cli.main import main; main()"]
    subprocess.run([*command, "predict", "en-g2p", "-"], input=b"action\n", capture_output=True)
    return time.perf_counter() - start


def requests(python: str, clients: int, count: int = 600) -> float:
    """Requests per second of a server on `en-g2p`, one word each, one after the other by client."""
    words = ["action", "knight", "thought", "pneumonia", "character"]

    def ask(authority: str, word: str) -> None:
        connection = HTTPConnection(authority, timeout=60)
        body = json.dumps({"words": [word]})
        for _ in range(count // clients):
            connection.request("POST", "/predict", body, {"Content-Type": "application/json"})
            answer = json.loads(connection.getresponse().read())
            assert answer["answers"][0]["predictions"][0]["text"]
        connection.close()

    with served(["en-g2p"], python) as address, ThreadPoolExecutor(clients) as threads:
        ask_each = partial(ask, address.removeprefix("http://"))
        ask_each(words[0])  # warm
        start = time.perf_counter()
        list(threads.map(ask_each, islice(cycle(words), clients)))
        return count / (time.perf_counter() - start)


def size(python: str) -> float:
    """Megabytes of an installation's site-packages, without pip and setuptools."""
    code = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    folder = subprocess.run([python, "-c", code], capture_output=True, text=True).stdout.strip()
    kept = (path for path in Path(folder).iterdir() if path.name[:3] not in ("pip", "set"))
    output = subprocess.run(["du", "-sk", "-c", *map(str, kept)], capture_output=True, text=True)
    return int(output.stdout.split()[-2]) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("hard")
    parser.add_argument("monotonic")
    parser.add_argument("--before")
    parser.add_argument("--light")
    options = parser.parse_args()
    versions = {"now": sys.executable} | ({"before": options.before} if options.before else {})
    programs = {"now": WORDS_AFTER, "before": WORDS_BEFORE}
    words = {
        "hard greedy, 1 thread, words/s": (options.hard, 1, 1),
        "hard greedy, 2 threads, words/s": (options.hard, 1, 2),
        "hard beam 5, 1 thread, words/s": (options.hard, 5, 1),
        "hard-monotonic greedy, 1 thread, words/s": (options.monotonic, 1, 1),
    }
    figures: dict[str, dict[str, float]] = {}

    def keep(name: str, version: str, value: float, least: bool) -> None:
        best = min if least else max
        own = figures.setdefault(name, {})
        own[version] = best(own.get(version, value), value)
        print(f"{version:<8}{name:<44}{value:12.3f}", file=sys.stderr, flush=True)

    for _ in range(TURNS):
        for version, python in versions.items():
            keep("one word cold, s", version, cold(python), True)
            keep("one word in Python, ms", version, run(python, SINGLE, threads=2), True)
            for name, (model, beam, threads) in words.items():
                arguments = (options.file, model, str(beam), str(threads))
                speed = run(python, programs[version], *arguments, threads=threads)
                keep(name, version, speed, False)
            for clients in (1, 50):
                name = f"server, {clients} clients, requests/s"
                keep(name, version, requests(python, clients), False)
    for version, python in versions.items():
        keep("memory after one word, MB", version, run(python, MEMORY), True)
        if version == "before" or options.light:
            installed = options.light if version == "now" else python
            keep("installed, MB", version, size(installed), True)
    for name, own in figures.items():
        ratio = f"{own['now'] / own['before']:8.2f}" if "before" in own else ""
        print(f"{name:<44}" + "".join(f"{own.get(v, 0):12.3f}" for v in versions) + ratio)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
