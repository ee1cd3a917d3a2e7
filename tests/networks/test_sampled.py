"""REINFORCE: the gradient is that of the bound, in expectation and by the law of large numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import pytest
import torch
from torch import Tensor

import reference
from conftest import random_pair, random_pairs, tiny_model, widened
from hardalign.data.encoding import Encoded
from hardalign.networks import feeding, sampled
from hardalign.networks.batch import collate
from hardalign.networks.transducer import Transducer

BOUNDS = {"hard-sampled": reference.bound, "hard-feed": reference.fed_bound}
PAIRS = [random_pair(2, 2, seed=1), random_pair(1, 0, seed=2)]
"""64 and 3 alignments; side by side in a batch, the second is mostly padding."""
systems = pytest.mark.parametrize("system", BOUNDS)

Gradient = dict[str, Tensor]


def gradient(value: Tensor, model: Transducer) -> Gradient:
    names, parameters = zip(*model.named_parameters(), strict=True)
    found = torch.autograd.grad(value, parameters)
    return dict(zip(names, found, strict=True))


def exact_gradient(system: str, model: Transducer, pairs: list[Encoded]) -> Gradient:
    p = reference.parameters(model)
    bounds = [BOUNDS[system](p, pair.source, pair.target) for pair in pairs]
    return gradient(-torch.stack(bounds).sum(), model)


def dealt(monkeypatch: pytest.MonkeyPatch, deal: Callable[[Tensor], Tensor]) -> None:
    """Have positions dealt by a rule instead of drawn."""
    monkeypatch.setattr(sampled, "sample_positions", deal)
    monkeypatch.setattr(feeding, "sample_positions", deal)


def all_alignments(pair: Encoded) -> Tensor:
    """[|x|^|y|, I]"""
    return torch.tensor(list(product(range(len(pair.source)), repeat=len(pair.target))))


def dealing(system: str, alignments: Tensor) -> Callable[[Tensor], Tensor]:
    """Row n of a batch gets alignment n: all steps in one call, or one call per step."""
    if system == "hard-sampled":
        return lambda log_alpha: alignments.unsqueeze(-1)
    columns: Iterator[Tensor] = iter(alignments.t().unsqueeze(-1))
    return lambda log_alpha: next(columns)


def probabilities(system: str, model: Transducer, pair: Encoded, alignments: Tensor) -> Tensor:
    """[|x|^|y|] p(a | x, y_<i) by the reference."""
    p = {name: value.detach() for name, value in reference.parameters(model).items()}
    encoded = reference.encode(p, pair.source)
    named = {name.replace("head.mixture.", "head."): value for name, value in p.items()}
    one_hot = torch.eye(len(pair.source), dtype=torch.float64)
    found = []
    for a in alignments.tolist():
        states = (
            reference.decode(p, pair.target)
            if system == "hard-sampled"
            else reference.fed_decode(p, encoded, pair.target, lambda i, _, a=a: one_hot[a[i]])
        )
        factors = [
            reference.attention(named, h, encoded)[j] for h, j in zip(states, a, strict=True)
        ]
        found.append(torch.stack(factors).prod())
    return torch.stack(found)


def expected_loss(
    system: str, model: Transducer, pair: Encoded, monkeypatch: pytest.MonkeyPatch
) -> Tensor:
    """The loss of each alignment, weighted by its probability: the expectation, without chance."""
    model.objective.samples = 1
    alignments = all_alignments(pair)
    weights = probabilities(system, model, pair, alignments)
    assert weights.sum().item() == pytest.approx(1.0, abs=1e-12)
    dealt(monkeypatch, dealing(system, alignments))
    return (weights * model.loss(collate([pair] * len(alignments)))).sum()


@systems
@pytest.mark.parametrize("baseline", [0.0, -2.0, 5.0])
@pytest.mark.parametrize("pair", PAIRS, ids=["long", "short"])
def test_expected_gradient_is_that_of_the_bound(
    system: str, baseline: float, pair: Encoded, monkeypatch: pytest.MonkeyPatch
):
    model = tiny_model(system)
    model.objective.baseline.average.fill_(baseline)
    loss = expected_loss(system, model, pair, monkeypatch)
    bound = BOUNDS[system](reference.parameters(model), pair.source, pair.target)
    torch.testing.assert_close(loss, -bound, rtol=0, atol=1e-10)
    found, wanted = gradient(loss, model), gradient(-bound, model)
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("system", "function", "fault"),
    [
        ("hard-sampled", "surrogate", lambda rewards, log_alpha, _: -rewards + 0 * log_alpha),
        ("hard-feed", "surrogate", lambda rewards, log_alpha, _: -rewards + 0 * log_alpha),
        ("hard-feed", "reward_to_go", lambda rewards: rewards),
    ],
    ids=["no score (R)", "no score (2)", "own reward only (2)"],
)
def test_a_bias_would_be_found_out(
    system: str, function: str, fault: Callable[..., Tensor], monkeypatch: pytest.MonkeyPatch
):
    model = tiny_model(system)
    monkeypatch.setattr(sampled, function, fault)
    found = gradient(expected_loss(system, model, PAIRS[0], monkeypatch), model)
    exact = exact_gradient(system, model, PAIRS[:1])
    assert max((found[name] - exact[name]).abs().max() for name in found) > 1e-2


GROUPS, REPEATS = 150, 60


def estimates(model: Transducer, seed: int = 0) -> dict[str, Tensor]:
    """By parameter block, [GROUPS, size] independent estimates, each the mean of ``REPEATS``."""
    torch.manual_seed(seed)
    batch = collate(PAIRS * REPEATS)
    found = [gradient(model.loss(batch).sum() / REPEATS, model) for _ in range(GROUPS)]
    return {name: torch.stack([one[name].flatten() for one in found]) for name in found[0]}


def deviations(found: dict[str, Tensor], exact: Gradient) -> dict[str, float]:
    """By block, how many standard errors the mean is off, along the exact gradient."""
    result = {}
    for name, rows in found.items():
        along = exact[name].flatten() / exact[name].norm().clamp(min=1e-30)
        difference = (rows - exact[name].flatten()) @ along
        error = (difference.std() / GROUPS**0.5).clamp(min=1e-12)
        result[name] = (difference.mean().abs() / error).item()
    return result


def spread(found: dict[str, Tensor]) -> float:
    """The estimates' total variance: the trace of the whole gradient's covariance."""
    return sum(rows.var(0).sum().item() for rows in found.values())


@systems
@pytest.mark.parametrize("baseline", [True, False], ids=["baseline", "no baseline"])
def test_mean_of_many_estimates_is_the_gradient_of_the_bound(system: str, baseline: bool):
    model = tiny_model(system, dropout=0.0)
    if baseline:
        model.train()  # the average moves with the batches, as it does in training
    found = estimates(model)
    assert (model.objective.baseline.average != 0) == baseline
    exact = exact_gradient(system, model, PAIRS)
    assert max(deviations(found, exact).values()) < 4
    for name, rows in found.items():
        error = rows.std(0) / GROUPS**0.5 + 1e-12
        assert ((rows.mean(0) - exact[name].flatten()).abs() < 5 * error).all(), name


@systems
def test_the_baseline_lowers_the_variance_of_the_whole_gradient(system: str):
    model = tiny_model(system, dropout=0.0)
    without = spread(estimates(model))
    model.train()
    estimates(model)  # until the average has settled
    model.eval()
    assert spread(estimates(model)) < 0.8 * without


@systems
def test_neither_padding_nor_batch_mates_matter(system: str, monkeypatch: pytest.MonkeyPatch):
    dealt(monkeypatch, lambda log_alpha: log_alpha.argmax(-1))
    pairs = random_pairs(6, longest=5)
    model = tiny_model(system, dropout=0.0)
    model.objective.baseline.average.fill_(-1.0)
    alone = torch.cat([model.loss(collate([pair])) for pair in pairs])
    wanted = gradient(alone.sum(), model)
    for batch in (collate(pairs), widened(pairs, 3, seed=1)):
        losses = model.loss(batch)
        torch.testing.assert_close(losses, alone, rtol=0, atol=1e-10)
        torch.testing.assert_close(gradient(losses.sum(), model), wanted, rtol=0, atol=1e-10)
    averages = []
    model.train()
    for batch in (collate(pairs), widened(pairs, 3, seed=1)):
        model.objective.baseline.average.fill_(-1.0)
        model.loss(batch)
        averages.append(model.objective.baseline.average.clone())
    torch.testing.assert_close(averages[0], averages[1], rtol=0, atol=1e-12)


@systems
def test_the_baseline_is_a_moving_average_of_the_reward_per_symbol(
    system: str, monkeypatch: pytest.MonkeyPatch
):
    dealt(monkeypatch, lambda log_alpha: log_alpha.argmax(-1))
    model = tiny_model(system, dropout=0.0).train()
    first, second = random_pairs(5, seed=1), random_pairs(5, seed=2)
    expected = 0.0
    for pairs in (first, second):
        symbols = sum(len(pair.target) for pair in pairs)
        reward = -model.loss(collate(pairs)).sum().item() / symbols
        expected = 0.9 * expected + 0.1 * reward
    assert model.objective.baseline.average.item() == pytest.approx(expected, abs=1e-12)


@systems
def test_the_baseline_is_saved_and_left_alone_in_evaluation(system: str):
    model = tiny_model(system).train()
    batch = collate(random_pairs(5))
    model.loss(batch)
    value = model.objective.baseline.average.item()
    assert value < 0
    model.eval()
    model.loss(batch)
    model.log_likelihood(batch)
    assert model.objective.baseline.average.item() == value
    other = tiny_model(system, seed=1)
    other.load_state_dict(model.state_dict())
    assert other.objective.baseline.average.item() == value


@systems
def test_the_loss_follows_from_the_seed(system: str):
    model = tiny_model(system)
    batch = collate(random_pairs(5))
    losses = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        losses.append(model.loss(batch))
    assert losses[0].equal(losses[1])
    assert not losses[0].equal(losses[2])
    assert losses[0].shape == (5,)


@systems
def test_every_parameter_learns(system: str):
    model = tiny_model(system).train()
    found = gradient(model.loss(collate(random_pairs(5))).sum(), model)
    still = {name for name, block in found.items() if block.abs().max() < 1e-12}
    # T's bias adds the same to the score of every position: α does not depend on it.
    assert {name.removeprefix("head.mixture.").removeprefix("head.") for name in still} == {
        "attention.score.bias"
    }


def test_hard_sampled_predicts_and_scores_like_hard():
    model, hard = tiny_model("hard-sampled"), tiny_model("hard", seed=1)
    hard.load_state_dict(model.state_dict(), strict=False)
    batch = collate(random_pairs(6))
    assert model.log_likelihood(batch).equal(hard.log_likelihood(batch))
    assert model.align(batch).equal(hard.align(batch))
    assert set(model.state_dict()) - set(hard.state_dict()) == {"objective.baseline.average"}


def test_the_bound_is_a_bound():
    model = tiny_model("hard-sampled")
    p = reference.parameters(model)
    for pair in PAIRS:
        bound = reference.bound(p, pair.source, pair.target)
        assert bound < model.log_likelihood(collate([pair]))[0]
