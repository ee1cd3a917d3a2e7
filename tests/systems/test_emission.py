from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from hardalign.config import ModelConfig
from hardalign.systems.ops import Output
from hardalign.systems.ops import torch_kernels as kernels
from hardalign.systems.ops.torch import TorchOps
from hardalign.systems.ops.torch_kernels import log_emission

Cells = tuple[Tensor, Tensor, Tensor]

PRECISION = {torch.float32: 1e-6, torch.float64: 1e-12}
dtypes = pytest.mark.parametrize("dtype", PRECISION)


@dataclass
class Case:
    """Random arguments of the operation."""

    layer: list[Tensor]
    """Query [B, I, D], key [B, J, D], weight [V, D], bias [V]; of a gate weight [1, D], bias [1]"""
    cells: Cells
    target: Tensor
    copied: Tensor
    """[B, J]"""

    def output(self, *layer: Tensor) -> Output:
        query, key, weight, bias, *gate = layer
        copying = (gate[0].t(), gate[1], self.copied) if gate else ()
        return Output(query, key, None, None, weight.t(), bias, *copying)

    def log_prob(self, tolerance: float = 0.0) -> Tensor:
        return log_emission(self.output(*self.layer), self.cells, self.target, tolerance)

    def plain(self) -> Tensor:
        """By the version to read first, in double precision: 1 − g loses digits that log g has."""
        output = self.output(*(tensor.double() for tensor in self.layer))
        log_probs = TorchOps(ModelConfig()).log_emission(output)
        return log_probs[(*self.cells, self.target)].to(self.layer[0].dtype)

    def gradients(self, output: Tensor, outer: Tensor) -> list[Tensor]:
        return list(torch.autograd.grad(output, self.layer, outer))


def random_case(
    cells: int,
    *,
    words: int = 2,
    queries: int = 3,
    keys: int = 4,
    width: int = 5,
    symbols: int = 6,
    copying: bool = False,
    dtype: torch.dtype = torch.float64,
    seed: int = 0,
) -> Case:
    """A case in which a row may occur in several cells, as one row does in a mixture."""
    generator = torch.Generator().manual_seed(seed)
    shapes = [(words, queries, width), (words, keys, width), (symbols, width), (symbols,)]
    shapes += [(1, width), (1,)] if copying else []
    layer = [torch.randn(shape, generator=generator, dtype=dtype) for shape in shapes]
    word, step, position, target = (
        torch.randint(size, (cells,), generator=generator)
        for size in (words, queries, keys, symbols)
    )
    layer = [tensor.requires_grad_() for tensor in layer]
    copied = torch.randint(-2, symbols, (words, keys), generator=generator)
    return Case(layer, (word, step, position), target, copied)


def spread(cells: int) -> Tensor:
    """Incoming gradients of both signs and many sizes below 1, as posteriors have them."""
    sign = torch.tensor([-1.0, 0.5], dtype=torch.float64).repeat(cells)[:cells]
    return sign * torch.logspace(-2, -14, cells, dtype=torch.float64)


@pytest.mark.parametrize("copying", [False, True])
def test_gradcheck(copying: bool):
    case = random_case(30, symbols=3, copying=copying)
    assert torch.autograd.gradcheck(
        lambda *layer: log_emission(case.output(*layer), case.cells, case.target), case.layer
    )


@dtypes
@given(
    cells=st.integers(1, 200),
    words=st.integers(1, 3),
    queries=st.integers(1, 9),
    keys=st.integers(1, 9),
    width=st.integers(1, 9),
    symbols=st.integers(1, 9),
    copying=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_equals_the_plain_version(dtype: torch.dtype, cells: int, **sizes: int):
    case = random_case(cells, dtype=dtype, **sizes)
    near = {"rtol": PRECISION[dtype], "atol": PRECISION[dtype] * 3}
    torch.testing.assert_close(case.log_prob(), case.plain(), **near)
    outer = torch.randn(cells, dtype=dtype) / cells
    found = case.gradients(case.log_prob(), outer)
    expected = case.gradients(case.plain(), outer)
    for gradient, wanted in zip(found, expected, strict=True):
        torch.testing.assert_close(gradient, wanted, **near)


@pytest.mark.parametrize("copying", [False, True])
def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch, copying: bool):
    case = random_case(500, copying=copying)
    outer = spread(500)

    def everything() -> list[Tensor]:
        log_prob = case.log_prob()
        return [log_prob, *case.gradients(log_prob, outer)]

    whole = everything()
    chunks = []
    real = kernels._chunks
    monkeypatch.setattr(kernels, "CHUNK_FLOATS", 1)
    monkeypatch.setattr(kernels, "_chunks", lambda *a: chunks.append(list(real(*a))) or chunks[-1])
    for in_chunks, at_once in zip(everything(), whole, strict=True):
        torch.testing.assert_close(in_chunks, at_once, rtol=1e-13, atol=1e-13)
    assert min(map(len, chunks)) > 5  # it was really cut


