from __future__ import annotations

from itertools import product

import pytest
import torch

import reference
from conftest import random_pair, random_pairs, tiny_model, tiny_vocabulary
from hardalign.data.encoding import Encoded
from hardalign.data.vocabulary import BEGIN, END, RESERVED
from hardalign.networks.batch import collate
from hardalign.networks.transducer import Transducer

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
@shapes
def test_alignment_equals_the_reference(system: str, encoder_layers: int, decoder_layers: int):
    model = tiny_model(system, encoder_layers=encoder_layers, decoder_layers=decoder_layers)
    p = reference.parameters(model)
    found = model.align(collate(PAIRS))
    for row, pair in zip(found, PAIRS, strict=True):
        expected = reference.alignment(p, system, pair.source, pair.target)
        row = row[: len(pair.target)]
        torch.testing.assert_close(row[:, : len(pair.source)], expected, rtol=0, atol=1e-10)
        assert not row[:, len(pair.source) :].any()


@systems
@shapes
def test_steps_equal_the_reference(system: str, encoder_layers: int, decoder_layers: int):
    model = tiny_model(system, encoder_layers=encoder_layers, decoder_layers=decoder_layers)
    p = reference.parameters(model)
    batch = collate(PAIRS)
    distributions = [reference.distributions(p, system, q.source, q.target) for q in PAIRS]
    alphas = [reference.alphas(p, pair.source, pair.target) for pair in PAIRS]
    state = model.begin(batch)
    previous = torch.full((len(PAIRS),), BEGIN)
    for i in range(batch.target.shape[1]):
        step = model.step(state, previous)
        for k, pair in enumerate(PAIRS):
            if i < len(pair.target):
                log_probs, looked = step.log_probs[k], step.alignment[k, : len(pair.source)]
                torch.testing.assert_close(log_probs.exp(), distributions[k][i], rtol=0, atol=1e-10)
                torch.testing.assert_close(looked, alphas[k][i], rtol=0, atol=1e-10)
        state, previous = step.state, batch.target[:, i]


@systems
def test_larger_words_equal_the_reference(system: str):
    model = tiny_model(system)
    pair = random_pair(25, 30, tags=2)
    expected = reference.log_likelihood(
        reference.parameters(model), system, pair.source, pair.target
    )
    found = model.log_likelihood(collate([pair]))[0]
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-10)


def tail_mass(model: Transducer, source: list[int], letters: int) -> float:
    """Σ p(y_1 … y_letters | x) over all strings that are not at their end by then."""
    classes = range(RESERVED, RESERVED + 2)
    strings = list(product(classes, repeat=letters))
    state = model.begin(collate([Encoded(source, 0, []) for _ in strings]))
    previous = torch.full((len(strings),), BEGIN)
    log_prob = torch.zeros(len(strings), dtype=torch.float64)
    for i in range(letters):
        step = model.step(state, previous)
        state, previous = step.state, torch.tensor([string[i] for string in strings])
        log_prob = log_prob + step.log_probs.gather(1, (previous - END)[:, None]).squeeze(1)
    return float(log_prob.detach().exp().sum())


@systems
@pytest.mark.parametrize("seed", range(3))
def test_all_strings_and_the_tail_sum_to_1(system: str, seed: int):
    vocabulary = tiny_vocabulary(target="xy")
    model = tiny_model(system, vocabulary, seed=seed)
    source = random_pair(3, 0, seed=seed, vocabulary=vocabulary).source
    longest = 6
    pairs = [
        Encoded(source, 0, [*string, END])
        for length in range(longest)
        for string in product((RESERVED, RESERVED + 1), repeat=length)
    ]
    mass = float(model.log_likelihood(collate(pairs)).detach().exp().sum())
    tail = tail_mass(model, source, longest)
    assert 0.01 < mass < 0.999
    assert mass + tail == pytest.approx(1.0, abs=1e-10)
