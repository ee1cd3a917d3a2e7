"""The recursions of an HMM lattice against all paths, one by one."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardalign.data.vocabulary import END
from hardalign.systems.lattice import HMMLattice
from hardalign.systems.ops.numpy import NumpyOps
from systems.plain import Array, Plain, enumerated


def random_lattices(
    pairs: int, steps: int, positions: int, *, monotone: bool, seed: int = 0
) -> tuple[HMMLattice, list[Plain]]:
    """Chains of all lengths up to some, padded, and what is true of each."""
    generator = np.random.default_rng(seed)
    lengths = generator.integers(1, steps + 1, pairs)
    widths = generator.integers(1, positions + 1, pairs)
    lengths[0], widths[0] = steps, positions
    moves = np.zeros((steps, pairs, positions, positions))
    emission = np.zeros((pairs, steps, positions))
    expected = []
    for p, (length, width) in enumerate(zip(lengths, widths, strict=True)):
        # One may come from padding, where nobody is, but never go there.
        own = generator.gamma(0.5, size=(steps, positions, width))
        if monotone:
            own[:, :width] *= np.tri(width).T
        moves[:, p, :, :width] = own / own.sum(-1, keepdims=True)
        emission[p, :length, :width] = generator.random((length, width))
        emission[p, length:] = 1
        tables = [np.stack([row, 1 - row], 1) for row in emission[p, :length, :width]]
        rows = [move[:width, :width] for move in moves[:length, p]]
        expected.append(enumerated(rows, tables, [END] * length))
    with np.errstate(divide="ignore"):
        log_moves, log_emission = np.log(moves), np.log(emission)
    mask = np.arange(steps) < lengths[:, None]
    moved = log_moves.swapaxes(0, 1)
    return HMMLattice(NumpyOps(), lambda steps: moved[:, steps], log_emission, mask), expected


@pytest.mark.parametrize("monotone", [False, True])
@given(st.integers(1, 4), st.integers(1, 5), st.integers(0, 10**6))
def test_equals_the_enumeration_of_paths(
    monotone: bool, steps: int, positions: int, seed: int
) -> None:
    lattice, expected = random_lattices(4, steps, positions, monotone=monotone, seed=seed)
    log_probs, weights, path = lattice.log_probs(), lattice.weights(), lattice.best_path()
    for p, own in enumerate(expected):
        length, width = own.weights.shape
        np.testing.assert_allclose(log_probs[p, :length], own.log_probs, rtol=0, atol=1e-10)
        assert (log_probs[p, length:] == 0).all()
        np.testing.assert_allclose(weights[p, :length, :width], own.weights, rtol=0, atol=1e-10)
        assert (weights[p, :length, width:] == 0).all()
        assert own.paths[tuple(path[p, :length].tolist())] == pytest.approx(max(own.paths.values()))


@pytest.mark.parametrize("monotone", [False, True])
def test_samples_are_as_frequent_as_they_are_probable(monotone: bool) -> None:
    lattice, expected = random_lattices(3, 3, 3, monotone=monotone, seed=1)
    count = 40_000
    paths = lattice.samples(np.random.default_rng(0).random((3, 3, count)))
    assert paths.shape == (3, 3, count)
    for drawn, own in zip(paths, expected, strict=True):
        frequencies = Counter(map(tuple, drawn[: len(own.weights)].T.tolist()))
        assert all(own.paths[path] > 0 for path in frequencies)
        for path, share in own.paths.items():
            error = (share * (1 - share) / count) ** 0.5
            assert frequencies[path] / count == pytest.approx(share, abs=5 * error + 1e-9)


def test_noise_at_its_ends_draws_what_is_possible() -> None:
    lattice, expected = random_lattices(2, 4, 4, monotone=True, seed=2)
    for value in (0.0, np.nextafter(1.0, 0.0)):
        paths = lattice.samples(np.full((2, 4, 1), value))[..., 0]
        for path, own in zip(paths, expected, strict=True):
            assert own.paths[tuple(path[: len(own.weights)].tolist())] > 0


def test_a_long_chain_neither_overflows_nor_loses_its_sum() -> None:
    steps, positions = 2000, 3
    generator = np.random.default_rng(0)
    moves = generator.dirichlet(np.ones(positions), positions)
    emission = np.full((1, steps, positions), -700.0)
    moved = np.log(moves)[None, None]
    lattice = HMMLattice(NumpyOps(), lambda _: moved, emission, np.ones((1, steps), bool))
    np.testing.assert_allclose(lattice.log_probs(), -700.0)
    weights: Array = lattice.weights()
    np.testing.assert_allclose(weights.sum(-1), 1.0)
    # Nothing is emitted anywhere in particular: where one is, is where the moves lead.
    share = moves[0]
    for i in range(3):
        np.testing.assert_allclose(weights[0, i], share)
        share = share @ moves
