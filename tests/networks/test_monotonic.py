from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

import reference
from hardalign.config import SIZES, ModelConfig
from hardalign.data.vocabulary import BEGIN, END, RESERVED, UNKNOWN, Encoded, Vocabulary
from hardalign.networks.batch import collate
from hardalign.networks.build import build_model
from hardalign.networks.monotonic import MonotonicTransducer, PointerDecoder
from helpers import TINY, random_pair, random_pairs, tiny_model, tiny_vocabulary, widened

UNTAGGED = tiny_vocabulary(tags=())
STEP = len(TINY.target)


def monotonic(vocabulary: Vocabulary = TINY, **options: object) -> MonotonicTransducer:
    model = tiny_model("monotonic", vocabulary, **options)  # type: ignore[arg-type]
    assert isinstance(model, MonotonicTransducer)
    return model


def train(model: MonotonicTransducer, pairs: list[Encoded], steps: int) -> MonotonicTransducer:
    model.prepare(pairs)
    model.train()
    optimizer = torch.optim.Adam(model.parameters(), 0.05)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        for _ in range(steps):
            optimizer.zero_grad()
            model.loss(collate(pairs)).mean().backward()
            optimizer.step()
    return model.eval()


@cache
def lively(vocabulary: Vocabulary = TINY, layers: int = 1) -> MonotonicTransducer:
    """A model that has seen enough to write some, step some and end; must not be changed."""
    model = monotonic(
        vocabulary,
        encoder_layers=layers,
        decoder_layers=layers,
        dtype=torch.float32,
        scale=1.0,
        dropout=0.0,
        seed=1,
    )
    spelled = {4: [4, 4], 5: [5], 6: [], 7: [6]}  # it writes twice, writes, steps over, writes
    pairs = pairs_for(vocabulary, 40)
    words = [pair.source[1 + pair.tags : -1] for pair in pairs]
    targets = [[symbol for letter in word for symbol in spelled[letter]] for word in words]
    rows = zip(pairs, targets, strict=True)
    return train(model, [Encoded(p.source, p.tags, [*target, END]) for p, target in rows], 120)


def pairs_for(vocabulary: Vocabulary, count: int) -> list[Encoded]:
    tagged = vocabulary.source.tags
    return [p for p in random_pairs(4 * count) if tagged or not p.tags][:count]


class PlainPointer:
    """The model as a loop over single actions of one word, in float64."""

    def __init__(self, model: MonotonicTransducer, pair: Encoded, vocabulary: Vocabulary) -> None:
        self.p = p = reference.parameters(model)
        tags, letters = pair.source[1 : 1 + pair.tags], pair.source[1 + pair.tags :]
        self.encoded = reference.encode(p, [BEGIN, *letters])
        self.features = torch.zeros(0, dtype=torch.float64)
        if vocabulary.source.tags:
            first = RESERVED + len(vocabulary.source.letters)
            embedding = p["encoder.embedding.weight"]
            slots = [
                embedding[n] if n in tags else torch.zeros_like(embedding[n])
                for n in range(first, len(vocabulary.source))
            ]
            self.features = p["tags.merge.weight"] @ torch.cat(slots) + p["tags.merge.bias"]
        layers = list(reference._layers(p, "decoder.lstm.weight_ih_l{}"))
        zero = torch.zeros(p["decoder.lstm.weight_hh_l0"].shape[1], dtype=torch.float64)
        self.memory = [(zero, zero) for _ in layers]
        self.position = 0

    def log_probs(self, previous: int) -> Tensor:
        """Of the end, the letters and STEP, after one more action."""
        if previous == STEP:
            self.position += 1
        x = self.p["decoder.embedding.weight"][previous]
        x = torch.cat([x, self.encoded[self.position], self.features])
        for layer, (h, c) in enumerate(self.memory):
            h, c = reference.lstm_cell(self.p, "decoder.lstm", layer, x, h, c)
            self.memory[layer] = (h, c)
            x = h
        logits = (self.p["decoder.output.weight"] @ x + self.p["decoder.output.bias"])[END:]
        if self.position == len(self.encoded) - 1:
            logits = logits[:-1]
        log_probs = logits.log_softmax(0)
        missing = STEP - END + 1 - len(log_probs)
        return torch.cat([log_probs, log_probs.new_full((missing,), -torch.inf)])


