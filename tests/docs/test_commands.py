"""Every command and every piece of Python in the documents is run, page by page, in order."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from docs import resident
from docs.pages import PAGES, ROOT, Command, Snippet, blocks, name_of
from hardalign.config import SIZES

NOT_RUN = {
    "hardalign corpora fetch conll2017/danish": "downloads",
    "hardalign train --corpus conll2017/danish --out runs/danish": "downloads",
    "hardalign corpora fetch wikidata-names/korean": "downloads",
    "hardalign train --corpus wikidata-names/korean --out runs/korean": "downloads",
    "hardalign serve en-g2p": "does not end: test_the_server_answers starts and ends it",
    "hardalign serve en-g2p ko=runs/ko old=/data/2024/model": "does not end either",
    "hardalign serve en-g2p --lexicon mine.tsv": "does not end: test_serve.py starts one",
}
"""Commands that are shown but not run with their page, and why."""

SMALLER = {
    "size=8000": "size=120",
    ".test[:1500]": ".test[:100]",
}
"""Sizes that are good to learn from, and sizes that are quick."""

LEXICON = r"action\tAE K SH AH N\nphone\tF OW N\nknight\tN AY T\ncat\tK AE T\n"
PREPARED = {
    "README.md": [
        f"for part in train dev test; do printf '{LEXICON}' > $part.tsv; done",
        r"printf 'action\nphone\n' > words.txt",
    ],
}
"""Files that a page takes for granted, made before its first command."""

Shell = Callable[[str], subprocess.CompletedProcess[str]]
RUNNABLE = [page for page in PAGES if any(isinstance(b, Command | Snippet) for b in blocks(page))]


@pytest.fixture(scope="module")
def programs() -> Iterator[Path]:
    """A folder with a quick ``hardalign``."""
    # Not in pytest's folder, whose name may be too long for the address of a socket.
    with tempfile.TemporaryDirectory() as folder:
        address = Path(folder, "socket")
        process = subprocess.Popen(
            [sys.executable, resident.__file__, address],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            resident.write_client(Path(folder, "hardalign"), address)
            yield Path(folder)
        finally:
            process.kill()
            process.communicate()


@pytest.fixture
def shell(programs: Path, tmp_path: Path) -> Shell:
    """Run a line of bash in a folder that has the guide's data and examples, and no more."""
    for folder in ("docs/data", "docs/examples"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    path = os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]])
    settings = {"HOME": str(tmp_path), "OMP_NUM_THREADS": "1", "COLUMNS": "100"}
    environment = {**os.environ, "PATH": path, **settings}

    def run(line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", f"set -o pipefail; {without_head(line)}"],
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=300,
        )

    return run


def without_head(line: str) -> str:
    """The same line with all of its output: what writes to a head that has left is killed by it."""
    return re.sub(r" \| head( -n \d+)?(?= |$)", "", line)


def quick(line: str) -> str:
    """The same command on less data: one epoch shows that it works."""
    for usual, small in SMALLER.items():
        line = line.replace(usual, small)
    if "hardalign train" in line and "--epochs 0" not in line:
        line = re.sub(r" --epochs \d+", "", line)
        line = line.replace("hardalign train", "hardalign train --epochs 1")
    return line


def matches(shown: str, printed: str) -> bool:
    """Whether a message is as shown, where … stands for anything."""
    pattern = ".*".join(map(re.escape, shown.split("…")))
    return re.fullmatch(pattern, printed.strip("\n"), re.DOTALL) is not None


@pytest.mark.parametrize("page", RUNNABLE, ids=name_of)
def test_what_the_page_says_works(
    page: Path, shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(SIZES, "small", resident.TINY)  # for what the page has of Python
    for line in PREPARED.get(name_of(page), ()):
        result = shell(quick(line))
        assert result.returncode == 0, result.stderr
    variables: dict[str, object] = {"__name__": "page"}
    for block in blocks(page):
        if isinstance(block, Snippet):
            exec(compile(quick(block.code), str(page), "exec"), variables)
        elif isinstance(block, Command) and block.text not in NOT_RUN:
            result = shell(quick(block.text))
            assert result.returncode == (2 if block.fails else 0), (block.text, result.stderr)
            if block.fails:
                assert matches(block.output, result.stderr), (block.text, result.stderr)


def test_no_exception_is_out_of_date() -> None:
    commands = {b.text for page in PAGES for b in blocks(page) if isinstance(b, Command)}
    text = "".join(page.read_text("utf-8") for page in PAGES)
    assert set(NOT_RUN) <= commands
    assert all(usual in text for usual in SMALLER)
    assert set(PREPARED) <= {name_of(page) for page in PAGES}


def test_the_server_answers() -> None:
    command = [Path(sys.executable).with_name("hardalign"), "serve", "en-g2p", "--port", "0"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, encoding="utf-8")
    assert server.stderr is not None
    with server, server.stderr:
        try:
            address = re.search(r"http://\S+", server.stderr.readline())
            assert address is not None
            question = b'{"words": ["action", "knight"], "nbest": 2, "alignments": true}'
            headers = {"Content-Type": "application/json"}
            asked = Request(f"{address[0]}/predict", question, headers)
            with urlopen(asked) as response:
                answers = json.load(response)["answers"]
            assert [len(answer["predictions"]) for answer in answers] == [2, 2]
        finally:
            server.send_signal(signal.SIGINT)
        assert server.wait() == 0
    page = (ROOT / "docs/howto/server.md").read_text("utf-8")
    assert question.decode() in page


def test_what_runs_is_the_command_that_is_installed(shell: Shell) -> None:
    installed = subprocess.run(
        [Path(sys.executable).with_name("hardalign"), "--version"], capture_output=True, check=True
    )
    assert shell("hardalign --version").stdout == installed.stdout.decode()
    assert shell("hardalign nonsense").returncode == 2
