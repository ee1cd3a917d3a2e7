"""Words and alphabets of a length and a size that nobody has, in the time that anybody has."""

from __future__ import annotations

import time

import numpy as np
import pytest

from hardalign.data.vocabulary import BEGIN
from hardalign.systems import SYSTEMS
from hardalign.systems.model import Targets, Words
from helpers import random_pair, tiny_runtime, tiny_vocabulary

systems = pytest.mark.parametrize("system", SYSTEMS)


@systems
@pytest.mark.parametrize(("letters", "target"), [(1, 1), (300, 30), (999, 4)])
def test_words_of_any_length(system: str, letters: int, target: int) -> None:
    runtime = tiny_runtime(system, dtype=np.float32)
    pair = random_pair(letters, target)
    memory = runtime.read(Words.of([pair]))
    lattice = runtime.follow(memory, Targets.of([0], [pair.target]))
    assert np.isfinite(lattice.log_probs()).all()
    np.testing.assert_allclose(lattice.weights().sum(-1), 1, atol=1e-4)
    assert (np.diff(lattice.best_path()) >= 0).all() or "monotonic" not in system
    step = runtime.step(runtime.start(memory), np.array([0]), np.array([BEGIN]))
    np.testing.assert_allclose(np.exp(step.log_probs).sum(), 1, atol=1e-5)


@systems
def test_a_large_alphabet(system: str) -> None:
    symbols = [chr(0x4E00 + k) for k in range(4000)]
    vocabulary = tiny_vocabulary(tags=(), target=symbols)
    runtime = tiny_runtime(system, vocabulary, dtype=np.float32)
    began = time.process_time()
    pairs = [random_pair(5, 4, seed=k, vocabulary=vocabulary) for k in range(3)]
    memory = runtime.read(Words.of(pairs))
    lattice = runtime.follow(memory, Targets.of(range(3), [pair.target for pair in pairs]))
    assert np.isfinite(lattice.log_probs()).all()
    step = runtime.step(runtime.start(memory), np.arange(3), np.full(3, BEGIN))
    assert step.log_probs.shape == (3, 4001 + (runtime.step_action >= 0))
    np.testing.assert_allclose(np.exp(step.log_probs.astype(np.float64)).sum(1), 1, atol=1e-4)
    assert time.process_time() - began < 5