def plain_log_likelihood(pointer: PlainPointer, actions: Sequence[int]) -> Tensor:
    total = torch.zeros((), dtype=torch.float64)
    for previous, action in zip([BEGIN, *actions], actions, strict=False):
        total = total + pointer.log_probs(previous)[action - END]
    return total


def actions_of(model: MonotonicTransducer, pair: Encoded) -> list[int]:
    return model.oracle(collate([pair]))[0].tolist()  # type: ignore[no-any-return]


CASES = pytest.mark.parametrize(
    ("vocabulary", "layers"), [(TINY, 1), (TINY, 2), (UNTAGGED, 1)], ids=["1", "2", "no tags"]
)


@CASES
def test_log_likelihood_is_that_of_the_oracles_actions(vocabulary: Vocabulary, layers: int) -> None:
    model = monotonic(vocabulary, encoder_layers=layers, decoder_layers=layers)
    pairs = pairs_for(vocabulary, 8)
    found = model.log_likelihood(collate(pairs))
    expected = [
        plain_log_likelihood(PlainPointer(model, pair, vocabulary), actions_of(model, pair))
        for pair in pairs
    ]
    torch.testing.assert_close(found, torch.stack(expected), rtol=1e-9, atol=1e-9)


def test_a_symbols_log_likelihood_includes_the_steps_before_it() -> None:
    model = monotonic()
    pairs = pairs_for(TINY, 8)
    found = model.symbol_log_likelihood(collate(pairs))
    for pair, row in zip(pairs, found, strict=True):
        pointer = PlainPointer(model, pair, TINY)
        actions = actions_of(model, pair)
        expected = [0.0]
        for previous, action in zip([BEGIN, *actions], actions, strict=False):
            expected[-1] += pointer.log_probs(previous)[action - END].item()
            if action != STEP:
                expected.append(0.0)
        assert expected.pop() == 0.0
        assert row[: len(pair.target)].tolist() == pytest.approx(expected, abs=1e-9)


def test_gradients_are_those_of_the_plain_loop() -> None:
    model = monotonic()
    pairs = pairs_for(TINY, 4)
    model.loss(collate(pairs)).sum().backward()
    found = {name: parameter.grad for name, parameter in model.named_parameters()}
    model.zero_grad()
    for pair in pairs:
        (-plain_log_likelihood(PlainPointer(model, pair, TINY), actions_of(model, pair))).backward()
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(found[name], parameter.grad, rtol=1e-8, atol=1e-8, msg=name)


def stepping(bias: float) -> MonotonicTransducer:
    model = monotonic(dtype=torch.float32)
    with torch.no_grad():
        model.decoder.output.bias[STEP] = bias
    return model


def test_actions_are_a_distribution_and_none_leads_past_the_end() -> None:
    model = monotonic()
    attended = torch.randn(2, 1, 11, dtype=torch.float64)
    at_end = torch.tensor([[False], [True]])
    previous = torch.full((2, 1), BEGIN)
    log_probs = model.decoder(previous, attended, at_end)
    assert log_probs.shape == (2, 1, STEP - END + 1)
    torch.testing.assert_close(log_probs.exp().sum(-1), torch.ones(2, 1, dtype=torch.float64))
    assert log_probs[0, 0, -1].isfinite()
    assert log_probs[1, 0, -1] == -torch.inf


def test_a_step_that_must_not_be_taken_has_no_gradient() -> None:
    model = stepping(1e4)
    model.loss(collate([random_pair(1, 2)])).sum().backward()
    for parameter in model.parameters():
        assert parameter.grad is not None
        assert parameter.grad.isfinite().all()


