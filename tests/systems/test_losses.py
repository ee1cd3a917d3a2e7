"""What is drawn instead of summed: estimates and bounds against sums over all alignments."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product

import pytest
import torch
from torch import Tensor

import reference
from hardalign.data.vocabulary import Encoded
from hardalign.errors import HardalignError
from hardalign.systems import network
from hardalign.systems.network import Batch, Network, collate
from helpers import TINY, random_pair, random_pairs, tiny_config, tiny_model, widened

BOUNDS = {"hard-sampled": reference.bound, "hard-feed-reinforce": reference.fed_bound}
PAIRS = [random_pair(2, 2, seed=1), random_pair(1, 0, seed=2)]
"""64 and 3 alignments; side by side in a batch, the second is mostly padding."""
reinforced = pytest.mark.parametrize("system", BOUNDS)
systems = pytest.mark.parametrize("system", [*BOUNDS, "hard-feed"])
pairs_of_both_lengths = pytest.mark.parametrize("pair", PAIRS, ids=["long", "short"])

Gradient = dict[str, Tensor]


def gradient(value: Tensor, model: Network) -> Gradient:
    names, parameters = zip(*model.named_parameters(), strict=True)
    blocks = torch.autograd.grad(value, parameters, retain_graph=True)
    return dict(zip(names, blocks, strict=True))


def deal(monkeypatch: pytest.MonkeyPatch, rule: Callable[[Tensor], Tensor]) -> None:
    """Has positions dealt by a rule instead of drawn."""
    monkeypatch.setattr(network, "draw", rule)


def average(model: Network) -> Tensor:
    return model.get_buffer("objective.baseline.average")


def draw_once(model: Network) -> None:
    model.system.config = replace(model.system.config, samples=1)


def all_alignments(pair: Encoded) -> Tensor:
    """[|x|^|y|, I]"""
    return torch.tensor(list(product(range(len(pair.source)), repeat=len(pair.target))))


def deal_paths(monkeypatch: pytest.MonkeyPatch, paths: Tensor) -> None:
    """Deals the alignments [B, I, k], one step at a call, as systems with feeding draw them."""
    columns: Iterator[Tensor] = iter(paths.unbind(1))
    deal(monkeypatch, lambda log_probs: next(columns))


# REINFORCE: the expected gradient is that of the bound.


def expected_positions(model: Network, pair: Encoded, monkeypatch: pytest.MonkeyPatch) -> Tensor:
    """The loss of `hard-sampled`, expected over two draws at each step, without chance.

    The loss is a sum over steps, so all steps can be dealt the same two positions at once.
    """
    p = {name: value.detach() for name, value in reference.parameters(model).items()}
    alpha = reference.alphas(p, pair.source, pair.target)  # [I, J]
    total = torch.zeros((), dtype=torch.float64)
    for positions in product(range(len(pair.source)), repeat=2):
        weight = alpha[:, positions[0]] * alpha[:, positions[1]]  # [I]
        shape = (1, len(pair.target), 2)
        deal(monkeypatch, lambda _, dealt=positions, shape=shape: torch.tensor(dealt).expand(shape))
        for i in range(len(pair.target)):
            batch = collate([pair])
            total = total + weight[i] * step_loss(model, batch, i)
    return total


def step_loss(model: Network, batch: Batch, i: int) -> Tensor:
    """The loss of one step alone: of the target up to it, less that of the target before it."""

    def upto(steps: int) -> Tensor:
        lengths = torch.full_like(batch.targets.lengths, steps)
        return model.loss(replace(batch, targets=replace(batch.targets, lengths=lengths))).sum()

    return upto(i + 1) - upto(i)


def expected_paths(model: Network, pair: Encoded, monkeypatch: pytest.MonkeyPatch) -> Tensor:
    """The loss of `hard-feed-reinforce`, expected over alignments, without chance."""
    draw_once(model)
    paths = all_alignments(pair)
    p = {name: value.detach() for name, value in reference.parameters(model).items()}
    weights = []
    for a, alpha, _ in reference.fed_alignments(p, pair.source, pair.target):
        weights.append(torch.stack([alpha[i, j] for i, j in enumerate(a)]).prod())
    assert torch.stack(weights).sum().item() == pytest.approx(1.0, abs=1e-12)
    deal_paths(monkeypatch, paths.unsqueeze(2))
    return (torch.stack(weights) * model.loss(collate([pair] * len(paths)))).sum()


EXPECTED = {"hard-sampled": expected_positions, "hard-feed-reinforce": expected_paths}


@reinforced
@pairs_of_both_lengths
def test_expected_gradient_is_that_of_the_bound(
    system: str, pair: Encoded, monkeypatch: pytest.MonkeyPatch
):
    model = tiny_model(system)
    if system == "hard-feed-reinforce":
        average(model).fill_(-2.0)
    loss = EXPECTED[system](model, pair, monkeypatch)
    bound = BOUNDS[system](reference.parameters(model), pair.source, pair.target)
    torch.testing.assert_close(loss, -bound, rtol=0, atol=1e-10)
    torch.testing.assert_close(gradient(loss, model), gradient(-bound, model), rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("system", "function", "fault"),
    [
        ("hard-sampled", "surrogate", lambda rewards, log_alpha, _: -rewards + 0 * log_alpha),
        ("hard-sampled", "leave_one_out", lambda rewards: rewards - rewards.mean(-1, keepdim=True)),
        ("hard-feed-reinforce", "surrogate", lambda rewards, alpha, _: -rewards + 0 * alpha),
        ("hard-feed-reinforce", "reward_to_go", lambda rewards: rewards),
    ],
    ids=["no score (R)", "own reward in the baseline (R)", "no score (2)", "own reward only (2)"],
)
def test_a_bias_would_be_found_out(
    system: str, function: str, fault: Callable[..., Tensor], monkeypatch: pytest.MonkeyPatch
):
    model = tiny_model(system)
    monkeypatch.setattr(network, function, fault)
    estimate = gradient(EXPECTED[system](model, PAIRS[0], monkeypatch), model)
    bound = BOUNDS[system](reference.parameters(model), PAIRS[0].source, PAIRS[0].target)
    exact = gradient(-bound, model)
    assert max((estimate[name] - exact[name]).abs().max() for name in exact) > 1e-2


def estimates(model: Network, groups: int = 60) -> dict[str, Tensor]:
    """By parameter block, [groups, size] independent estimates of the gradient."""
    torch.manual_seed(0)
    batch = collate(PAIRS * 60)
    rows = [gradient(model.loss(batch).sum() / 60, model) for _ in range(groups)]
    return {name: torch.stack([row[name].flatten() for row in rows]) for name in rows[0]}


@reinforced
def test_mean_of_many_estimates_is_the_gradient_of_the_bound(system: str):
    model = tiny_model(system, dropout=0.0).train()  # a moving average moves, as in training
    p = reference.parameters(model)
    bounds = [BOUNDS[system](p, pair.source, pair.target) for pair in PAIRS]
    exact = gradient(-torch.stack(bounds).sum(), model)
    for name, rows in estimates(model).items():
        error = rows.std(0) / len(rows) ** 0.5 + 1e-12
        assert ((rows.mean(0) - exact[name].flatten()).abs() < 5 * error).all(), name


def spread(rows: dict[str, Tensor]) -> float:
    """The trace of the whole gradient's covariance."""
    return sum(block.var(0).sum().item() for block in rows.values())


