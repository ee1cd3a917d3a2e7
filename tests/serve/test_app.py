from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from hardalign import __version__
from hardalign.errors import HardalignError
from hardalign.serve.app import HEADERS, PAGE, create_app, is_loopback
from hardalign.serve.messages import Limits
from hardalign.serve.server import listen
from serve.helpers import MODELS, Gate, Serve, connect, received, running

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
    assert response.json() == {"error": "Not Found; see /docs for the API"}


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
    headers = {"Content-Type": "application/json"}
    response = client.post("/predict", content=rb'{"words": ["a\ud800"]}', headers=headers)
    assert response.status_code == 400
    assert "not JSON" in response.json()["error"]


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
    monkeypatch.setattr("hardalign.serve.questions.answer_words", fail)
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


WORDS = {"words": ["ab"]}


@pytest.mark.parametrize("path", ["/", "/health", "/nothing", "/page/app.js"])
def test_headers_are_everywhere(client: httpx.Client, path: str) -> None:
    response = client.get(path)
    assert {name: response.headers[name] for name in HEADERS} == HEADERS
    assert not [name for name in response.headers if name.startswith("access-control")]


@pytest.mark.parametrize("host", ["localhost", "localhost:80", "127.0.0.1:9", "[::1]:8000"])
def test_loopback_names_are_answered(client: httpx.Client, host: str) -> None:
    assert client.get("/health", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "10.0.0.1", "[::1", ""])
def test_foreign_names_are_not(client: httpx.Client, host: str) -> None:
    response = client.get("/health", headers={"Host": host})
    assert response.status_code == 421
    assert "loopback" in response.json()["error"]
    assert {name: response.headers[name] for name in HEADERS} == HEADERS


def test_a_server_for_all_has_any_name(serve: Serve) -> None:
    client = serve(address="0.0.0.0")
    assert client.get("/health", headers={"Host": "g2p.example"}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "http://localhost:9", "Host": "localhost:9"},
        {"Sec-Fetch-Site": "same-origin", "Origin": "https://behind.a.proxy"},
        {"Sec-Fetch-Site": "none"},
    ],
)
def test_own_pages_may_ask(client: httpx.Client, headers: dict[str, str]) -> None:
    assert client.post("/predict", json=WORDS, headers=headers).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "http://localhost:1", "Host": "localhost:9"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_other_pages_may_not(client: httpx.Client, headers: dict[str, str]) -> None:
    response = client.post("/predict", json=WORDS, headers=headers)
    assert response.status_code == 403
    assert "other sites" in response.json()["error"]


def test_a_browsers_question_whether_it_may_is_not_answered_yes(client: httpx.Client) -> None:
    asks = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    response = client.options("/predict", headers=asks)
    assert response.status_code == 405
    assert "access-control-allow-origin" not in response.headers


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.8.0.1", True), ("::1", True), ("a.localhost", True), ("0.0.0.0", False), ("", False)],
)
def test_loopback(host: str, loopback: bool) -> None:
    assert is_loopback(host) == loopback


@pytest.mark.parametrize("host", ["127.1", "2130706433", "0x7f.1", "localhost"])
def test_the_bound_address_counts_not_how_it_is_written(host: str) -> None:
    """A foreign name that is pointed at a loopback address is refused."""
    with listen(host, 0) as listening:
        address = listening.getsockname()[0]
    with running(address=address) as (_, client):
        assert client.get("/health", headers={"Host": "evil.example"}).status_code == 421
        assert client.get("/health", headers={"Host": "127.0.0.1"}).status_code == 200


def test_a_loopback_server_may_be_called_as_its_user_calls_it() -> None:
    with running(address="127.0.1.1", name="MyBox") as (_, client):
        assert client.get("/health", headers={"Host": "mybox:80"}).status_code == 200
        assert client.get("/health", headers={"Host": "evil"}).status_code == 421


def test_a_page_of_an_allowed_site_may_ask(serve: Serve) -> None:
    client = serve(origins=["https://good.example"])
    good = {"Origin": "https://good.example", "Sec-Fetch-Site": "cross-site"}
    asks = good | {"Access-Control-Request-Method": "POST"}
    preflight = client.options("/predict", headers=asks)
    assert preflight.status_code == 204
    assert preflight.headers["access-control-allow-headers"] == "Content-Type"
    for response in (preflight, client.post("/predict", json=WORDS, headers=good)):
        assert response.is_success
        assert response.headers["access-control-allow-origin"] == "https://good.example"
        assert response.headers["vary"] == "Origin"
    refused = client.post("/predict", json={}, headers=good)  # its page may read why
    assert refused.status_code == 422
    assert refused.headers["access-control-allow-origin"] == "https://good.example"
    evil = good | {"Origin": "https://evil.example"}
    assert client.post("/predict", json=WORDS, headers=evil).status_code == 403
    assert "access-control-allow-origin" not in client.get("/health", headers=evil).headers


def test_any_site_may_be_allowed(serve: Serve) -> None:
    client = serve(origins=["*"])
    response = client.post("/predict", json=WORDS, headers={"Origin": "https://any.example"})
    assert response.headers["access-control-allow-origin"] == "https://any.example"


@pytest.mark.parametrize("origin", ["good.example", "https://good.example/", "https://", ""])
def test_what_is_no_origin(origin: str) -> None:
    with pytest.raises(HardalignError, match="should be like https"):
        create_app(MODELS, Limits(), origins=[origin])


def test_two_lengths_are_one_too_many(client: httpx.Client) -> None:
    """What stands between two servers may believe the other one."""
    head = (
        "POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Content-Length: 15\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    )
    with connect(client) as connection:
        connection.sendall(head.encode() + b'f\r\n{"words":["a"]}\r\n0\r\n\r\n')
        answer = received(connection)
    assert answer.startswith(b"HTTP/1.1 400")
    assert "not both" in json.loads(answer.partition(b"\r\n\r\n")[2])["error"]


@pytest.mark.parametrize("declared", [b"131073", b"9" * 18])
def test_a_declared_length_beyond_the_limit_is_refused_at_once(
    client: httpx.Client, declared: bytes
) -> None:
    with connect(client) as connection:
        connection.sendall(
            b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: " + declared + b"\r\n\r\n"
        )
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 413")


@pytest.mark.parametrize("value", ["bytes=0-1", "bytes=999999-", "bytes=x", "y"])
def test_ranges_are_passed_over(client: httpx.Client, value: str) -> None:
    """The files are small; a status of its own for a part of one is not needed."""
    response = client.get("/page/app.js", headers={"Range": value})
    assert response.status_code == 200
    assert response.text == (PAGE / "app.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", ["/health/", "/page/app.js/"])
def test_nothing_is_redirected(client: httpx.Client, path: str) -> None:
    assert client.get(path).status_code == 404
