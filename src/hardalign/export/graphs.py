"""A model as two ONNX graphs: the encoder, run once for each word, and one step of the decoder.

They are written node by node and not traced from modules, so that no size is fixed by an example
and no torch is needed. The graphs of all systems are used in the same way: every output of the
encoder is an input of the step, and an output next_X of a step is the input X of the next step. All
positions are summed over, with none left out.
"""

from __future__ import annotations

import numpy as np
from onnx import GraphProto, ValueInfoProto

from hardalign.data.vocabulary import END
from hardalign.export.attention import ATTENTIONS, IMPOSSIBLE, Attention, positions
from hardalign.export.layers import Network, decoder_state, encoder_states
from hardalign.export.nodes import INTEGERS, NUMBERS, TRUTHS, Nodes, integer, integers, value
from hardalign.systems import find_system


def encoder_graph(network: Network) -> GraphProto:
    """Returns the graph from source words to all inputs of the first step but ``previous``."""
    nodes, config, attention = Nodes(), network.config, _attention(network)
    source, lengths = _letters(nodes, network) if network.tags else ("source", "lengths")
    states = encoder_states(nodes, network, source, lengths)  # [B, J, 2·encoder]
    scored = nodes("MatMul", states, network.head("score.weight").T)
    nodes("Add", scored, network.head("score.bias"), name="attention_key")
    half = network.head("combine.weight")[:, config.decoder :]
    nodes("MatMul", states, half.T, name="output_key")
    lengths = nodes("Unsqueeze", lengths, integers(1))
    nodes("Less", positions(nodes, "source"), lengths, name="present")
    size = integers(config.decoder_layers, config.decoder)
    size_of_all = nodes("Concat", nodes("Shape", "lengths"), size, axis=0)
    nodes("ConstantOfShape", size_of_all, name="h")
    nodes("ConstantOfShape", size_of_all, name="c")
    if network.copied:
        nodes("Gather", integers(*network.copied) - END, source, name="copied")
    attention.remember(nodes, states)
    inputs = [
        value("source", INTEGERS, ("batch", "length"), "begin, tags, letters, end, padding"),
        value("lengths", INTEGERS, ("batch",), "symbols of each word, begin and end included"),
        value("tags", INTEGERS, ("batch",), "how many of them are tags"),
    ]
    return nodes.finish("encoder", inputs, _state(attention))


def step_graph(network: Network) -> GraphProto:
    """Returns the graph from the symbol chosen last to the distribution of the next one."""
    nodes, attention = Nodes(), _attention(network)
    decoded = decoder_state(nodes, network)  # [N, decoder]
    scores = nodes("MatMul", "attention_key", nodes("Unsqueeze", decoded, integers(2)))
    scores = nodes("Squeeze", scores, integers(2))  # [N, J]
    scores = nodes("Where", "present", scores, IMPOSSIBLE)
    log_alpha = attention.log_alpha(nodes, decoded, scores)
    alpha = nodes("Exp", log_alpha, name=None if network.tags else "alpha")
    if network.tags:
        spread = nodes("GatherElements", alpha, nodes("Max", "column", integer(0)), axis=1)
        nodes("Where", nodes("Less", "column", integer(0)), np.array(0.0), spread, name="alpha")
    half = network.head("combine.weight")[:, : network.config.decoder]
    query = nodes("Add", nodes("MatMul", decoded, half.T), network.head("combine.bias"))
    query = nodes("Unsqueeze", query, integers(1))  # [N, 1, d_s]
    if find_system(network.config.system).head == "hard":
        emission = _emission(nodes, network, query, "output_key")  # [N, J, V]
        joint = nodes("Add", emission, nodes("Unsqueeze", log_alpha, integers(2)))
        nodes("ReduceLogSumExp", joint, axes=[1], keepdims=0, name="log_probs")
        attention.finish(nodes, joint)
    else:
        context = nodes("MatMul", nodes("Unsqueeze", alpha, integers(1)), "output_key")
        emission = _emission(nodes, network, query, context)  # [N, 1, V]
        nodes("Squeeze", emission, integers(1), name="log_probs")
    columns = "of the next symbol: column 0 is the end, column k the letter numbered end + k"
    outputs = [
        value("log_probs", NUMBERS, ("batch", network.symbols), columns),
        value("alpha", NUMBERS, ("batch", "length"), "weights of the source symbols"),
        *_changing(attention, "next_"),
    ]
    previous = value("previous", INTEGERS, ("batch",), "the symbol chosen last; at first, begin")
    return nodes.finish("step", [previous, *_state(attention)], outputs)


