from __future__ import annotations

import httpx
import pytest

from hardalign.serve.guard import HEADERS, is_loopback
from serve.helpers import Serve

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
    client = serve(host="0.0.0.0")
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
