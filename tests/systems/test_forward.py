from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from hardalign.config import ModelConfig
from hardalign.systems.ops import Ops
from hardalign.systems.ops import torch_kernels as kernels
from hardalign.systems.ops.torch import TorchOps
from hardalign.systems.ops.torch_kernels import forward_algorithm

sizes = {
    "positions": st.integers(1, 4),
    "steps": st.integers(1, 4),
    "peaked": st.sampled_from([1.0, 10.0]),
    "monotone": st.booleans(),
    "seed": st.integers(0, 10**6),
}


@dataclass(frozen=True)
class Case:
    """A random chain for each of some words; scores are what a softmax turns into transitions."""

    scores: Tensor  # [B, I, J, J]
    emission: Tensor  # [B, I, J]
    possible: Tensor  # [B, 1, J, J]

    @property
    def transition(self) -> Tensor:
        return self.scores.masked_fill(~self.possible, -torch.inf).log_softmax(-1)

    def log_likelihood(self, scores: Tensor, emission: Tensor) -> Tensor:
        case = replace(self, scores=scores)
        return forward_algorithm(case.transitions, emission)

    def transitions(self, steps: slice) -> Tensor:
        return self.transition[:, steps]

    def paths(self, row: int = 0) -> Iterator[tuple[tuple[int, ...], float]]:
        """Every path and p(y, a | x)."""
        transition, emission = self.transition[row].exp(), self.emission[row].exp()
        steps, positions = emission.shape
        for path in product(range(positions), repeat=steps):
            probability, k = 1.0, 0
            for i, j in enumerate(path):
                probability *= float(transition[i, k, j]) * float(emission[i, j])
                k = j
            yield path, probability


def make(
    positions: int, steps: int, peaked: float = 1.0, monotone: bool = False, seed: int = 0
) -> Case:
    generator = torch.Generator().manual_seed(seed)

    def randn(*shape: int) -> Tensor:
        return peaked * torch.randn(*shape, generator=generator, dtype=torch.float64)

    possible = torch.ones(positions, positions, dtype=torch.bool)
    possible = possible.triu() if monotone else possible
    emission = -randn(1, steps, positions).abs()
    return Case(randn(1, steps, positions, positions), emission, possible[None, None])


def padded(case: Case, steps: int, positions: int) -> Case:
    """The same chain with more steps, and more positions to which nothing leads."""
    size = case.emission.shape[2] + positions
    pad = torch.nn.functional.pad
    possible = pad(case.possible, (0, positions, 0, positions))
    possible[..., case.emission.shape[2] :, 0] = True  # any distribution will do
    scores = pad(case.scores, (0, positions, 0, positions, 0, steps), value=3.0)
    emission = pad(case.emission, (0, positions), value=-torch.inf)
    return Case(scores, pad(emission, (0, 0, 0, steps)), possible.expand(1, 1, size, size))


def posterior(case: Case) -> Tensor:
    """The gradient of log p(y | x) by the emissions."""
    emission = case.emission.detach().requires_grad_()
    log_likelihood = forward_algorithm(case.transitions, emission).sum()
    return torch.autograd.grad(log_likelihood, emission)[0]


@pytest.fixture(params=[1, 1 << 18], ids=["many blocks", "one block"])
def blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "BLOCK_FLOATS", request.param)


@given(**sizes)
def test_sums_over_all_paths(positions: int, steps: int, peaked: float, monotone: bool, seed: int):
    case = make(positions, steps, peaked, monotone, seed)
    expected = torch.tensor(sum(p for _, p in case.paths()), dtype=torch.float64).log()
    found = forward_algorithm(case.transitions, case.emission)
    torch.testing.assert_close(found.sum(), expected, rtol=0, atol=1e-10)
    evidence, _ = Ops.forward(TorchOps(ModelConfig()), case.transitions, case.emission)
    torch.testing.assert_close(evidence, found, rtol=0, atol=1e-10)


