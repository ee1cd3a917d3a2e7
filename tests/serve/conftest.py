"""Servers of small untrained models as fixtures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest

from serve.helpers import Gate, Serve, running


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start a server; give a client of it."""
    with ExitStack() as stack:
        yield lambda *args, **kwargs: stack.enter_context(running(*args, **kwargs))[1]


@pytest.fixture(scope="session")
def client() -> Iterator[httpx.Client]:
    """A client of a server of all ``MODELS``."""
    with running() as (_, client):
        yield client


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    """A gate before the model, closed."""
    gate = Gate()
    gate.install(monkeypatch)
    yield gate
    gate.opened.set()
