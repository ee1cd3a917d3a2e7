from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

import reference
from conftest import TINY, random_pair, random_pairs
from hardalign.data.encoding import Encoded
from hardalign.networks.batch import collate
from hardalign.training.guide import guided, positions
from tiny import tiny_model

SYSTEMS = ["hard", "hard-prior", "hard-hmm", "hard-monotonic"]
systems = pytest.mark.parametrize("system", SYSTEMS)
PAIRS = random_pairs(12)


def columns(pair: Encoded) -> list[int]:
    """Source columns of a pair's path, tags among them."""
    assert pair.path is not None
    return [position + pair.tags if position else 0 for position in pair.path]


@pytest.mark.parametrize("system", ["hard", "hard-hmm", "hard-monotonic"])
def test_the_loss_is_that_of_the_path_alone(system: str):
    model = tiny_model(system)
    p = reference.parameters(model)
    pairs = guided([random_pair(x, y, tags=x % 2) for x in range(3) for y in range(3)], TINY)
    expected = []
    for pair in pairs:
        if system == "hard":
            ways = reference.alignments(p, pair.source, pair.target)
        else:
            monotone = system == "hard-monotonic"
            ways = reference.chained_alignments(p, pair.source, pair.target, monotone)
        expected.append(-dict(ways)[tuple(columns(pair))].log())
    found = model.loss(collate(pairs))
    torch.testing.assert_close(found, torch.stack(expected), rtol=0, atol=1e-10)
    parameters = list(model.parameters())
    gradients = torch.autograd.grad(found.sum(), parameters, allow_unused=True)
    wanted = torch.autograd.grad(torch.stack(expected).sum(), parameters, allow_unused=True)
    for own, want in zip(gradients, wanted, strict=True):
        if want is not None:
            torch.testing.assert_close(own, want, rtol=0, atol=1e-9)


@systems
def test_a_path_is_less_probable_than_all_together(system: str):
    model = tiny_model(system)
    every = model.loss(collate(PAIRS))
    alone = model.loss(collate(guided(PAIRS, TINY)))
    assert (alone > every).all()


@systems
def test_training_leaves_nothing_of_a_path_out(system: str):
    # Positions of little weight are left out of sums in training; the only one never is.
    model = tiny_model(system, scale=20.0, dropout=0.0)
    batch = collate(guided(PAIRS, TINY))
    torch.testing.assert_close(model.train().loss(batch), model.eval().loss(batch))


@systems
def test_mates_do_not_matter(system: str):
    model, pairs = tiny_model(system), guided(PAIRS, TINY)
    alone = torch.cat([model.loss(collate([pair])) for pair in pairs])
    torch.testing.assert_close(model.loss(collate(pairs)), alone, rtol=0, atol=1e-10)


def test_symbols_without_a_letter_come_from_the_letter_before():
    pair = random_pair(3, 4, tags=2)
    path = [(None, 0), (0, 1), (1, None), (None, 2), (2, 3)]
    assert positions(path, pair) == [0, 1, 2, 3, 4]
    assert columns(replace(pair, path=[0, 1, 2, 3, 4])) == [0, 3, 4, 5, 6]
    assert pair.source[6] == pair.source[-1]


def test_paths_are_those_that_the_pairs_suggest():
    vocabulary = TINY
    letters = {symbol: vocabulary.source.encode([symbol])[0] for symbol in "abcd"}
    sounds = {symbol: vocabulary.target.encode([symbol])[0] for symbol in "xyz"}
    sound = dict(zip("abc", "xyz", strict=True))  # and d is silent
    words = ["ad", "da", "abd", "dbc", "cab", "bdc", "ca", "db"]
    pairs = [
        Encoded(
            [1, *(letters[one] for one in word), 3],
            0,
            [*(sounds[sound[one]] for one in word if one != "d"), 3],
        )
        for word in words
    ]
    for word, pair in zip(words, guided(pairs, vocabulary), strict=True):
        loud = [place for place, one in enumerate(word, start=1) if one != "d"]
        assert pair.path == [*loud, len(word) + 1]
    assert all(math.isfinite(x) for x in tiny_model("hard").loss(collate(pairs)).tolist())
