from __future__ import annotations

import socket

import pytest

from hardalign.errors import HardalignError
from hardalign.serve.server import address_of, listen


def test_any_free_port() -> None:
    with listen("127.0.0.1", 0) as one, listen("localhost", 0) as other:
        assert one.getsockname()[1] != other.getsockname()[1]
        assert address_of(one) == f"http://127.0.0.1:{one.getsockname()[1]}"


def test_answers_are_sent_without_delay() -> None:
    with listen("127.0.0.1", 0) as listening:
        with socket.create_connection(listening.getsockname()):
            connection, _ = listening.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_port_in_use() -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(HardalignError, match=f"127.0.0.1 port {port}: Address already in use;"):
            listen("127.0.0.1", port)


def test_impossible_addresses() -> None:
    with pytest.raises(HardalignError, match="choose another host or port"):
        listen("no such host", 0)
    for name in ("x" * 64, "a..b", "é" * 70, "\ud800"):
        with pytest.raises(HardalignError, match="not a valid host name; choose another"):
            listen(name, 0)
    for port in (-1, 1 << 16):
        with pytest.raises(HardalignError, match=f"between 0 and 65535, not {port}"):
            listen("127.0.0.1", port)


@pytest.mark.parametrize(
    ("host", "address"),
    [("0.0.0.0", "http://localhost:80"), ("::", "http://localhost:80"), ("::1", "http://[::1]:80")],
)
def test_what_to_type(host: str, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Listening(socket.socket):
        def getsockname(self) -> tuple[str, int]:
            return host, 80

    with Listening() as listening:
        assert address_of(listening) == address
