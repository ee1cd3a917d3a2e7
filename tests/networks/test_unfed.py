from __future__ import annotations

from itertools import product

import pytest
import torch

import reference
from hardalign.data.vocabulary import END, RESERVED, Encoded
from hardalign.networks.batch import collate
from helpers import random_pair, random_pairs, tiny_model, tiny_vocabulary

systems = pytest.mark.parametrize("system", ["hard", "soft"])
shapes = pytest.mark.parametrize(
    ("encoder_layers", "decoder_layers"), [(1, 1), (2, 1), (1, 2), (2, 2)]
)
PAIRS = random_pairs(12, longest=7, seed=1)


@systems
@shapes
def test_log_likelihood_equals_the_reference(system: str, encoder_layers: int, decoder_layers: int):
    model = tiny_model(system, encoder_layers=encoder_layers, decoder_layers=decoder_layers)
    p = reference.parameters(model)
    expected = [reference.log_likelihood(p, system, pair.source, pair.target) for pair in PAIRS]
    found = model.log_likelihood(collate(PAIRS))
    torch.testing.assert_close(found, torch.stack(expected), rtol=0, atol=1e-10)
    assert torch.equal(model.loss(collate(PAIRS)), -found)


@systems
def test_larger_words_equal_the_reference(system: str):
    model = tiny_model(system)
    pair = random_pair(25, 30, tags=2)
    expected = reference.log_likelihood(
        reference.parameters(model), system, pair.source, pair.target
    )
    found = model.log_likelihood(collate([pair]))[0]
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-10)


@systems
@pytest.mark.parametrize("seed", range(3))
def test_all_strings_and_their_tails_sum_to_1(system: str, seed: int):
    vocabulary = tiny_vocabulary(target="xy")
    model = tiny_model(system, vocabulary, seed=seed)
    source = random_pair(3, 0, seed=seed, vocabulary=vocabulary).source
    longest = 6
    strings = [
        string
        for length in range(longest)
        for string in product((RESERVED, RESERVED + 1), repeat=length)
    ]
    ended = model.log_likelihood(collate([Encoded(source, 0, [*s, END]) for s in strings]))
    tails = [s for s in strings if len(s) == longest - 1]
    symbols = model.symbol_log_likelihood(collate([Encoded(source, 0, [*s, END]) for s in tails]))
    tail = (symbols[:, :-1].sum(1).exp() * (1 - symbols[:, -1].exp())).sum()
    mass = ended.exp().sum()
    assert 0.01 < mass < 0.999
    assert float((mass + tail).detach()) == pytest.approx(1.0, abs=1e-10)
