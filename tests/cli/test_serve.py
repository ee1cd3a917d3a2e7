from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from hardalign.serve.server import listen
from helpers import Command, assert_complains, write_model

MAIN = [sys.executable, "-c", "from hardalign.cli.main import main; main()", "serve"]


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_served_until_it_is_ended(end: signal.Signals) -> None:
    command = [*MAIN, "en-g2p", "twin=en-g2p", "--port", "0", "--host", "127.1"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        serving = r"hardalign: serving en-g2p, twin at (http://127.0.0.1:\d+) .*\n"
        match = re.fullmatch(serving, line)
        assert match, line + process.stderr.read()
        with httpx.Client(base_url=match[1], trust_env=False, timeout=60) as client:
            answer = client.post("/predict", json={"words": ["abc"], "model": "twin"}).json()
            assert answer["model"] == "twin"
            assert answer["answers"][0]["source"] == "abc"
            assert client.get("/health", headers={"Host": "evil.example"}).status_code == 421
            process.send_signal(end)  # while the client keeps its connection open
            assert process.wait(30) == 0
        assert process.stderr.read() == ""


WITHOUT_TORCH = """
import sys
class NoTorch:
    def find_spec(self, name, *_):
        if name == "torch":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, NoTorch())
"""


def test_a_server_needs_no_torch() -> None:
    command = [sys.executable, "-c", WITHOUT_TORCH + MAIN[2], "serve", "en-g2p", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        match = re.search(r"serving en-g2p at (http://\S+)", process.stderr.readline())
        assert match
        # An answer, also because what is told to end before it is ready may not hear of it.
        with httpx.Client(base_url=match[1], trust_env=False, timeout=60) as client:
            answer = client.post("/predict", json={"words": ["action"]}).json()["answers"][0]
        process.terminate()
    assert answer["predictions"][0]["text"] == "AE1 K SH AH0 N"


def test_a_port_in_use(command: Command) -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        complaint = command("serve", "en-g2p", "--port", port)
        assert_complains(complaint, port, "in use", "another host or port")


def test_no_such_model(command: Command, tmp_path: Path) -> None:
    assert_complains(command("serve", tmp_path / "none"), "none", "no such model")


def test_a_model_with_huge_weights(command: Command, tmp_path: Path) -> None:
    """They are finite, but what is computed from them is not: refused before anybody asks."""
    folder = write_model(tmp_path / "huge", scale=1e38)
    assert_complains(command("serve", folder, "--port", 0), "huge", "weights", "damaged")


def test_no_origin(command: Command) -> None:
    complaint = command("serve", "en-g2p", "--port", 0, "--allow-origin", "example.org")
    assert_complains(complaint, "--allow-origin example.org", "https://example.org")


def test_two_of_one_name(command: Command) -> None:
    assert_complains(command("serve", "en-g2p", "en-g2p"), "another model is called 'en-g2p'")


def test_without_the_libraries(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "hardalign.serve.server", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert_complains(command("serve", "en-g2p"), "uvicorn", "[serve]")


def test_known_words(tmp_path: Path) -> None:
    known = tmp_path / "known.dict"
    known.write_text("ABC  EY1 B\n")
    command = [*MAIN, "en-g2p", "--lexicon", known, "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        match = re.search(r"http://127.0.0.1:\d+", process.stderr.readline())
        assert match
        with httpx.Client(base_url=match[0], trust_env=False, timeout=60) as client:
            answers = client.post("/predict", json={"words": ["abc", "abdxx"]}).json()["answers"]
            (model,) = client.get("/models").json()["models"]
        process.terminate()
    assert [answer["origin"] for answer in answers] == ["lexicon", "model"]
    assert [one["text"] for one in answers[0]["predictions"]] == ["EY1 B"]
    assert model["known"] == 126_052


def test_a_language() -> None:
    command = [*MAIN, "g2p", "--language", "de", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        match = re.search(r"http://127.0.0.1:\d+", line)
        assert match, line + process.stderr.read()
        with httpx.Client(base_url=match[0], trust_env=False, timeout=60) as client:
            answer = client.post("/predict", json={"words": ["Quellcode"]}).json()["answers"][0]
            text = client.post("/text", json={"text": "Die Straße."}).json()["text"]
        process.terminate()
    assert answer["predictions"][0]["text"] == "k v ɛ l k oː d ə"
    assert text == "{d iː} {ʃ t ʁ aː s ə}."


def test_a_language_that_a_model_does_not_have(command: Command) -> None:
    assert_complains(command("serve", "g2p", "en-g2p", "--language", "de"), "en-g2p", "'de'")


def test_known_words_that_do_not_fit(command: Command, tmp_path: Path) -> None:
    known = tmp_path / "known.tsv"
    known.write_text("abc\tɛ b\n")
    assert_complains(command("serve", "en-g2p", "--lexicon", known), "known.tsv", "'ɛ' (line 1)")
