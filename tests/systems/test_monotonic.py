"""The pointer: gradients by a plain loop, aligner and size; test_systems has the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

import reference
from hardalign.config import SIZES, ModelConfig
from hardalign.data.vocabulary import BEGIN, END, RESERVED, Encoded, Vocabulary
from hardalign.systems import parameters
from hardalign.systems.monotonic import Monotonic
from hardalign.systems.network import Network, collate
from helpers import TINY, random_pair, random_pairs, tiny_model, tiny_vocabulary
from systems.plain import PlainPointer, oracle_path

STEP = len(TINY.target)


def actions_of(model: Network, batch_pairs: Sequence[Encoded]) -> list[list[int]]:
    assert isinstance(model.system, Monotonic)
    return model.system._aligned(batch_pairs)


def plain_log_likelihood(model: Network, pair: Encoded) -> Tensor:
    """By a loop over single actions, with autograd's way back to the model."""
    pointer = PlainPointer(reference.parameters(model), pair)
    actions = oracle_path(model.get_buffer("oracle.table").numpy(), pair, pointer.step_action)
    steps = zip([BEGIN, *actions], actions, strict=False)
    return torch.stack([pointer.log_probs(before)[after - END] for before, after in steps]).sum()


def test_gradients_are_those_of_the_plain_loop() -> None:
    model, pairs = tiny_model("monotonic"), random_pairs(4)
    loss = model.loss(collate(pairs))
    loss.sum().backward()
    found = {name: parameter.grad for name, parameter in model.named_parameters()}
    model.zero_grad()
    expected = -torch.stack([plain_log_likelihood(model, pair) for pair in pairs])
    torch.testing.assert_close(loss, expected, rtol=1e-9, atol=1e-9)
    expected.sum().backward()
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(found[name], parameter.grad, rtol=1e-8, atol=1e-8, msg=name)


def test_a_step_that_must_not_be_taken_has_no_gradient() -> None:
    model = tiny_model("monotonic", dtype=torch.float32)
    with torch.no_grad():
        model.get_parameter("decoder.output.bias")[STEP] = 1e4
    model.loss(collate([random_pair(1, 2)])).sum().backward()
    for parameter in model.parameters():
        assert parameter.grad is not None
        assert parameter.grad.isfinite().all()


def test_the_state_dict_keeps_the_alignment() -> None:
    model, other = tiny_model("monotonic"), tiny_model("monotonic", seed=1)
    model.prepare(random_pairs(30))
    pairs = random_pairs(30, seed=1)
    assert actions_of(model, pairs) != actions_of(other, pairs)
    other.load_state_dict(model.state_dict())
    assert actions_of(model, pairs) == actions_of(other, pairs)
    assert torch.equal(model.log_likelihood(collate(pairs)), other.log_likelihood(collate(pairs)))


def test_learns_to_copy() -> None:
    letters = [random_pair(3, 3, seed=k).target[:-1] for k in range(20)]
    pairs = [Encoded([BEGIN, *word, END], 0, [*word, END]) for word in letters]
    model = tiny_model("monotonic", dtype=torch.float32, scale=1.0, dropout=0.0, seed=1)
    model.prepare(pairs)
    optimizer = torch.optim.Adam(model.train().parameters(), 0.05)
    for _ in range(120):
        optimizer.zero_grad()
        model.loss(collate(pairs)).mean().backward()
        optimizer.step()
    assert model.eval().log_likelihood(collate(pairs)).min() > -0.5


def numbered(letters: int, tags: int, target: int) -> Vocabulary:
    return tiny_vocabulary(
        [f"a{k}" for k in range(letters)],
        [f"t{k}" for k in range(tags)],
        [f"x{k}" for k in range(target)],
    )


@pytest.mark.parametrize(
    ("source", "target", "size", "total", "decoder"),
    [
        (31, 43, "small", 1_197_800, 236),
        (31, 43, "large", 8_568_076, 469),
        (30, 55, "small", 1_209_664, 238),
    ],
)
def test_parameter_counts_of_the_paper(
    source: int, target: int, size: str, total: int, decoder: int
) -> None:
    vocabulary = numbered(source - RESERVED, 0, target - RESERVED)
    model = Network(replace(SIZES[size], system="monotonic"), vocabulary)
    assert parameters_of(model) == total
    assert decoder_width(model) == decoder


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("tags", [0, 1, 2])
def test_no_width_of_the_decoder_comes_closer_to_soft_attention(tags: int, layers: int) -> None:
    soft, monotonic = (
        ModelConfig(system, decoder_layers=layers) for system in ("soft", "monotonic")
    )
    goal = parameters_of(Network(soft, numbered(26, tags, 31)))  # one of them for STEP
    vocabulary = numbered(26, tags, 30)
    model = Network(monotonic, vocabulary)
    hidden, actions = decoder_width(model), len(vocabulary.target) + 1
    attended = 2 * soft.encoder + (soft.embedding if tags else 0)
    own = [p.numel() for name, p in model.named_parameters() if name.startswith("decoder.")]
    rest = parameters_of(model) - sum(own)

    def distance(hidden: int) -> int:
        lstm = parameters.lstm("lstm", 100 + attended, hidden, layers)
        decoder = lstm | parameters.linear("output", hidden, actions)
        return abs(rest + actions * 100 + parameters.count(decoder) - goal)

    assert distance(hidden) <= min(distance(hidden - 1), distance(hidden + 1))


def decoder_width(model: Network) -> int:
    return model.get_parameter("decoder.lstm.weight_hh_l0").shape[1]


def parameters_of(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def test_many_tags_never_narrow_the_decoder() -> None:
    model = Network(ModelConfig("monotonic"), numbered(26, 300, 30))
    assert decoder_width(model) == 200
