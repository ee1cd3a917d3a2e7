from __future__ import annotations

import numpy as np
import pytest

from hardalign.errors import HardalignError
from hardalign.systems.lattice import IndependentLattice, WeightedLattice, draw
from hardalign.systems.model import Targets, Words
from hardalign.systems.ops.numpy import NumpyOps
from helpers import random_pair, tiny_runtime

HALF = np.log(0.5)


def test_independent_positions() -> None:
    joint = np.log([[[0.1, 0.3], [0.2, 0.05], [1.0, 1.0]]])
    lattice = IndependentLattice(NumpyOps(), joint, np.array([[True, True, False]]))
    np.testing.assert_allclose(np.exp(lattice.log_probs()), [[0.4, 0.25, 1.0]])
    np.testing.assert_allclose(lattice.weights(), [[[0.25, 0.75], [0.8, 0.2], [0.5, 0.5]]])
    assert lattice.best_path()[0, :2].tolist() == [1, 0]
    noise = np.array([[[0.2, 0.3], [0.7, 0.9], [0.0, 0.0]]])
    assert lattice.samples(noise)[0, :2].tolist() == [[0, 1], [0, 1]]


def test_weights_of_a_mix_are_no_distribution_over_alignments() -> None:
    lattice = WeightedLattice(np.array([[HALF]]), np.array([[[0.3, 0.7]]]))
    assert lattice.log_probs().tolist() == [[HALF]]
    assert lattice.weights().tolist() == [[[0.3, 0.7]]]
    assert lattice.best_path().tolist() == [[1]]
    with pytest.raises(HardalignError, match="posterior"):
        lattice.samples(np.zeros((1, 1, 1)))


def test_a_pointer_is_at_one_place_at_a_time() -> None:
    runtime, pair = tiny_runtime("monotonic", dtype=np.float32), random_pair(4, 3, tags=2)
    targets = Targets.of([0], [pair.target])
    lattice = runtime.follow(runtime.read(Words.of([pair])), targets)
    weights, (path,) = lattice.weights(), lattice.best_path()
    assert weights.dtype == np.float32
    assert weights[0].tolist() == np.eye(len(pair.source))[path].tolist()
    assert path[-1] == len(pair.source) - 1  # it ends where the word does
    assert (np.diff(path) >= 0).all()
    assert not np.isin(path, [1, 2]).any()  # which are tags
    with pytest.raises(HardalignError, match="posterior"):
        lattice.samples(np.zeros((1, 4, 1)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_has_no_weight_is_never_drawn(dtype: type) -> None:
    weights = np.array([[0, 0.2, 0, 0.8, 0]], dtype)
    almost = np.nextafter(1.0, 0.0)
    noise = np.array([0.0, 0.19, 0.21, 0.5, almost])
    assert [int(draw(weights, np.array([value]))[0]) for value in noise] == [1, 1, 3, 3, 3]
    # Weights need not sum to 1, and may be as small as they like.
    assert int(draw(weights * dtype(1e-30), np.array([0.5]))[0]) == 3


def test_positions_are_drawn_as_often_as_they_weigh() -> None:
    weights = np.random.default_rng(0).dirichlet(np.ones(4), (2, 3))
    noise = np.random.default_rng(1).random((2, 3, 50_000))
    positions = draw(weights[:, :, None], noise)
    frequencies = (positions[..., None] == np.arange(4)).mean(2)
    error = np.sqrt(weights * (1 - weights) / 50_000)
    assert (np.abs(frequencies - weights) <= 5 * error + 1e-9).all()
