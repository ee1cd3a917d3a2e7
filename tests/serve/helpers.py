"""Servers of small untrained models, on real ports of this machine."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from types import MappingProxyType

import httpx
import pytest
import torch
import uvicorn

from hardalign.config import ModelConfig, TrainingConfig
from hardalign.data.formats import FORMATS
from hardalign.data.lexicon import Lexicon
from hardalign.data.reading import Origin
from hardalign.model_folder import Description
from hardalign.predictor import Predictor
from hardalign.serve import questions
from hardalign.serve.app import create_app
from hardalign.serve.messages import Limits
from hardalign.serve.server import Clients, address_of, listen, make_server
from hardalign.systems.model import build_model
from helpers import TINY, tiny_model

LIMITS = Limits()


def tiny_predictor(system: str = "hard", layout: str = "pairs", seed: int = 0) -> Predictor:
    config = ModelConfig(system, embedding=3, encoder=4, decoder=5)
    model = tiny_model(system, seed=seed, dtype=torch.float32)
    tensors = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    description = Description(config, TrainingConfig(), FORMATS[layout], TINY, Origin())
    return Predictor(build_model(config, tensors, TINY), description)


def knowing(predictor: Predictor, lexicon: Lexicon) -> Predictor:
    """The same model with known words."""
    predictor = copy(predictor)
    predictor.lexicon = lexicon
    return predictor


MODELS = {
    "hard": tiny_predictor(seed=78),  # it says something
    "soft": tiny_predictor("soft", seed=1),
    "tagged": tiny_predictor("monotonic", "sigmorphon", seed=2),
}


@contextmanager
def running(
    models: Mapping[str, Predictor] = MODELS,
    limits: Limits = LIMITS,
    address: str = "127.0.0.1",
    name: str = "localhost",
    clients: Clients | None = None,
    lexicons: Mapping[str, Lexicon] = MappingProxyType({}),
    origins: Sequence[str] = (),
) -> Iterator[tuple[uvicorn.Server, httpx.Client]]:
    """A server in a thread of its own, and a client of it."""
    listening = listen("127.0.0.1", 0)
    served = {
        name: knowing(predictor, lexicons[name]) if name in lexicons else predictor
        for name, predictor in models.items()
    }
    app = create_app(served, limits, address, name, origins)
    server = make_server(app, patience=10, clients=clients)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    with httpx.Client(base_url=address_of(listening), timeout=30, trust_env=False) as client:
        try:
            yield server, client
        finally:
            server.should_exit = True
            thread.join()
            listening.close()


Serve = Callable[..., httpx.Client]


def connect(client: httpx.Client) -> socket.socket:
    """Open a bare connection to a client's server."""
    return socket.create_connection((client.base_url.host, client.base_url.port), timeout=30)


def received(connection: socket.socket) -> bytes:
    """All until the server closes the connection."""
    parts = []
    try:
        while part := connection.recv(1 << 16):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


class Gate:
    """Holds the model back until it is opened, and notes what it is asked together."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.reached = threading.Event()
        self.opened = threading.Event()

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        answer = questions.answer_words

        def gated(model, words, *others):  # type: ignore[no-untyped-def]
            self.batches.append([word.text for word in words])
            self.reached.set()
            assert self.opened.wait(30)
            return answer(model, words, *others)

        monkeypatch.setattr(questions, "answer_words", gated)