def _letters(nodes: Nodes, network: Network) -> tuple[str, str]:
    """Adds the words without their tags [B, J] and their lengths [B], for tags beside words.

    Besides, ``tag_vector``, the sum of the tags' embeddings, and ``column``, where each source
    symbol is among begin, letters and end.
    """
    position, tags = positions(nodes, "source"), nodes("Unsqueeze", "tags", integers(1))
    begin = nodes("Equal", position, integer(0))  # [J]
    after = nodes("Where", begin, integer(0), nodes("Add", position, tags))  # [B, J]
    last = nodes("Unsqueeze", nodes("Sub", "lengths", integer(1)), integers(1))
    letters = nodes("GatherElements", "source", nodes("Min", after, last), axis=1)
    is_tag = nodes("Not", nodes("Greater", position, tags))  # and begin, which is no tag's number
    column = nodes("Where", is_tag, integer(-1), nodes("Sub", position, tags))
    nodes("Where", begin, integer(0), column, name="column")
    embedding = network.tensors["encoder.embedding.weight"]
    known = nodes("Greater", "source", integer(len(embedding) - network.tags - 1))
    known = nodes("Unsqueeze", nodes("And", is_tag, known), integers(2))
    vectors = nodes("Where", known, nodes("Gather", embedding, "source"), np.array(0.0))
    nodes("ReduceSum", vectors, integers(1), keepdims=0, name="tag_vector")
    return letters, nodes("Sub", "lengths", "tags")


def _attention(network: Network) -> Attention:
    return ATTENTIONS[find_system(network.config.system).attention](network)


def _emission(nodes: Nodes, network: Network, query: str, keys: str) -> str:
    """Adds log softmax(W tanh(S (h ⊕ e))) [N, ·, V] for keys [N, ·, d_s], the encoder's half."""
    # No row of W for symbols that are never produced: those before the end.
    weight, bias = (network.head(f"output.{name}")[END:] for name in ("weight", "bias"))
    joint = nodes("Tanh", nodes("Add", query, keys))
    logits = nodes("MatMul", joint, weight.T)
    log_probs = nodes("LogSoftmax", nodes("Add", logits, bias), axis=-1)
    return _copying(nodes, network, joint, log_probs) if network.copied else log_probs


def _copying(nodes: Nodes, network: Network, joint: str, log_probs: str) -> str:
    """Adds log ((1 − g) p + g [y = x_j]) [N, J, V], g being the sigmoid of a gate."""
    gate = nodes("MatMul", joint, network.head("gate.weight").T)
    gate = nodes("Add", gate, network.head("gate.bias"))  # [N, J, 1]
    column = nodes("Unsqueeze", "copied", integers(2))  # [N, J, 1]
    gate = nodes("Where", nodes("Less", column, integer(0)), IMPOSSIBLE, gate)
    copied = nodes("Neg", nodes("Softplus", nodes("Neg", gate)))
    is_copy = nodes("Equal", column, np.arange(network.symbols))
    copied = nodes("Where", is_copy, copied, IMPOSSIBLE)  # [N, J, V]
    generated = nodes("Sub", log_probs, nodes("Softplus", gate))
    larger = nodes("Max", generated, copied)
    smaller = nodes("Min", generated, copied)
    more = nodes("Log", nodes("Add", nodes("Exp", nodes("Sub", smaller, larger)), np.array(1.0)))
    return nodes("Add", larger, more)


def _state(attention: Attention) -> list[ValueInfoProto]:
    """Returns what the encoder hands to the first step."""
    network = attention.network
    hidden, joint = network.config.decoder, len(network.head("combine.bias"))
    values = [
        value("attention_key", NUMBERS, ("batch", "length", hidden), "T e_j"),
        value("output_key", NUMBERS, ("batch", "length", joint), "the encoder half of S(h ⊕ e)"),
        value("present", TRUTHS, ("batch", "length"), "false at padding"),
    ]
    if network.copied:
        meaning = "the column of the symbol that each position may copy; negative where none is"
        values.append(value("copied", INTEGERS, ("batch", "length"), meaning))
    if network.tags:
        meaning = "where each source symbol is among begin, letters and end; -1 for tags"
        width = network.config.embedding
        values.append(value("tag_vector", NUMBERS, ("batch", width), "of a word's tags"))
        values.append(value("column", INTEGERS, ("batch", "length"), meaning))
    return [*values, *attention.fixed(), *_changing(attention)]


def _changing(attention: Attention, prefix: str = "") -> list[ValueInfoProto]:
    """Returns what a step hands to the next one."""
    config = attention.network.config
    shape = ("batch", config.decoder_layers, config.decoder)
    hidden = [value(name, NUMBERS, shape, "the decoder's memory") for name in ("h", "c")]
    values = [*hidden, *attention.changing()]
    for described in values:
        described.name = prefix + described.name
    return values