@given(st.integers(0, 10**6))
def test_strings_of_all_actions_are_no_more_probable_than_one(seed: int) -> None:
    """Best paths of different strings are different paths: together at most probability 1."""
    model = lively()
    letters = random_pair(2, 0, seed=seed).source
    strings = [[], *[[x] for x in range(4, 7)], *[[x, y] for x in range(4, 7) for y in range(4, 7)]]
    batch = collate([Encoded(letters, 0, [*string, END]) for string in strings])
    assert model.log_likelihood(batch).exp().sum() <= 1 + 1e-9


def copied(letters: Sequence[int], tags: Sequence[int] = ()) -> Encoded:
    return Encoded([BEGIN, *tags, *letters, END], len(tags), [*letters, END])


@pytest.mark.parametrize("mates", ["alone", "longer", "padded", "noise"])
def test_scores_do_not_depend_on_the_batch(mates: str) -> None:
    model = lively()
    pairs = random_pairs(10)
    expected = model.log_likelihood(collate(pairs))
    if mates == "alone":
        found = torch.cat([model.log_likelihood(collate([pair])) for pair in pairs])
    elif mates == "longer":
        longer = random_pair(30, 40, tags=2)
        found = model.log_likelihood(collate([*pairs, longer]))[:-1]
    else:
        found = model.log_likelihood(widened(pairs, 7, seed=0 if mates == "noise" else None))
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)


TAG_N, TAG_V = (RESERVED + len(TINY.source.letters) + k for k in range(2))


def tagged(*tags: int) -> Encoded:
    return Encoded([BEGIN, *tags, 4, 5, END], len(tags), [4, 5, END])


def test_tags_are_used_whatever_their_order_and_number() -> None:
    model = monotonic()

    def score(*tags: int) -> float:
        return model.log_likelihood(collate([tagged(*tags)])).item()

    different = {score(), score(TAG_N), score(TAG_V), score(TAG_N, TAG_V)}
    assert len({round(value, 6) for value in different}) == 4
    assert score(TAG_N, TAG_V) == pytest.approx(score(TAG_V, TAG_N), abs=1e-12)
    assert score(TAG_N, TAG_N) == pytest.approx(score(TAG_N), abs=1e-12)
    assert score(UNKNOWN, TAG_N) == pytest.approx(score(TAG_N), abs=1e-12)


def test_the_tag_n_is_not_the_letter_n() -> None:
    vocabulary = tiny_vocabulary(letters="Nab", tags=("N",))
    letter, tag = vocabulary.source.encode(["N"], ["N"])[::-1]
    assert letter != tag
    model = monotonic(vocabulary)
    pairs = [
        Encoded([BEGIN, tag, letter, END], 1, [4, END]),
        Encoded([BEGIN, letter, END], 0, [4, END]),
        Encoded([BEGIN, letter, letter, END], 0, [4, END]),
    ]
    scores = model.log_likelihood(collate(pairs)).tolist()
    assert len({round(score, 6) for score in scores}) == 3


def test_tags_of_a_model_without_tags_are_passed_over() -> None:
    model = monotonic(UNTAGGED)
    with_tag = Encoded([BEGIN, UNKNOWN, 4, 5, END], 1, [4, END])
    without = Encoded([BEGIN, 4, 5, END], 0, [4, END])
    scores = model.log_likelihood(collate([with_tag, without])).tolist()
    assert scores[0] == pytest.approx(scores[1], abs=1e-12)


def test_unknown_letters_and_empty_targets_are_scored() -> None:
    model = monotonic(dtype=torch.float32)
    odd = [
        Encoded([BEGIN, UNKNOWN, 5, UNKNOWN, END], 0, [4, 5, END]),
        Encoded([BEGIN, UNKNOWN, UNKNOWN, 4, END], 1, [END]),
        Encoded([BEGIN, 4, END], 0, [END]),
        Encoded([BEGIN, END], 0, [4, END]),
    ]
    scores = model.log_likelihood(collate(odd))
    assert ((scores > -1e6) & (scores < 0)).all()


