from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardalign.data.vocabulary import BEGIN, END, LENGTH_LIMIT, UNKNOWN, Encoded
from hardalign.systems.export import export_onnx, record
from hardalign.systems.ops import onnx as onnx_ops
from helpers import TINY, random_pair, random_pairs, tiny_description, tiny_tensors
from systems.onnx_helpers import VARIANTS, Pair, following, run
from systems.onnx_reference import Reference

# There are twenty shapes, and every example is of several words and steps.
few = settings(max_examples=10)
every_shape = pytest.mark.parametrize(
    "shape", [(system, layers) for system in VARIANTS for layers in (1, 2)], ids=str
)
Shape = tuple[str, int]
"""A system, and the layers of its encoder and decoder."""


@cache
def models(shape: Shape) -> tuple[Reference, Pair]:
    """A model in both forms."""
    system, layers = shape
    description = tiny_description(system, layers=layers)
    tensors = tiny_tensors(system, layers=layers, scale=2.0)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "m.onnx"
        export_onnx(tensors, description, path)
        return Reference(description.model, description.vocabulary, tensors), Pair(path)


@every_shape
@few
@given(
    count=st.integers(1, 4),
    longest=st.integers(1, 9),
    seed=st.integers(0, 1000),
    padding=st.integers(0, 3),
    symbols=st.lists(st.integers(END, len(TINY.target) - 1), max_size=6),
)
def test_steps_equal_the_reference(
    shape: Shape, count: int, longest: int, seed: int, padding: int, symbols: list[int]
) -> None:
    reference, pair = models(shape)
    words = random_pairs(count, longest, seed=seed)
    state = pair.read(words, padding, seed)
    steps = reference.steps(words, symbols)
    for previous, (log_probs, alpha) in zip([BEGIN, *symbols], steps, strict=True):
        result = run(pair.step, {"previous": np.full(count, previous), **state})
        assert np.allclose(result["log_probs"], log_probs, rtol=0, atol=1e-5)
        assert np.allclose(np.exp(result["log_probs"]).sum(1), 1, rtol=0, atol=1e-5)
        width = alpha.shape[1]
        assert np.allclose(result["alpha"][:, :width], alpha, rtol=0, atol=1e-5)
        assert not result["alpha"][:, width:].any()
        assert all(np.isfinite(value).all() for value in result.values())
        state = following(state, result)


@every_shape
def test_greedy_predictions_equal_the_reference(shape: Shape) -> None:
    reference, pair = models(shape)
    words = random_pairs(20, 7, seed=1)
    predictions = reference.greedy(words)
    for word, expected in zip(words, predictions, strict=True):
        symbols, log_prob = pair.greedy(word, LENGTH_LIMIT * len(word.source))
        assert symbols == expected.symbols
        assert np.isclose(log_prob, expected.log_prob, rtol=0, atol=1e-5 * (len(symbols) + 1))
    assert len({tuple(expected.symbols) for expected in predictions}) > 3


@every_shape
@few
@given(longest=st.integers(1, 9), seed=st.integers(0, 1000))
def test_a_word_does_not_depend_on_its_batch(shape: Shape, longest: int, seed: int) -> None:
    _, pair = models(shape)
    words = random_pairs(3, longest, seed=seed)
    together = pair.read(words, 2, seed)
    alone = [pair.read([word]) for word in words]
    for previous in (BEGIN, END + 1, END + 2):
        batch = run(pair.step, {"previous": np.full(3, previous), **together})
        for row, word in enumerate(words):
            single = run(pair.step, {"previous": np.array([previous]), **alone[row]})
            assert np.allclose(single["log_probs"][0], batch["log_probs"][row], atol=1e-5)
            width = len(word.source)
            assert np.allclose(single["alpha"][0], batch["alpha"][row, :width], atol=1e-5)
            assert not batch["alpha"][row, width:].any()
            alone[row] = following(alone[row], single)
        together = following(together, batch)


