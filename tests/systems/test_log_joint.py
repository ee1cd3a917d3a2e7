from __future__ import annotations

import math
from dataclasses import dataclass, replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from hardalign.config import ModelConfig
from hardalign.systems.ops import Ops, Output
from hardalign.systems.ops import torch_kernels as kernels
from hardalign.systems.ops.torch import TorchOps
from hardalign.systems.ops.torch_kernels import log_joint

PRECISION = {torch.float32: 1e-6, torch.float64: 1e-12}
dtypes = pytest.mark.parametrize("dtype", PRECISION)
XP = TorchOps(ModelConfig())
tolerances = pytest.mark.parametrize("tolerance", [1e-9, 1e-6, 1e-3, 0.1])
sizes = {
    "batch": st.integers(1, 3),
    "steps": st.integers(1, 5),
    "positions": st.integers(1, 6),
    "symbols": st.integers(1, 5),
    "peaked": st.sampled_from([1.0, 30.0]),
    "seed": st.integers(0, 10**6),
}


def layer_of(query: Tensor, key: Tensor, weight: Tensor, bias: Tensor) -> Output:
    return Output(query, key, None, None, weight, bias)


@dataclass(frozen=True)
class Case:
    """Random arguments of a mixture; scores are what a softmax turns into α."""

    scores: Tensor  # [B, I, J]
    layer: Output
    target: Tensor  # [B, I]
    steps: Tensor  # [B, I]
    positions: Tensor  # [B, J]

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        layer = self.layer
        return self.scores, layer.query, layer.key, layer.weight, layer.bias

    @property
    def log_alpha(self) -> Tensor:
        scores = self.scores.masked_fill(~self.positions.unsqueeze(1), -torch.inf)
        return scores.log_softmax(-1)

    def joint(self, tolerance: float = 0.0) -> Tensor:
        return log_joint(self.log_alpha, self.layer, self.target, self.steps, tolerance)

    def log_prob(self, *inputs: Tensor, tolerance: float = 0.0) -> Tensor:
        case = replace(self, scores=inputs[0], layer=layer_of(*inputs[1:])) if inputs else self
        return case.joint(tolerance).logsumexp(-1)

    def plain_log_prob(self) -> Tensor:
        joint = Ops.log_joint(XP, self.log_alpha, self.layer, self.target, self.steps)
        return joint.logsumexp(-1).masked_fill(~self.steps, 0.0)

    def gradients(self, output: Tensor) -> tuple[Tensor, ...]:
        return torch.autograd.grad(output.sum(), self.inputs)