def test_leaving_one_out_lowers_the_variance(monkeypatch: pytest.MonkeyPatch):
    model = tiny_model("hard-sampled", dropout=0.0)
    with_others = spread(estimates(model))
    monkeypatch.setattr(network, "leave_one_out", lambda rewards: rewards)
    assert with_others < 0.8 * spread(estimates(model))


def test_one_draw_has_no_others_to_be_compared_with():
    with pytest.raises(HardalignError, match="samples must be at least 2, not 1"):
        Network(replace(tiny_config("hard-sampled"), samples=1), TINY)


def test_the_baseline_is_a_moving_average_of_the_reward_per_symbol(
    monkeypatch: pytest.MonkeyPatch,
):
    deal(monkeypatch, lambda log_alpha: log_alpha.argmax(-1))
    model = tiny_model("hard-feed-reinforce", dropout=0.0).train()
    expected = 0.0
    for seed in (1, 2):
        pairs = random_pairs(5, seed=seed)
        symbols = sum(len(pair.target) for pair in pairs)
        reward = -model.loss(collate(pairs)).sum().item() / symbols
        expected = 0.9 * expected + 0.1 * reward
    assert average(model).item() == pytest.approx(expected, abs=1e-12)
    model.eval()
    model.loss(collate(random_pairs(5)))
    assert average(model).item() == pytest.approx(expected, abs=1e-12)


def test_hard_sampled_scores_like_hard():
    model, hard = tiny_model("hard-sampled"), tiny_model("hard", seed=1)
    hard.load_state_dict(model.state_dict())
    batch = collate(random_pairs(6))
    assert model.log_likelihood(batch).equal(hard.log_likelihood(batch))


# Particles: an unbiased estimate of p(y | x), and a bound of its logarithm.


def log_weights(model: Network, pair: Encoded, monkeypatch: pytest.MonkeyPatch) -> Tensor:
    """[|x|^|y|] log Π_i w_i of a particle that draws each alignment, by the model."""
    draw_once(model)
    paths = all_alignments(pair)
    deal_paths(monkeypatch, paths.unsqueeze(2))
    return -model.loss(collate([pair] * len(paths)))


def plain_weights(model: Network, pair: Encoded) -> tuple[Tensor, Tensor]:
    """[|x|^|y|] the same by the reference, and how probable each alignment is to be drawn."""
    p = reference.parameters(model)
    paths = all_alignments(pair).tolist()
    rows = [reference.particle_weights(p, pair.source, pair.target, a) for a in paths]
    weights, shares = zip(*rows, strict=True)
    return torch.stack(weights).log(), torch.stack(shares)