def test_places_are_counted_from_the_first_letter_also_after_unknown_tags() -> None:
    reference, pair = models(("hard-prior", 1))
    word = random_pair(4, 0, seed=3)
    source = [BEGIN, UNKNOWN, UNKNOWN, *word.source[1:]]
    as_tags, as_letters = Encoded(source, 2, [END]), Encoded(source, 0, [END])
    results = []
    for read in (as_tags, as_letters):
        result = run(pair.step, {"previous": np.array([BEGIN]), **pair.read([read])})
        ((log_probs, _alpha),) = reference.steps([read], [])
        assert np.allclose(result["log_probs"], log_probs, atol=1e-5)
        results.append(log_probs)
    assert not np.allclose(*results, atol=1e-3)


@pytest.mark.parametrize("system", ["hard-hmm", "hard-monotonic"])
def test_a_long_chain_stays_finite(system: str) -> None:
    reference, pair = models((system, 1))
    words = [random_pair(120, 0, seed=4), random_pair(2, 0, seed=5)]
    symbols = [END + 1 + k % 3 for k in range(80)]
    state = pair.read(words)
    steps = reference.steps(words, symbols)
    for previous, (log_probs, _alpha) in zip([BEGIN, *symbols], steps, strict=True):
        result = run(pair.step, {"previous": np.full(2, previous), **state})
        assert np.allclose(result["log_probs"], log_probs, rtol=0, atol=1e-4)
        state = following(state, result)
    assert np.isfinite(state["cells"]).all()


def recorded(system: str, layers: int = 1) -> tuple[onnx.ModelProto, onnx.ModelProto]:
    description = tiny_description(system, layers=layers)
    tensors = tiny_tensors(system, layers=layers)
    return record(description.model, description.vocabulary, tensors)


@every_shape
def test_the_graphs_are_valid_and_their_sizes_free(shape: Shape) -> None:
    system, layers = shape
    for model in recorded(system, layers):
        onnx.checker.check_model(model, full_check=True)
        for value in (*model.graph.input, *model.graph.output):
            sizes = [size.dim_param for size in value.type.tensor_type.shape.dim]
            assert sizes[0] == "batch"
            assert value.doc_string


@pytest.mark.parametrize("system", VARIANTS)
def test_all_systems_are_used_in_the_same_way(system: str) -> None:
    encoder, step = (model.graph for model in recorded(system))
    assert [value.name for value in encoder.input] == ["source", "lengths", "tags"]
    state = {value.name: value for value in encoder.output}
    assert ["previous", *state] == [value.name for value in step.input]
    assert [value.name for value in step.output[:2]] == ["log_probs", "alpha"]
    for value in step.output[2:]:
        assert value.type == state[value.name.removeprefix("next_")].type


@pytest.mark.parametrize("system", ["hard-hmm copying beside", "soft"])
def test_weights_exact_in_16_bits_are_stored_so_and_change_no_answer(
    system: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tensors = {
        name: tensor.astype(np.float16).astype(np.float32)
        for name, tensor in tiny_tensors(system, scale=2.0).items()
    }
    half, single = tmp_path / "half.onnx", tmp_path / "single.onnx"
    export_onnx(tensors, tiny_description(system), half)
    monkeypatch.setattr(onnx_ops, "SMALL", 1 << 30)  # no constant is large enough
    export_onnx(tensors, tiny_description(system), single)
    numbers = [
        sum(len(one.raw_data) for one in onnx.load(file).graph.initializer)
        for file in (half, single)
    ]
    assert numbers[0] < 0.65 * numbers[1]  # some are indices, and some small
    words, (first, second) = random_pairs(4, 7), (Pair(half), Pair(single))
    state, other = first.read(words), second.read(words)
    for previous in (BEGIN, END + 1, END + 2):
        assert all(np.array_equal(state[name], other[name]) for name in other)
        inputs = {"previous": np.full(len(words), previous)}
        one, two = run(first.step, {**inputs, **state}), run(second.step, {**inputs, **other})
        assert all(np.array_equal(one[name], two[name]) for name in two)
        state, other = following(state, one), following(other, two)
