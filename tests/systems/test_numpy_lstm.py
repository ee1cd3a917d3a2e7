from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import reference
from hardalign.data.vocabulary import BEGIN, END
from hardalign.systems.model import Words
from hardalign.systems.ops.numpy_lstm import LSTM, Encoder, LayerState, distinct
from helpers import random_pairs, tiny_tensors
from systems.plain import Array

TENSORS = tiny_tensors(layers=2)
P = {name: torch.from_numpy(tensor) for name, tensor in TENSORS.items()}
NAME = "encoder.forwards.0"
EMBEDDING = TENSORS["encoder.embedding.weight"]


def assert_close(one: Array, other: Array) -> None:
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


def plain_states(name: str, symbols: list[int]) -> Array:
    """After each symbol, one by one."""
    inputs = [P["encoder.embedding.weight"][symbol] for symbol in symbols]
    return torch.stack(reference.lstm(P, name, 0, inputs)).numpy()


@given(st.lists(st.lists(st.integers(0, 5), min_size=4, max_size=4), min_size=1, max_size=8))
def test_strings_read_together_are_read_as_if_one_by_one(strings: list[list[int]]) -> None:
    names = ("encoder.forwards.0", "encoder.backwards.0")
    strings = [[BEGIN, *string, END] for string in strings]
    mirrored = [string[::-1] for string in strings]
    ways = Encoder(TENSORS)._read(np.array(strings), np.array(mirrored))
    for name, read, shared in zip(names, (strings, mirrored), ways, strict=True):
        assert len(shared.values) == len({tuple(s[: k + 1]) for s in read for k in range(6)})
        for symbols, own in zip(read, shared.dense(), strict=True):
            assert_close(own, plain_states(name, symbols))


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6)), min_size=1, max_size=20),
)
def test_distinct_pairs(pairs: list[tuple[int, int]]) -> None:
    parents, symbols = np.array(pairs).T
    unique_parents, unique_symbols, row = distinct(parents, symbols, 7)
    unique = list(zip(unique_parents.tolist(), unique_symbols.tolist(), strict=True))
    assert len(set(unique)) == len(unique) == len(set(pairs))
    assert [unique[k] for k in row] == pairs


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("rows", [[0, 1, 2], [1], [2, 2, 0, 1, 1]])
def test_some_strings_go_on_in_several_ways(rows: list[int], known: bool) -> None:
    lstm, random = LSTM(TENSORS, NAME), np.random.default_rng(0)
    h, c = random.normal(size=(2, 3, lstm.size))
    before = LayerState(h, c, h @ lstm.recurrent if known else None)
    inputs = lstm.project(random.normal(size=(len(rows), EMBEDDING.shape[1])))
    after = lstm.step(inputs.copy(), before, np.array(rows))
    for k, row in enumerate(rows):
        alone = lstm.step(inputs[[k]], LayerState(h[[row]], c[[row]]))
        assert_close(after.h[k], alone.h[0])
        assert_close(after.c[k], alone.c[0])


def test_gates_that_are_shut_or_wide_open_do_no_harm() -> None:
    lstm = LSTM({name: np.float32(1e4) * tensor for name, tensor in TENSORS.items()}, NAME)
    h, c, _ = lstm.step(lstm.project(EMBEDDING), lstm.begin(len(EMBEDDING)))
    assert np.isfinite(h).all()
    assert np.isfinite(c).all()
    assert (np.abs(h) <= 1).all()


@pytest.mark.parametrize("layers", [1, 2])
def test_the_encoder_reads_each_word_from_both_ends(layers: int) -> None:
    pairs = random_pairs(12)
    tensors = tiny_tensors(layers=layers)
    p = {name: torch.from_numpy(tensor) for name, tensor in tensors.items()}
    words = Words.of(pairs)
    states = Encoder(tensors)(words.symbols, words.lengths)
    weight, bias = np.random.default_rng(0).normal(size=(8, 6)), np.arange(6.0)
    projected = states.project(weight, bias)
    for k, (pair, own) in enumerate(zip(pairs, states.dense(), strict=True)):
        expected = torch.stack(reference.encode(p, pair.source)).numpy()
        assert_close(own[: len(pair.source)], expected)
        assert_close(projected[k, : len(pair.source)], expected @ weight + bias)