@pytest.mark.parametrize("tolerance", [1e-9, 1e-6, 1e-3])
def test_the_backward_pass_leaves_out_what_is_within_tolerance(tolerance: float):
    case = random_case(200, words=1, queries=9, keys=9)
    outer = spread(200)
    exact = case.gradients(case.plain(), outer)
    found = case.gradients(case.log_prob(tolerance), outer)
    dropped = outer.abs() <= tolerance * outer.abs().max()
    assert dropped.any()
    kept_only = case.gradients(case.plain(), outer.masked_fill(dropped, 0.0))
    # A cell's gradient is at most this much larger than what comes in.
    factor = max(2.0, 2 * float(case.layer[2].detach().abs().max()))
    bound = factor * float(outer[dropped].abs().sum())
    for gradient, whole, rest in zip(found, exact, kept_only, strict=True):
        torch.testing.assert_close(gradient, rest, rtol=0, atol=1e-14)
        torch.testing.assert_close(gradient, whole, rtol=0, atol=bound)


def test_what_the_backward_pass_leaves_out_does_not_depend_on_other_words():
    """A word whose loss weighs little beside another's keeps its gradient."""
    case = random_case(300, words=3)
    scale = torch.tensor([1.0, 1e-9, 1e9], dtype=torch.float64)[case.cells[0]]
    outer = spread(300)[torch.randperm(300, generator=torch.Generator().manual_seed(0))]
    (query, *_) = case.gradients(case.log_prob(1e-6), scale * outer)
    (exact, *_) = case.gradients(case.plain(), scale * outer)
    for word, size in enumerate((1.0, 1e-9, 1e9)):
        own = case.cells[0] == word
        largest = float((size * outer[own]).abs().max())
        torch.testing.assert_close(query[word], exact[word], rtol=0, atol=300 * 1e-6 * 10 * largest)
        assert exact[word].abs().max() > 0.01 * largest


def test_tolerance_changes_no_value():
    case = random_case(50)
    assert torch.equal(case.log_prob(0.5), case.log_prob())


@pytest.mark.parametrize("tolerance", [0.0, 1e-6])
def test_no_cells(tolerance: float):
    case = random_case(0)
    log_prob = case.log_prob(tolerance)
    assert log_prob.shape == (0,)
    assert all(not gradient.any() for gradient in case.gradients(log_prob, torch.zeros(0).double()))


SATURATED: list[tuple[float, float]] = [
    (1e4, 1e4),
    (1e4, -1e4),
    (-1e4, -1e4),
    (1e4, 0.5),
    (-0.5, -1e4),
    (80.0, -80.0),
    (100.0, -50.0),
    (-400.0, 399.0),
    (1e4, -9999.0),
]
saturated = pytest.mark.parametrize(("query", "key"), SATURATED)


def saturated_case(query: float, key: float, dtype: torch.dtype) -> Case:
    case = random_case(12, words=1, queries=1, keys=1, dtype=dtype)
    with torch.no_grad():
        case.layer[0].fill_(query)
        case.layer[1].fill_(key)
    return case


@dtypes
@saturated
def test_saturated_inputs_give_finite_values_and_gradients(
    dtype: torch.dtype, query: float, key: float
):
    case = saturated_case(query, key, dtype)
    log_prob = case.log_prob()
    values = [log_prob, *case.gradients(log_prob, torch.ones_like(log_prob))]
    assert all(value.isfinite().all() for value in values)


@dtypes
@saturated
def test_saturated_inputs_equal_the_plain_version(dtype: torch.dtype, query: float, key: float):
    case = saturated_case(query, key, dtype)
    outer = torch.ones(12, dtype=dtype)
    near = {"rtol": PRECISION[dtype], "atol": PRECISION[dtype] * 10}
    torch.testing.assert_close(case.log_prob(), case.plain(), **near)
    found = case.gradients(case.log_prob(), outer)
    expected = case.gradients(case.plain(), outer)
    for gradient, wanted in zip(found, expected, strict=True):
        torch.testing.assert_close(gradient, wanted, **near)


class LargestTensor(TorchDispatchMode):
    """Remembers the most numbers that any tensor computed inside has held."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers = 0

    def __torch_dispatch__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        for tensor in out if isinstance(out, (tuple, list)) else [out]:
            if isinstance(tensor, Tensor):
                self.numbers = max(self.numbers, tensor.numel())
        return out


def test_memory_is_bounded_by_the_chunk(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(kernels, "CHUNK_FLOATS", 8192)
    cells, width, symbols = 5000, 10, 50
    case = random_case(cells, queries=70, keys=70, width=width, symbols=symbols)
    kept = 0

    def note(tensor: Tensor) -> Tensor:
        nonlocal kept
        kept += tensor.numel()
        return tensor

    with LargestTensor() as largest, torch.autograd.graph.saved_tensors_hooks(note, lambda t: t):
        log_prob = case.log_prob()
        case.gradients(log_prob, torch.ones_like(log_prob))
    assert largest.numbers <= 8192
    arguments = sum(tensor.numel() for tensor in case.layer)
    assert kept <= arguments + 4 * cells  # and the four index lists
