"""The encoder, and one step of the decoder, as ONNX nodes.

ONNX has the LSTM as one node that knows about padding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from onnx import TensorProto

from hardalign.config import ModelConfig
from hardalign.data.vocabulary import END
from hardalign.export.nodes import Array, Nodes, integers


@dataclass(frozen=True)
class Network:
    """The weights of a model and its sizes."""

    config: ModelConfig
    tensors: Mapping[str, Array]
    """By their names in the model folder."""
    copied: Sequence[int] = ()
    """The target number of each source number; see ``hardalign.options.copied_symbols``."""
    tags: int = 0
    """How many tags there are beside words; see ``hardalign.options.tags_beside``."""

    @property
    def symbols(self) -> int:
        """How many symbols may be predicted: the end and the letters of the target."""
        return len(self.head("output.bias")) - END

    def head(self, name: str) -> Array:
        """Returns a tensor of the attention and output layers."""
        return self.tensors[f"head.attention.{name}"]


def encoder_states(nodes: Nodes, network: Network, source: str, lengths: str) -> str:
    """Adds the encoder and returns its states [B, J, 2·encoder], which are 0 at padding.

    Args:
        nodes: Of the encoder's graph.
        network: The weights.
        source: [B, J]
        lengths: [B]
    """
    config = network.config
    lengths = nodes("Cast", lengths, to=TensorProto.INT32)
    states = nodes("Gather", network.tensors["encoder.embedding.weight"], source)
    states = nodes("Transpose", states, perm=[1, 0, 2])  # [J, B, ·]
    for layer in range(config.encoder_layers):
        directions = [f"encoder.{name}.{layer}.{{}}_l0" for name in ("forwards", "backwards")]
        states = nodes(
            "LSTM",
            states,
            *_lstm_weights(network, *directions),
            lengths,
            direction="bidirectional",
            hidden_size=config.encoder,
        )  # [J, 2, B, encoder]
        states = nodes("Transpose", states, perm=[0, 2, 1, 3])
        states = nodes("Reshape", states, integers(0, 0, -1))  # [J, B, 2·encoder]
    return nodes("Transpose", states, perm=[1, 0, 2])


def decoder_state(nodes: Nodes, network: Network) -> str:
    """Adds one step of the decoder, from h and c to next_h and next_c.

    Returns:
        Its state [N, decoder] after ``previous``.
    """
    config = network.config
    before = [
        nodes.several(
            "Split",
            [nodes("Transpose", name, perm=[1, 0, 2])],
            [f"{name}_before_{layer}" for layer in range(config.decoder_layers)],
            axis=0,
        )
        for name in ("h", "c")
    ]
    states = nodes("Gather", network.tensors["decoder.embedding.weight"], "previous")
    if network.tags:
        states = nodes("Concat", states, "tag_vector", axis=1)
    states = nodes("Unsqueeze", states, integers(0))  # [1, N, ·]
    after = []
    for layer, hidden in enumerate(zip(*before, strict=True)):
        weights = _lstm_weights(network, f"decoder.lstm.{{}}_l{layer}")
        names = [f"{name}_after_{layer}" for name in ("states", "h", "c")]
        nodes.several("LSTM", [states, *weights, "", *hidden], names, hidden_size=config.decoder)
        after.append(names[1:])  # [1, N, decoder] each
        states = nodes("Squeeze", names[0], integers(1))  # [1, N, decoder]
    for name, layers in zip(("next_h", "next_c"), zip(*after, strict=True), strict=True):
        nodes("Transpose", nodes("Concat", *layers, axis=0), perm=[1, 0, 2], name=name)
    return nodes("Squeeze", states, integers(0))


def _lstm_weights(network: Network, *directions: str) -> list[Array]:
    """Returns W, R and B as ONNX has them.

    Args:
        network: The weights.
        directions: The tensors' names in each direction, {} in place of what they are.
    """

    def stacked(*kinds: str) -> Array:
        return np.stack(
            [
                np.concatenate([_gates(network.tensors[name.format(kind)]) for kind in kinds])
                for name in directions
            ]
        )

    return [stacked("weight_ih"), stacked("weight_hh"), stacked("bias_ih", "bias_hh")]


def _gates(tensor: Array) -> Array:
    """Orders gates as ONNX does: input, output, forget, cell. PyTorch has the output gate last."""
    i, f, c, o = np.split(tensor, 4)
    return np.concatenate([i, o, f, c])