def random_case(
    *,
    batch: int = 2,
    steps: int = 3,
    positions: int = 4,
    width: int = 3,
    symbols: int = 5,
    peaked: float = 1.0,
    dtype: torch.dtype = torch.float64,
    seed: int = 0,
) -> Case:
    """A padded batch. ``peaked`` multiplies the scores: at 30 most weights are negligible."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=dtype)

    def lengths(longest: int) -> Tensor:
        drawn = torch.randint(1, longest + 1, (batch, 1), generator=generator)
        drawn[0] = longest
        return torch.arange(longest) < drawn

    layer = layer_of(
        normal(batch, steps, width).requires_grad_(),
        normal(batch, positions, width).requires_grad_(),
        normal(width, symbols).requires_grad_(),
        normal(symbols).requires_grad_(),
    )
    return Case(
        (peaked * normal(batch, steps, positions)).requires_grad_(),
        layer,
        torch.randint(symbols, (batch, steps), generator=generator),
        lengths(steps),
        lengths(positions),
    )


def adversarial_case(surprise: float, dtype: torch.dtype = torch.float64) -> Case:
    """One step whose symbol comes only from a position of weight e^−30.

    The attended position gives it the log-probability −``surprise``.
    """
    scores = torch.tensor([[[30.0, 0.0, -1.0]]], dtype=dtype)
    said = torch.tensor([[[20.0], [-20.0], [20.0]]], dtype=dtype)  # tanh: 1, −1, 1
    weight = torch.tensor([[-surprise / 2, surprise / 2]], dtype=dtype)
    layer = layer_of(torch.zeros(1, 1, 1, dtype=dtype), said, weight, torch.zeros(2).to(dtype))
    return Case(
        scores, layer, torch.zeros(1, 1).long(), torch.ones(1, 1).bool(), torch.ones(1, 3).bool()
    )


def test_gradcheck():
    case = random_case(seed=3)
    assert not case.steps.all()
    assert not case.positions.all()
    assert torch.autograd.gradcheck(case.log_prob, case.inputs)


@dtypes
@given(**sizes)
def test_equals_the_plain_version(dtype: torch.dtype, **size: int):
    case = random_case(dtype=dtype, **size)
    near = {"rtol": PRECISION[dtype], "atol": 3 * PRECISION[dtype]}
    torch.testing.assert_close(case.log_prob(), case.plain_log_prob(), **near)
    found = case.gradients(case.log_prob())
    expected = case.gradients(case.plain_log_prob())
    for gradient, wanted in zip(found, expected, strict=True):
        scale = max(1.0, float(wanted.abs().max()))
        torch.testing.assert_close(gradient / scale, wanted / scale, **near)


def test_padding_steps_are_certain():
    case = random_case(seed=3)
    joint = case.joint()
    expected = case.log_alpha.masked_fill(case.steps.unsqueeze(-1), 0.0)
    assert torch.equal(joint.masked_fill(case.steps.unsqueeze(-1), 0.0), expected)


def test_nothing_leaks_from_padding():
    case = random_case(seed=3)
    strange = replace(
        case,
        layer=case.layer._replace(
            query=case.layer.query.detach().masked_fill(~case.steps.unsqueeze(-1), torch.nan),
            key=case.layer.key.detach().masked_fill(~case.positions.unsqueeze(-1), torch.nan),
        ),
        scores=case.scores.detach().masked_fill(~case.positions.unsqueeze(1), torch.nan),
        target=case.target.masked_fill(~case.steps, -1000),
    )
    assert strange.scores.isnan().any()
    assert strange.layer.query.isnan().any()
    for tensor in strange.inputs:
        tensor.requires_grad_()
    found, expected = strange.log_prob(), case.log_prob()
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
    for gradient, clean in zip(strange.gradients(found), case.gradients(expected), strict=True):
        torch.testing.assert_close(gradient, clean, rtol=0, atol=1e-12)


def test_a_batch_without_steps():
    case = random_case()
    case = replace(case, steps=torch.zeros_like(case.steps))
    log_prob = case.log_prob()
    torch.testing.assert_close(log_prob, torch.zeros_like(log_prob))
    gradient = torch.autograd.grad(log_prob.sum(), case.scores)[0]
    torch.testing.assert_close(gradient, torch.zeros_like(gradient))


@tolerances
@given(**sizes)
def test_pruning_is_certified(tolerance: float, **size: int):
    case = random_case(**size)
    exact, pruned = case.log_prob(), case.log_prob(tolerance=tolerance)
    assert (pruned <= exact + 1e-12).all()
    assert (exact - pruned <= 1.01 * tolerance).all()


@tolerances
@given(seed=st.integers(0, 10**6))
def test_pruning_keeps_gradients(tolerance: float, seed: int):
    case = random_case(peaked=30.0, positions=8, seed=seed)
    exact = case.gradients(case.log_prob())
    pruned = case.gradients(case.log_prob(tolerance=tolerance))
    for gradient, whole in zip(pruned, exact, strict=True):
        # Each of the 6 steps may be off by the tolerance twice: in its weights and in the cells
        # left out, of which there are 7; a cell's gradient is at most 2 max |W|.
        bound = (
            6 * (2 + 7) * tolerance * 2 * max(1.0, float(case.layer.weight.detach().abs().max()))
        )
        torch.testing.assert_close(gradient, whole, rtol=0, atol=bound)


def test_what_is_left_out_does_not_depend_on_batch_mates():
    case = random_case(peaked=10.0, positions=8, batch=4)
    computed = case.joint(1e-3).isfinite()
    positions = case.positions.sum(1)
    assert positions.min() < positions.max()
    for word, size in enumerate(positions.tolist()):
        row = slice(word, word + 1)
        layer = case.layer._replace(query=case.layer.query[row], key=case.layer.key[row, :size])
        scores, positions = case.scores[row, :, :size], case.positions[row, :size]
        alone = Case(scores, layer, case.target[row], case.steps[row], positions)
        assert torch.equal(alone.joint(1e-3)[0].isfinite(), computed[word, :, :size])


def test_pruning_leaves_positions_out():
    case = random_case(peaked=100.0, positions=8, batch=4)
    computed = case.joint(1e-6).isfinite() & case.steps.unsqueeze(-1)
    possible = case.log_alpha.isfinite() & case.steps.unsqueeze(-1)
    assert 0 < computed.sum() < possible.sum() / 3


def test_tolerance_0_leaves_nothing_out():
    case = random_case(peaked=100.0, positions=8, batch=4)
    assert torch.equal(case.joint().isfinite(), case.log_alpha.isfinite())


@tolerances
@pytest.mark.parametrize("surprise", [10.0, 30.0, 100.0, 1000.0])
@dtypes
def test_positions_that_hold_the_likelihood_are_computed(
    dtype: torch.dtype, surprise: float, tolerance: float
):
    case = adversarial_case(surprise, dtype)
    exact = case.plain_log_prob()
    found = case.log_prob(tolerance=tolerance)
    rounding = 0.0 if dtype == torch.float64 else 1e-5
    assert abs(found - exact) <= 1.01 * tolerance + rounding
    left_out = math.log(math.exp(-30) + math.exp(-31))
    needed = left_out + surprise > math.log(tolerance)
    assert case.joint(tolerance).isfinite().sum() == (3 if needed else 1)


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch):
    case = random_case(batch=4, steps=6, positions=7)
    whole = [case.log_prob(), *case.gradients(case.log_prob())]
    monkeypatch.setattr(kernels, "CHUNK_FLOATS", 1)
    in_chunks = [case.log_prob(), *case.gradients(case.log_prob())]
    for part, all_at_once in zip(in_chunks, whole, strict=True):
        torch.testing.assert_close(part, all_at_once, rtol=1e-13, atol=1e-13)


def test_nothing_of_size_positions_times_symbols_is_kept_for_the_backward_pass():
    case = random_case(batch=4, steps=10, positions=10, symbols=500)
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: kept.append(t.numel()) or t, lambda t: t
    ):
        case.log_prob(tolerance=1e-6)
    cells = 4 * 10 * 10
    assert sum(kept) < 20 * cells + 2 * case.layer.weight.numel()  # all cells: 500 · cells


@dtypes
@pytest.mark.parametrize("size", [50.0, 1e4])
@pytest.mark.parametrize("tolerance", [0.0, 1e-6])
def test_saturated_inputs_give_finite_values_and_gradients(
    dtype: torch.dtype, size: float, tolerance: float
):
    case = random_case(dtype=dtype)
    with torch.no_grad():
        for tensor in case.inputs:
            tensor.mul_(size)
    log_prob = case.log_prob(tolerance=tolerance)
    assert log_prob.isfinite().all()
    assert all(gradient.isfinite().all() for gradient in case.gradients(log_prob))
