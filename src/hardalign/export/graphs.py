"""A model as two ONNX graphs: the encoder, run once for each word, and one step of the decoder.

They are written node by node and not traced from the modules. They are small; ONNX has the LSTM as
one node that knows about padding; and so no size is fixed by an example. The mixture of hard
attention is summed over all positions, with none left out.
"""

from __future__ import annotations

import torch
from onnx import GraphProto, TensorProto, ValueInfoProto
from torch import Tensor, nn

from hardalign.export.nodes import INTEGERS, NUMBERS, TRUTHS, Nodes, integers, value
from hardalign.networks.hard import HardHead
from hardalign.networks.unfed import UnfedTransducer


def encoder_graph(model: UnfedTransducer) -> GraphProto:
    """From source words to all that the first step needs but its symbol, by the same names."""
    nodes, attention, lstm = Nodes(), model.head.attention, model.decoder.lstm
    states = _encoded(nodes, model)  # [B, J, 2·hidden]
    scored = nodes("MatMul", states, attention.score.weight.T)
    nodes("Add", scored, attention.score.bias, name="attention_key")
    nodes("MatMul", states, attention.combine.weight[:, lstm.hidden_size :].T, name="output_key")
    longest = nodes("Gather", nodes("Shape", "source"), torch.tensor(1))
    position = nodes("Range", torch.tensor(0), longest, torch.tensor(1))  # [J]
    nodes("Less", position, nodes("Unsqueeze", "lengths", integers(1)), name="present")
    size = integers(lstm.num_layers, lstm.hidden_size)
    size_of_all = nodes("Concat", nodes("Shape", "lengths"), size, axis=0)
    nodes("ConstantOfShape", size_of_all, name="h")
    nodes("ConstantOfShape", size_of_all, name="c")
    inputs = [
        value("source", INTEGERS, ("batch", "length"), "begin, tags, letters, end, padding"),
        value("lengths", INTEGERS, ("batch",), "symbols of each word, begin and end included"),
    ]
    return nodes.finish("encoder", inputs, _memory(model))


def step_graph(model: UnfedTransducer) -> GraphProto:
    """From the symbol chosen last to the distribution of the next one."""
    nodes, attention = Nodes(), model.head.attention
    decoded = _decoded(nodes, model)  # [N, hidden]
    scores = nodes("MatMul", "attention_key", nodes("Unsqueeze", decoded, integers(2)))
    scores = nodes("Squeeze", scores, integers(2))  # [N, J]
    scores = nodes("Where", "present", scores, torch.tensor(-torch.inf))
    log_alpha = nodes("LogSoftmax", scores, axis=-1)
    nodes("Exp", log_alpha, name="alpha")
    half = attention.combine.weight[:, : model.decoder.lstm.hidden_size]
    query = nodes("Add", nodes("MatMul", decoded, half.T), attention.combine.bias)
    query = nodes("Unsqueeze", query, integers(1))  # [N, 1, d_s]
    if isinstance(model.head, HardHead):
        emission = _emission(nodes, model, query, "output_key")  # [N, J, V]
        joint = nodes("Add", emission, nodes("Unsqueeze", log_alpha, integers(2)))
        nodes("ReduceLogSumExp", joint, axes=[1], keepdims=0, name="log_probs")
    else:
        context = nodes("MatMul", nodes("Unsqueeze", "alpha", integers(1)), "output_key")
        emission = _emission(nodes, model, query, context)  # [N, 1, V]
        nodes("Squeeze", emission, integers(1), name="log_probs")
    columns = "of the next symbol: column 0 is the end, column k the letter numbered end + k"
    outputs = [
        value("log_probs", NUMBERS, ("batch", len(attention.output_bias)), columns),
        value("alpha", NUMBERS, ("batch", "length"), "weights of the source symbols"),
        *_hidden(model, "next_"),
    ]
    previous = value("previous", INTEGERS, ("batch",), "the symbol chosen last; at first, begin")
    return nodes.finish("step", [previous, *_memory(model)], outputs)


