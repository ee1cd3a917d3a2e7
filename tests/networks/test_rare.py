from __future__ import annotations

import math
from typing import Literal

import pytest
import torch

from hardalign.data.vocabulary import BEGIN, END, RESERVED, UNKNOWN, Encoded
from hardalign.networks.batch import collate
from hardalign.networks.build import build_model
from hardalign.networks.rare import RareDropout
from helpers import COPYING, TINY, spelled_alike, tiny_config, tiny_model

FREQUENT, RARE, NEVER, TAG = range(RESERVED, RESERVED + 4)
PAIRS = [Encoded([BEGIN, TAG, *[FREQUENT] * 4, END], 1, [*[FREQUENT] * 4, END])] * 4
PAIRS += [Encoded([BEGIN, TAG, RARE, END], 1, [RARE, TAG, END])]


def dropout(side: Literal["source", "target"], rate: float = 0.8) -> RareDropout:
    module = RareDropout(side, RESERVED + 4, rate)
    module.count(PAIRS)
    return module


def test_the_more_often_a_letter_occurs_the_less_often_it_is_read_as_unknown():
    source, target = dropout("source"), dropout("target")
    reserved = [0.0] * RESERVED
    assert source.rates.tolist() == pytest.approx([*reserved, 0.2, 0.8, 0, 0])
    # A tag is none on the target side, where the same number is a letter.
    assert target.rates.tolist() == pytest.approx([*reserved, 0.2, 0.8, 0, 0.8])


def test_so_many_symbols_become_unknown_and_no_others_change():
    torch.manual_seed(0)
    symbols = torch.tensor([BEGIN, END, FREQUENT, RARE, NEVER, TAG]).repeat(10_000, 1)
    module = dropout("source")
    read = module(symbols)
    unknown = read == UNKNOWN
    assert unknown.float().mean(0).tolist() == pytest.approx([0, 0, 0.2, 0.8, 0, 0], abs=0.02)
    assert read[~unknown].equal(symbols[~unknown])
    assert module.eval()(symbols) is symbols


def test_before_anything_was_counted_and_at_rate_0_nothing_changes():
    symbols = torch.full((50, 50), RARE)
    assert RareDropout("source", RESERVED + 4, 0.9)(symbols).equal(symbols)
    assert dropout("source", 0.0)(symbols) is symbols


def test_no_random_number_is_drawn_where_it_is_off():
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    dropout("source", 0.0)(torch.full((5,), RARE))
    assert torch.rand(1).equal(expected)


def test_the_rates_are_no_weights():
    with_rates, without = (tiny_model("hard", rare_dropout=rate) for rate in (0.5, 0.0))
    assert with_rates.state_dict().keys() == without.state_dict().keys()


@pytest.mark.parametrize("system", ["hard", "soft", "soft-feed", "monotonic"])
def test_the_unknown_symbol_is_learned_by_it(system: str):
    pairs = [Encoded([BEGIN, RESERVED, RESERVED + 1, END], 0, [RESERVED, END])] * 4
    for rate in (0.0, 0.9):
        torch.manual_seed(1)
        model = tiny_model(system, dropout=0.0, rare_dropout=rate).train()
        model.count(pairs)
        model.loss(collate(pairs)).sum().backward()
        gradient = model.get_parameter("encoder.embedding.weight").grad
        assert gradient is not None
        assert gradient[UNKNOWN].any() == (rate > 0)


@pytest.mark.parametrize("system", COPYING)
def test_what_is_read_as_unknown_can_still_be_copied(system: str):
    """A model that copies and sees unknown symbols only learns to write what stands there."""
    config, vocabulary = tiny_config(system), spelled_alike(TINY)
    torch.manual_seed(0)
    model = build_model(config, vocabulary)
    number = vocabulary.source.letter_numbers["d"], vocabulary.target.letter_numbers["d"]
    pairs = [Encoded([BEGIN, number[0], END], 0, [number[1], END])]
    model.count(pairs)
    for module in model.modules():
        if isinstance(module, RareDropout):
            module.rate = 1.0
            module.rates[RESERVED:] = 1.0
    with torch.no_grad():
        gate = model.get_parameter("head.attention.gate.bias")
        gate.fill_(50.0)  # every position copies
    batch = collate(pairs)
    first = model.train().symbol_log_likelihood(batch)[0, 0]
    position = model.train().symbol_log_likelihood(
        collate([Encoded([BEGIN, UNKNOWN, END], 0, pairs[0].target)])
    )
    assert math.isfinite(first.item())
    assert first > position[0, 0]
