from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from hardalign.data.vocabulary import BEGIN, END, RESERVED, UNKNOWN, Encoded
from hardalign.systems.network import Network, collate
from helpers import COPYING, TINY, spelled_alike, tiny_config, tiny_model, tiny_vocabulary

FREQUENT, RARE, NEVER, TAG = range(RESERVED, RESERVED + 4)
PAIRS = [Encoded([BEGIN, TAG, *[FREQUENT] * 4, END], 1, [*[FREQUENT] * 4, END])] * 4
PAIRS += [Encoded([BEGIN, TAG, RARE, END], 1, [RARE, TAG, END])]


def network(rate: float = 0.8) -> Network:
    vocabulary = tiny_vocabulary("abc", ("N",), "wxyz")
    model = Network(replace(tiny_config("hard"), unk_dropout=rate), vocabulary)
    model.count(PAIRS)
    return model.train()


def test_the_more_often_a_letter_occurs_the_less_often_it_is_read_as_unknown():
    rates, reserved = network().xp.unknown_rates, [0.0] * RESERVED
    assert rates["encoder.embedding"].tolist() == pytest.approx([*reserved, 0.2, 0.8, 0, 0])
    # A tag is none on the target side, where the same number is a letter.
    assert rates["decoder.embedding"].tolist() == pytest.approx([*reserved, 0.2, 0.8, 0, 0.8])


def test_so_many_symbols_become_unknown_and_no_others_change():
    torch.manual_seed(0)
    symbols = torch.tensor([BEGIN, END, FREQUENT, RARE, NEVER, TAG]).repeat(10_000, 1)
    model, table = network(), torch.arange(RESERVED + 4.0)[:, None]
    tensors = {"encoder.embedding.weight": table}
    read = model.xp.read("encoder.embedding", tensors, symbols)[..., 0].long()
    unknown = read == UNKNOWN
    assert unknown.float().mean(0).tolist() == pytest.approx([0, 0, 0.2, 0.8, 0, 0], abs=0.02)
    assert read[~unknown].equal(symbols[~unknown])
    model.eval()
    assert model.xp.read("encoder.embedding", tensors, symbols)[..., 0].long().equal(symbols)


def test_no_random_number_is_drawn_where_it_is_off():
    torch.manual_seed(3)
    expected = torch.rand(1)
    model = network(0.0)
    torch.manual_seed(3)
    model.xp.read("encoder.embedding", model.system.p, torch.full((5,), RARE))
    assert torch.rand(1).equal(expected)


def test_the_rates_are_no_weights():
    with_rates, without = (tiny_model("hard", unk_dropout=rate) for rate in (0.5, 0.0))
    assert with_rates.state_dict().keys() == without.state_dict().keys()


@pytest.mark.parametrize("system", ["hard", "soft", "soft-feed", "monotonic"])
def test_the_unknown_symbol_is_learned_by_it(system: str):
    pairs = [Encoded([BEGIN, RESERVED, RESERVED + 1, END], 0, [RESERVED, END])] * 4
    for rate in (0.0, 0.9):
        torch.manual_seed(1)
        model = tiny_model(system, dropout=0.0, unk_dropout=rate).train()
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
    model = Network(replace(config, unk_dropout=0.5), vocabulary)
    number = vocabulary.source.letter_numbers["d"], vocabulary.target.letter_numbers["d"]
    pairs = [Encoded([BEGIN, number[0], END], 0, [number[1], END])]
    model.count(pairs)
    for rates in model.xp.unknown_rates.values():
        rates[RESERVED:] = 1.0
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
