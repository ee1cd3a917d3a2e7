from __future__ import annotations

import pytest
import torch

import reference
from hardalign.data.vocabulary import END
from hardalign.networks.batch import collate
from hardalign.networks.decoder import Decoder
from helpers import random_pairs, tiny_model

layers = pytest.mark.parametrize("layers", [1, 2])


@layers
def test_equals_the_reference(layers: int):
    model = tiny_model(decoder_layers=layers)
    pairs = random_pairs(6)
    states = model.decoder(collate(pairs).target)
    for row, pair in zip(states, pairs, strict=True):
        expected = torch.stack(reference.decode(reference.parameters(model), pair.target))
        torch.testing.assert_close(row[: len(pair.target)], expected, rtol=0, atol=1e-12)


def test_a_state_knows_nothing_of_its_own_symbol_or_later_ones():
    decoder = tiny_model().decoder
    target = torch.tensor([[4, 5, 6, END]])
    changed = torch.tensor([[4, 5, 4, 5]])
    assert torch.equal(decoder(target)[:, :3], decoder(changed)[:, :3])
    assert not torch.equal(decoder(target)[:, 3], decoder(changed)[:, 3])


def test_dropout_is_on_embeddings_and_on_the_output():
    torch.manual_seed(0)
    decoder = Decoder(9, 6, 5, 1, dropout=0.5)
    seen: list[torch.Tensor] = []
    decoder.lstm.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    states = decoder(torch.randint(4, 9, (5, 6)))
    for values in (*seen, states):
        assert 0.2 < float((values == 0).float().mean()) < 0.8


def test_symbol_dropout_keeps_whole_symbols_from_the_decoder():
    torch.manual_seed(0)
    decoder = Decoder(9, 6, 5, 1, dropout=0.0, symbol_dropout=0.5, tags=2)
    seen: list[torch.Tensor] = []
    decoder.lstm.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    target, tags = torch.randint(4, 9, (8, 6)), torch.ones(8, 2)
    decoder(target, tags)
    decoder.eval()(target, tags)
    shown, whole = (inputs[..., :6] for inputs in seen)
    gone = (shown == 0).all(-1)
    assert 0.3 < float(gone.float().mean()) < 0.7
    torch.testing.assert_close(shown[~gone], 2 * whole[~gone])
    assert all((inputs[..., 6:] == 1).all() for inputs in seen)  # tags are always told