@given(**sizes)
def test_symbols_are_conditioned_on_the_symbols_before(
    positions: int, steps: int, peaked: float, monotone: bool, seed: int
):
    case = make(positions, steps, peaked, monotone, seed)
    (found,) = forward_algorithm(case.transitions, case.emission)
    for i in range(steps):
        prefix = replace(case, scores=case.scores[:, : i + 1], emission=case.emission[:, : i + 1])
        expected = torch.tensor(sum(p for _, p in prefix.paths()), dtype=torch.float64).log()
        torch.testing.assert_close(found[: i + 1].sum(), expected, rtol=0, atol=1e-10)


@given(**sizes)
def test_the_posterior_is_the_share_of_the_paths_through_a_position(
    positions: int, steps: int, peaked: float, monotone: bool, seed: int
):
    case = make(positions, steps, peaked, monotone, seed)
    expected = torch.zeros(steps, positions, dtype=torch.float64)
    for path, probability in case.paths():
        for i, j in enumerate(path):
            expected[i, j] += probability
    expected /= expected[0].sum()
    torch.testing.assert_close(posterior(case)[0], expected, rtol=0, atol=1e-10)


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("monotone", [False, True])
def test_gradients(monotone: bool):
    case = make(3, 4, monotone=monotone)
    inputs = (case.scores.requires_grad_(), case.emission.requires_grad_())
    assert torch.autograd.gradcheck(case.log_likelihood, inputs)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch):
    case = make(4, 7)

    def everything() -> list[Tensor]:
        scores = case.scores.clone().requires_grad_()
        log_likelihood = case.log_likelihood(scores, case.emission)
        gradient = torch.autograd.grad(log_likelihood.square().sum(), scores)
        return [log_likelihood, *gradient, posterior(case)]

    whole = everything()
    for size in (1, 2, 3):
        monkeypatch.setattr(kernels, "BLOCK_FLOATS", size * 4 * 4)
        assert len(kernels._blocks(case.emission)) > 2
        for found, expected in zip(everything(), whole, strict=True):
            torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


@given(**sizes, more_steps=st.integers(0, 3), more_positions=st.integers(0, 3))
def test_padding_does_not_matter(
    positions: int,
    steps: int,
    peaked: float,
    monotone: bool,
    seed: int,
    more_steps: int,
    more_positions: int,
):
    case = make(positions, steps, peaked, monotone, seed)
    wide = padded(case, more_steps, more_positions)
    alone = forward_algorithm(case.transitions, case.emission)
    (found,) = forward_algorithm(wide.transitions, wide.emission)
    torch.testing.assert_close(found[:steps], alone[0], rtol=0, atol=1e-10)
    assert (found[steps:].abs() < 1e-12).all()
    (found,) = posterior(wide)[:, :steps]
    (alone,) = posterior(case)
    torch.testing.assert_close(found[:, :positions], alone, rtol=0, atol=1e-10)
    assert not found[:, positions:].any()


def test_what_cannot_be_reached_stays_out_of_the_sum_and_the_gradient():
    case = make(4, 5, monotone=True)
    scores = case.scores.requires_grad_()
    evidence = case.log_likelihood(scores, case.emission)
    (gradient,) = torch.autograd.grad(evidence.sum(), scores)
    assert not gradient.masked_select(~case.possible).any()
    assert gradient.isfinite().all()
    assert not case.transition.exp().masked_select(~case.possible).any()  # exactly 0


def test_long_and_improbable_chains_stay_finite():
    case = make(5, 200, peaked=100.0, monotone=True)
    scores, emission = (t.float().requires_grad_() for t in (case.scores, 100 * case.emission))
    evidence = case.log_likelihood(scores, emission)
    assert float(evidence.detach().sum()) < -1e5  # far below what a float can hold as exp
    for gradient in torch.autograd.grad(evidence.sum(), (scores, emission)):
        assert gradient.isfinite().all()