def _encoded(nodes: Nodes, model: UnfedTransducer) -> str:
    """[B, J, 2·hidden] the encoder's states, 0 at padding."""
    encoder = model.encoder
    lengths = nodes("Cast", "lengths", to=TensorProto.INT32)
    states = nodes("Gather", encoder.embedding.weight, "source")
    states = nodes("Transpose", states, perm=[1, 0, 2])  # [J, B, ·]
    for ahead, back in zip(encoder.forwards, encoder.backwards, strict=True):
        states = nodes(
            "LSTM",
            states,
            *_lstm_weights((ahead, 0), (back, 0)),
            lengths,
            direction="bidirectional",
            hidden_size=ahead.hidden_size,
        )  # [J, 2, B, hidden]
        states = nodes("Transpose", states, perm=[0, 2, 1, 3])
        states = nodes("Reshape", states, integers(0, 0, -1))  # [J, B, 2·hidden]
    return nodes("Transpose", states, perm=[1, 0, 2])


def _decoded(nodes: Nodes, model: UnfedTransducer) -> str:
    """[N, hidden] the decoder's state after ``previous``; writes next_h and next_c."""
    lstm = model.decoder.lstm
    before = [
        nodes.several(
            "Split",
            [nodes("Transpose", name, perm=[1, 0, 2])],
            [f"{name}_before_{layer}" for layer in range(lstm.num_layers)],
            axis=0,
        )
        for name in ("h", "c")
    ]
    states = nodes("Gather", model.decoder.embedding.weight, "previous")
    states = nodes("Unsqueeze", states, integers(0))  # [1, N, ·]
    after = []
    for layer, hidden in enumerate(zip(*before, strict=True)):
        inputs = (states, *_lstm_weights((lstm, layer)), "", *hidden)
        names = [f"{name}_after_{layer}" for name in ("states", "h", "c")]
        nodes.several("LSTM", inputs, names, hidden_size=lstm.hidden_size)
        after.append(names[1:])  # [1, N, hidden] each
        states = nodes("Squeeze", names[0], integers(1))  # [1, N, hidden]
    for name, layers in zip(("next_h", "next_c"), zip(*after, strict=True), strict=True):
        nodes("Transpose", nodes("Concat", *layers, axis=0), perm=[1, 0, 2], name=name)
    return nodes("Squeeze", states, integers(0))


def _emission(nodes: Nodes, model: UnfedTransducer, query: str, seen: str) -> str:
    """[N, ·, V] log softmax(W tanh(S (h ⊕ e))) of what is seen [N, ·, d_s]."""
    attention = model.head.attention
    logits = nodes("MatMul", nodes("Tanh", nodes("Add", query, seen)), attention.output_weight.T)
    return nodes("LogSoftmax", nodes("Add", logits, attention.output_bias), axis=-1)


def _lstm_weights(*directions: tuple[nn.Module, int]) -> list[Tensor]:
    """W, R and B as ONNX has them, of LSTMs and their layers, one for each direction."""
    inputs, recurrent, biases = [], [], []
    for lstm, layer in directions:
        parameter = lstm.get_parameter
        inputs.append(_gates(parameter(f"weight_ih_l{layer}")))
        recurrent.append(_gates(parameter(f"weight_hh_l{layer}")))
        pair = (parameter(f"bias_{kind}_l{layer}") for kind in ("ih", "hh"))
        biases.append(torch.cat([_gates(bias) for bias in pair]))
    return [torch.stack(parts) for parts in (inputs, recurrent, biases)]


def _gates(parameter: Tensor) -> Tensor:
    """Input, output, forget, cell is the order of ONNX; PyTorch's has the output gate last."""
    i, f, c, o = parameter.chunk(4)
    return torch.cat([i, o, f, c])


def _memory(model: UnfedTransducer) -> list[ValueInfoProto]:
    """What the encoder hands to the step."""
    hidden, joint = model.decoder.lstm.hidden_size, model.head.attention.combine.out_features
    return [
        value("attention_key", NUMBERS, ("batch", "length", hidden), "T e_j"),
        value("output_key", NUMBERS, ("batch", "length", joint), "the encoder half of S(h ⊕ e)"),
        value("present", TRUTHS, ("batch", "length"), "false at padding"),
        *_hidden(model),
    ]


def _hidden(model: UnfedTransducer, prefix: str = "") -> list[ValueInfoProto]:
    """The decoder's memory between steps."""
    shape = ("batch", model.decoder.lstm.num_layers, model.decoder.lstm.hidden_size)
    return [value(prefix + name, NUMBERS, shape, "the decoder's memory") for name in ("h", "c")]
