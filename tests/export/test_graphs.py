from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import numpy as np
import onnx
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from conftest import TINY, random_pairs, tiny_model, widened
from export.conftest import Pair, described, exported, run
from hardalign.data.vocabulary import BEGIN, END
from hardalign.export.graphs import encoder_graph, step_graph
from hardalign.export.pair import IR_VERSION, OPSET
from hardalign.networks.batch import Batch
from hardalign.networks.transducer import Transducer
from hardalign.networks.unfed import UnfedState, UnfedTransducer

SHAPES = [("hard", 1, 1), ("hard", 2, 3), ("soft", 1, 1), ("soft", 2, 2), ("hard-sampled", 1, 1)]
"""Systems with the layers of encoder and decoder."""


@cache
def both(system: str, encoder_layers: int, decoder_layers: int) -> tuple[Transducer, Pair]:
    """A model and its graphs. The model is in double precision: the graphs alone make errors."""
    layers = {"encoder_layers": encoder_layers, "decoder_layers": decoder_layers}
    model = tiny_model(system, **layers, scale=2.0)
    with TemporaryDirectory() as folder:
        return model, exported(model, described(system, TINY), Path(folder))


def assert_steps_are_equal(
    model: Transducer, pair: Pair, batch: Batch, symbols: Sequence[int]
) -> None:
    """Assert that both give the same distributions along some target, the same for all rows."""
    memory = pair.read(batch.source, batch.source_lengths)
    state = model.begin(batch)
    for previous in (BEGIN, *symbols):
        chosen = torch.full((len(batch),), previous)
        with torch.inference_mode():
            expected = model.step(state, chosen)
        found = run(pair.step, {"previous": chosen.numpy(), **memory})
        assert np.allclose(found["log_probs"], expected.log_probs, atol=1e-5)
        assert np.allclose(found["alpha"], expected.alignment, atol=1e-5)
        assert np.allclose(np.exp(found["log_probs"]).sum(1), 1, atol=1e-5)
        state = expected.state
        memory |= {name: found[f"next_{name}"] for name in ("h", "c")}


@pytest.mark.parametrize("shape", SHAPES)
@given(
    count=st.integers(1, 4),
    longest=st.integers(1, 9),
    seed=st.integers(0, 1000),
    padding=st.integers(0, 3),
    symbols=st.lists(st.integers(END, len(TINY.target) - 1), max_size=4),
)
def test_steps_equal_those_of_torch(
    shape: tuple[str, int, int],
    count: int,
    longest: int,
    seed: int,
    padding: int,
    symbols: list[int],
) -> None:
    batch = widened(random_pairs(count, longest, seed=seed), padding, seed=seed)
    assert_steps_are_equal(*both(*shape), batch, symbols)


@pytest.mark.parametrize("shape", SHAPES)
@given(longest=st.integers(1, 9), seed=st.integers(0, 1000), padding=st.integers(0, 3))
def test_words_are_read_as_torch_reads_them(
    shape: tuple[str, int, int], longest: int, seed: int, padding: int
) -> None:
    model, pair = both(*shape)
    batch = widened(random_pairs(3, longest, seed=seed), padding, seed=seed)
    found = pair.read(batch.source, batch.source_lengths)
    with torch.inference_mode():
        state = cast(UnfedState, model.begin(batch))
    present = state.memory.present
    assert (found["present"] == present.numpy()).all()
    for name in ("attention_key", "output_key"):
        expected = getattr(state.memory, name)
        assert np.allclose(found[name][present], expected[present], atol=1e-5)
    assert found["h"].shape == found["c"].shape == state.hidden.h.shape
    assert not found["h"].any()
    assert not found["c"].any()


@pytest.mark.parametrize("shape", SHAPES)
@given(longest=st.integers(1, 9), seed=st.integers(0, 1000))
def test_a_word_does_not_depend_on_its_batch(
    shape: tuple[str, int, int], longest: int, seed: int
) -> None:
    _, pair = both(*shape)
    words = random_pairs(3, longest, seed=seed)
    batch = widened(words, 2, seed=seed)
    previous = np.array([BEGIN] * 3)
    together = run(
        pair.step, {"previous": previous, **pair.read(batch.source, batch.source_lengths)}
    )
    for row, word in enumerate(words):
        memory = pair.read([word.source], [len(word.source)])
        alone = run(pair.step, {"previous": previous[:1], **memory})
        assert np.allclose(alone["log_probs"][0], together["log_probs"][row], atol=1e-5)
        width = len(word.source)
        assert np.allclose(alone["alpha"][0], together["alpha"][row, :width], atol=1e-5)
        assert not together["alpha"][row, width:].any()


@pytest.mark.parametrize("shape", SHAPES)
def test_the_graphs_are_valid_and_their_sizes_free(shape: tuple[str, int, int]) -> None:
    model = cast(UnfedTransducer, both(*shape)[0])
    for graph in (encoder_graph(model), step_graph(model)):
        opsets = [onnx.helper.make_opsetid("", OPSET)]
        proto = onnx.helper.make_model(graph, ir_version=IR_VERSION, opset_imports=opsets)
        onnx.checker.check_model(proto, full_check=True)
        for value in (*graph.input, *graph.output):
            sizes = [size.dim_param for size in value.type.tensor_type.shape.dim]
            assert sizes[0] == "batch"
            assert value.doc_string
    encoder = [value.name for value in encoder_graph(model).output]
    assert encoder == [value.name for value in step_graph(model).input][1:]