@pairs_of_both_lengths
def test_a_particles_weight_and_gradient_equal_the_reference(
    pair: Encoded, monkeypatch: pytest.MonkeyPatch
):
    model = tiny_model("hard-feed")
    found = log_weights(model, pair, monkeypatch)
    expected, shares = plain_weights(model, pair)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-10)
    mix = torch.randn(len(shares), generator=torch.Generator().manual_seed(0)).double()
    wanted = gradient((mix * expected).sum(), model)
    torch.testing.assert_close(gradient((mix * found).sum(), model), wanted, rtol=0, atol=1e-10)


def test_particles_share_the_loss_of_a_word(monkeypatch: pytest.MonkeyPatch):
    """k particles beside each other: −log of the mean of their weights, and its gradient."""
    model, pair = tiny_model("hard-feed"), PAIRS[0]
    expected, _ = plain_weights(model, pair)
    chosen = torch.tensor([[5, 60, 33], [1, 1, 2]])  # alignments of two words of three particles
    wanted = -expected[chosen].exp().mean(1).log()
    model.system.config = replace(model.system.config, samples=3)
    deal_paths(monkeypatch, all_alignments(pair)[chosen].transpose(1, 2))
    found = model.loss(collate([pair] * 2))
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-10)
    own, exact = gradient(found.sum(), model), gradient(wanted.sum(), model)
    torch.testing.assert_close(own, exact, rtol=0, atol=1e-10)


@pairs_of_both_lengths
def test_the_expected_weight_is_the_likelihood(pair: Encoded):
    model = tiny_model("hard-feed")
    with torch.no_grad():
        log_weight, shares = plain_weights(model, pair)
        likelihood = reference.fed_likelihood(reference.parameters(model), pair.source, pair.target)
    assert shares.sum().item() == pytest.approx(1.0, abs=1e-12)
    expected = (shares * log_weight.exp()).sum()
    torch.testing.assert_close(expected, likelihood, rtol=0, atol=1e-12)


def test_the_mean_weight_of_many_draws_is_the_likelihood():
    model, pair, draws = tiny_model("hard-feed"), PAIRS[0], 8000
    torch.manual_seed(0)
    with torch.no_grad():
        weights = (-model.loss(collate([pair] * draws))).exp()  # each the mean of two particles
        exact = reference.fed_likelihood(reference.parameters(model), pair.source, pair.target)
    error = weights.std() / draws**0.5
    assert weights.std() > 0.01 * exact  # or it would prove little
    assert (weights.mean() - exact).abs() < 4 * error


def test_the_bound_lies_below_the_likelihood_and_rises_with_the_particles():
    model, pair = tiny_model("hard-feed"), PAIRS[0]
    with torch.no_grad():
        log_weight, shares = plain_weights(model, pair)
        log_likelihood = (shares * log_weight.exp()).sum().log().item()
    bounds = []
    for k in (1, 2, 3):
        together = torch.cartesian_prod(*[log_weight] * k).view(-1, k)
        probability = torch.cartesian_prod(*[shares] * k).view(-1, k).prod(1)
        bounds.append((probability * (together.logsumexp(1) - math.log(k))).sum().item())
    assert bounds[0] + 1e-4 < bounds[1] < bounds[2] - 1e-5
    assert bounds[2] < log_likelihood - 1e-4


@pytest.mark.parametrize("seed", [2, 5])
def test_what_the_gradient_leaves_out_is_small_and_not_nothing(seed: int):
    """The draws have no gradient of their own; docs/reference/mathematics.md has the figures."""
    model, pair = tiny_model("hard-feed", seed=seed), random_pair(1, 2, seed=1)
    log_weight, shares = plain_weights(model, pair)
    expected = gradient((shares.detach() * log_weight).sum(), model)
    log_likelihood = (shares * log_weight.exp()).sum().log()
    exact = gradient(log_likelihood, model)
    bias = sum(float((expected[name] - exact[name]).square().sum()) for name in exact) ** 0.5
    length = sum(float(block.square().sum()) for block in exact.values()) ** 0.5
    assert 1e-3 < bias / length < 0.02


# What all of them promise.


@systems
def test_neither_padding_nor_batch_mates_matter(system: str, monkeypatch: pytest.MonkeyPatch):
    deal(monkeypatch, lambda log_probs: log_probs.argmax(-1))
    pairs = random_pairs(6, longest=5)
    model = tiny_model(system, dropout=0.0).train()
    if system == "hard-feed-reinforce":
        model.eval()  # the moving average stays
    alone = torch.cat([model.loss(collate([pair])) for pair in pairs])
    wanted = gradient(alone.sum(), model)
    for batch in (collate(pairs), widened(pairs, 3, seed=1)):
        losses = model.loss(batch)
        torch.testing.assert_close(losses, alone, rtol=0, atol=1e-10)
        torch.testing.assert_close(gradient(losses.sum(), model), wanted, rtol=0, atol=1e-10)


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
    blocks = gradient(model.loss(collate(random_pairs(5))).sum(), model)
    still = {name for name, block in blocks.items() if block.abs().max() < 1e-12}
    # T's bias adds the same to the score of every position: α does not depend on it.
    assert {name.removeprefix("head.mixture.").removeprefix("head.") for name in still} == {
        "attention.score.bias"
    }
