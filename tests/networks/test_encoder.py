from __future__ import annotations

import pytest
import torch

import reference
from hardalign.networks.batch import collate
from hardalign.networks.encoder import Encoder
from helpers import random_pairs, tiny_model, widened

layers = pytest.mark.parametrize("layers", [1, 2, 3])


@layers
def test_equals_the_reference(layers: int):
    model = tiny_model(encoder_layers=layers)
    pairs = random_pairs(6)
    batch = collate(pairs)
    states = model.encoder(batch.source, batch.source_lengths)
    for row, pair in zip(states, pairs, strict=True):
        expected = torch.stack(reference.encode(reference.parameters(model), pair.source))
        torch.testing.assert_close(row[: len(pair.source)], expected, rtol=0, atol=1e-12)


@layers
def test_padding_is_never_read_before_a_word(layers: int):
    model = tiny_model(encoder_layers=layers)
    pairs = random_pairs(6)
    batch, wide = collate(pairs), widened(pairs, 5, seed=1)
    states = model.encoder(batch.source, batch.source_lengths)
    among_noise = model.encoder(wide.source, wide.source_lengths)
    for k, pair in enumerate(pairs):
        length = len(pair.source)
        torch.testing.assert_close(states[k, :length], among_noise[k, :length], rtol=0, atol=1e-12)


@layers
def test_dropout_is_on_the_input_of_every_layer_and_not_on_the_output(layers: int):
    torch.manual_seed(0)
    encoder = Encoder(9, 3, 4, layers, dropout=0.5)
    seen: list[torch.Tensor] = []
    for lstm in [*encoder.forwards, *encoder.backwards]:
        lstm.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    states = encoder(torch.randint(4, 9, (5, 6)), torch.full((5,), 6))
    assert len(seen) == 2 * layers
    assert all(0.2 < float((inputs == 0).float().mean()) < 0.8 for inputs in seen)
    assert (states != 0).all()


def test_state_dropout_is_on_the_output():
    torch.manual_seed(0)
    encoder = Encoder(9, 3, 4, 2, dropout=0.0, state_dropout=0.5)
    source, lengths = torch.randint(4, 9, (5, 6)), torch.full((5,), 6)
    states, whole = encoder(source, lengths), encoder.eval()(source, lengths)
    kept = states != 0
    assert 0.3 < float(kept.float().mean()) < 0.7
    torch.testing.assert_close(states[kept], 2 * whole[kept])