def test_the_state_dict_keeps_the_alignment() -> None:
    pairs = random_pairs(30)
    model, other = monotonic(), monotonic(seed=1)
    model.prepare(pairs)
    batch = collate(random_pairs(30, seed=1))
    assert not torch.equal(model.oracle(batch), other.oracle(batch))
    other.load_state_dict(model.state_dict())
    assert torch.equal(model.oracle(batch), other.oracle(batch))
    assert torch.equal(model.log_likelihood(batch), other.log_likelihood(batch))


def test_deterministic() -> None:
    batch = collate(random_pairs(10))
    scores = []
    for _ in range(2):
        model = monotonic().train()
        torch.manual_seed(0)
        model.prepare(random_pairs(30))
        scores.append(model.loss(batch))
    assert torch.equal(*scores)


def test_dropout_is_for_training_only() -> None:
    model = monotonic()
    batch = collate(random_pairs(10))
    assert torch.equal(model.log_likelihood(batch), model.log_likelihood(batch))
    model.train()
    assert not torch.equal(model.log_likelihood(batch), model.log_likelihood(batch))


def test_learns_to_copy() -> None:
    letters = [random_pair(3, 3, seed=k).target[:-1] for k in range(20)]
    pairs = [copied(word) for word in letters]
    model = monotonic(dtype=torch.float32, scale=1.0, dropout=0.0, seed=1)
    assert train(model, pairs, 120).log_likelihood(collate(pairs)).min() > -0.5


def numbered(letters: int, tags: int, target: int) -> Vocabulary:
    return tiny_vocabulary(
        [f"a{k}" for k in range(letters)],
        [f"t{k}" for k in range(tags)],
        [f"x{k}" for k in range(target)],
    )


@pytest.mark.parametrize(
    ("source", "target", "size", "parameters", "decoder"),
    [
        (31, 43, "small", 1_197_800, 236),
        (31, 43, "large", 8_568_076, 469),
        (30, 55, "small", 1_209_664, 238),
    ],
)
def test_parameter_counts_of_the_paper(
    source: int, target: int, size: str, parameters: int, decoder: int
) -> None:
    vocabulary = numbered(source - RESERVED, 0, target - RESERVED)
    model = build_model(replace(SIZES[size], system="monotonic"), vocabulary)
    assert parameters_of(model) == parameters
    assert isinstance(model, MonotonicTransducer)
    assert model.decoder.lstm.hidden_size == decoder


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("tags", [0, 1, 2])
def test_no_width_of_the_decoder_comes_closer_to_soft_attention(tags: int, layers: int) -> None:
    soft, monotonic = (
        ModelConfig(system, decoder_layers=layers) for system in ("soft", "monotonic")
    )
    goal = parameters_of(build_model(soft, numbered(26, tags, 31)))  # one of them for STEP
    vocabulary = numbered(26, tags, 30)
    model = build_model(monotonic, vocabulary)
    assert isinstance(model, MonotonicTransducer)
    hidden = model.decoder.lstm.hidden_size
    attended = 2 * soft.encoder + (soft.embedding if tags else 0)
    rest = parameters_of(model) - parameters_of(model.decoder)

    def distance(hidden: int) -> int:
        decoder = PointerDecoder(len(vocabulary.target) + 1, 100, attended, hidden, layers, 0.0)
        return abs(rest + parameters_of(decoder) - goal)

    assert distance(hidden) <= min(distance(hidden - 1), distance(hidden + 1))


def parameters_of(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def test_many_tags_never_narrow_the_decoder() -> None:
    model = build_model(ModelConfig("monotonic"), numbered(26, 300, 30))
    assert isinstance(model, MonotonicTransducer)
    assert model.decoder.lstm.hidden_size == 200
