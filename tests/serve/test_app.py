from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from hardalign.serve import batcher
from hardalign.serve.app import PAGE
from hardalign.serve.messages import Limits
from hardalign.version import __version__
from serve.helpers import MODELS, Gate, Serve, running

pytestmark = pytest.mark.filterwarnings("ignore::hardalign.predictor.UnknownSymbolsWarning")


def test_health(client: httpx.Client) -> None:
    assert client.get("/health").json() == {"status": "ok", "version": __version__, "waiting": 0}


def test_models(client: httpx.Client) -> None:
    content = client.get("/models").json()
    assert [model["name"] for model in content["models"]] == list(MODELS)
    assert content["limits"]["words"] == Limits().words


def test_predictions_are_the_models(client: httpx.Client) -> None:
    asked = {"model": "soft", "words": ["ab", "dcba"], "nbest": 2, "alignments": True}
    content = client.post("/predict", json=asked).json()
    assert content["model"] == "soft"
    for answer in content["answers"]:
        expected = MODELS["soft"](answer["source"], nbest=2)
        assert [entry["text"] for entry in answer["predictions"]] == [one.text for one in expected]
        assert all(entry["alignment"]["system"] == "soft" for entry in answer["predictions"])


def test_many_at_once_get_their_own_answers(client: httpx.Client) -> None:
    words = [a + b for a in "abcd" for b in "abcdq"] * 3

    def ask(word: str) -> str:
        answered = client.post("/predict", json={"words": [word]}).json()["answers"]
        assert answered[0]["source"] == word
        return str(answered[0]["predictions"][0]["text"])

    with ThreadPoolExecutor(12) as threads:
        assert list(threads.map(ask, words)) == [one.text for one in MODELS["hard"](words)]


def test_the_pages_need_nothing_from_elsewhere(client: httpx.Client) -> None:
    linked = set()
    for path in ("/", "/docs"):
        page = client.get(path)
        assert page.headers["content-type"].startswith("text/html")
        linked |= set(re.findall(r'(?:src|href)="([^"#]+)"', page.text))
        assert not re.search(r"<style|<script>|\son\w+=|\sstyle=", page.text)  # nothing inline
    for script in (path for path in PAGE.iterdir() if path.suffix == ".js"):
        linked |= {f"page/{name}" for name in re.findall(r'from "\./([^"]+)"', script.read_text())}
    files = {f"page/{path.name}" for path in PAGE.iterdir() if path.suffix != ".html"}
    assert linked == files | {"./", "docs", "openapi.json"}
    for path in linked:
        assert client.get(f"/{path}").status_code == 200
    everything = "".join(path.read_text() for path in PAGE.iterdir())
    assert set(re.findall(r"https?://[^\"' )]+", everything)) == {"http://www.w3.org/2000/svg"}


def test_files_are_checked_for_changes(client: httpx.Client) -> None:
    first = client.get("/page/app.js")
    assert first.headers["cache-control"] == "no-cache"
    again = client.get("/page/app.js", headers={"If-None-Match": first.headers["etag"]})
    assert again.status_code == 304


@pytest.mark.parametrize(
    "path", ["/x", "/page/../app.py", "/page/%2e%2e/app.py", "/page/", "/page//etc/passwd"]
)
def test_nothing_else_is_served(client: httpx.Client, path: str) -> None:
    response = client.get(path)
    assert response.status_code == 404
    assert response.json() == {"error": "Not Found; /docs describes what there is"}


def test_other_methods(client: httpx.Client) -> None:
    for method, path in (("GET", "/predict"), ("POST", "/health"), ("DELETE", "/")):
        response = client.request(method, path)
        assert response.status_code == 405
        assert "Method Not Allowed" in response.json()["error"]


def test_only_json_is_read(client: httpx.Client) -> None:
    response = client.post("/predict", content=b'{"words": []}', headers={"Content-Type": "text/x"})
    assert response.status_code == 415
    assert "application/json" in response.json()["error"]


def test_a_media_type_has_no_case(client: httpx.Client) -> None:
    for name in ("APPLICATION/JSON", "Application/Json ; charset=utf-8"):
        headers = {"Content-Type": name}
        assert client.post("/predict", content=b'{"words": []}', headers=headers).is_success


def test_half_a_character_is_refused(client: httpx.Client) -> None:
    for body in (
        rb'{"words": ["a\ud800"]}',
        rb'{"words": [], "model": "\udc00"}',
        rb'{"\ud800": 1}',
    ):
        headers = {"Content-Type": "application/json"}
        response = client.post("/predict", content=body, headers=headers)
        assert response.status_code == 422
        assert "half a character" in response.json()["error"]


def test_long_bodies_are_refused(serve: Serve) -> None:
    client = serve(limits=Limits(body=1000))
    assert client.post("/predict", json={"words": ["a" * 50]}).status_code == 200
    for body in (b'{"words": ["' + b"a" * 1000 + b'"]}', (b" " * 100 for _ in range(20))):
        headers = {"Content-Type": "application/json"}
        response = client.post("/predict", content=body, headers=headers)
        assert response.status_code == 413
        assert response.json()["error"] == "the body is too long; the limit is 1000 bytes"


def test_no_answer_in_time(serve: Serve, gate: Gate) -> None:
    client = serve(limits=Limits(seconds=0.2))
    response = client.post("/predict", json={"words": ["ab"]})
    assert response.status_code == 503
    assert "0.2 seconds, the limit" in response.json()["error"]
    assert response.headers["retry-after"] == "1"
    assert client.get("/health").json()["waiting"] == 0


def test_failures_say_where_to_look(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("by design")

    client = serve()
    monkeypatch.setattr(batcher, "answer_words", fail)
    response = client.post("/predict", json={"words": ["ab"]})
    assert response.status_code == 500
    assert response.json() == {"error": "the server failed; its log says why"}
    assert response.headers["x-content-type-options"] == "nosniff"


def test_what_was_begun_is_finished_before_the_end(gate: Gate) -> None:
    with running() as (server, client), ThreadPoolExecutor(1) as thread:
        pending = thread.submit(client.post, "/predict", json={"words": ["ab"]})
        assert gate.reached.wait(30)
        server.should_exit = True
        gate.opened.set()
        assert pending.result().json()["answers"][0]["source"] == "ab"


def test_the_page_is_in_the_package() -> None:
    assert {path.suffix for path in PAGE.iterdir()} == {".html", ".js", ".css", ".svg"}
    assert Path(PAGE).parent.name == "serve"
