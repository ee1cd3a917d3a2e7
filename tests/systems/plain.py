"""What every system should say of one pair: loops over the paper's equations, paths enumerated.

``reference`` has the equations. Here alignments are enumerated, a dictionary of paths grows
with every step, and probabilities are sums over it: no recursion, no log space, no padding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

import reference
from hardalign import aligner
from hardalign.aligner import aligner_pair, oracle_actions
from hardalign.data.vocabulary import BEGIN, END, Encoded
from hardalign.model_folder import Tensors

Array = NDArray[Any]
Path = tuple[int, ...]


@dataclass(frozen=True)
class Plain:
    """What a system says of one pair."""

    log_probs: Array
    """[I] log p(y_i | y_<i, x)."""
    distributions: Array
    """[I, V] of the next symbol."""
    alpha: Array
    """[I, J]"""
    weights: Array
    """[I, J] posterior, attention weights or path."""
    paths: dict[Path, float]
    """p(a | x, y) of every alignment, where there is such a thing."""

    @property
    def best_path(self) -> Path:
        return max(self.paths, key=self.paths.__getitem__)


def plain(
    system: str,
    tensors: Tensors,
    pair: Encoded,
    copied: Mapping[int, int] = MappingProxyType({}),
    tags: Sequence[int] = (),
) -> Plain:
    """Computes everything for one pair, with tags beside it; some numbers are copied to others."""
    system, *options = system.split()
    if "beside" in options and pair.tags:
        letters = replace(pair, source=[BEGIN, *pair.source[1 + pair.tags :]], tags=0)
        tags = pair.source[1 : 1 + pair.tags]
        return _with_tags(plain(system, tensors, letters, copied, tags), pair.tags)
    p = {name: torch.from_numpy(np.asarray(tensor, np.float64)) for name, tensor in tensors.items()}
    fed = "feed" in system
    wide = p["decoder.embedding.weight"].shape[1] * 2
    parted = not fed and p["decoder.lstm.weight_ih_l0"].shape[1] == wide
    beside = tags if parted else None
    if system.startswith("soft"):
        return _soft(p, system, pair, beside)
    if system == "monotonic":
        return _pointed(p, tensors["oracle.table"], pair)
    encoded = reference.encode(p, pair.source)
    if fed:
        rule = reference.fed_rule(p, system, encoded, pair.target)
        decoded = reference.fed_decode(p, encoded, pair.target, rule)
        p = reference._without_feeding(p)
    else:
        decoded = reference.decode(p, pair.target, beside)
    moves, emission = [], []
    for i, h in enumerate(decoded):
        if system in ("hard-hmm", "hard-monotonic"):
            monotone = system == "hard-monotonic"
            rows = [reference.move(p, h, encoded, k, monotone) for k in range(len(encoded))]
        elif system == "hard-prior":
            rows = [reference.prior_attention(p, h, encoded, pair.tags, i)] * len(encoded)
        else:
            rows = [reference.attention(p, h, encoded)] * len(encoded)
        moves.append(torch.stack(rows).numpy())
        own = [copied.get(number) for number in pair.source]
        rows = [reference.emission(p, h, e, x) for e, x in zip(encoded, own, strict=True)]
        emission.append(torch.stack(rows).numpy())
    return enumerated(moves, emission, pair.target)


def enumerated(moves: Sequence[Array], emission: Sequence[Array], target: Sequence[int]) -> Plain:
    """Enumerates the alignments of a pair.

    Args:
        moves: For each step [J, J] at [k, j] p(a_i = j | a_{i-1} = k).
        emission: For each step [J, V] p(· | a_i = j).
        target: Numbers of the target's symbols.
    """
    paths: dict[Path, float] = {(): 1.0}
    log_probs, distributions, alphas = [], [], []
    for move, emitted, number in zip(moves, emission, target, strict=True):
        before = sum(paths.values())
        alpha = sum(share * move[(0, *path)[-1]] for path, share in paths.items()) / before
        alphas.append(alpha)
        distributions.append(alpha @ emitted)
        paths = {
            (*path, j): share * move[(0, *path)[-1], j] * emitted[j, number - END]
            for path, share in paths.items()
            for j in range(len(move))
        }
        log_probs.append(np.log(sum(paths.values()) / before))
    total = sum(paths.values())
    paths = {path: share / total for path, share in paths.items()}
    weights = np.zeros(np.shape(alphas))
    for path, share in paths.items():
        weights[range(len(path)), path] += share
    return Plain(np.array(log_probs), np.array(distributions), np.array(alphas), weights, paths)


def _with_tags(plain: Plain, tags: int) -> Plain:
    """The same with columns of tags between begin and letters, which no symbol comes from."""
    alpha, weights = (
        np.insert(array, [1] * tags, 0.0, axis=1) for array in (plain.alpha, plain.weights)
    )
    paths = {tuple(j + tags * (j > 0) for j in path): p for path, p in plain.paths.items()}
    return replace(plain, alpha=alpha, weights=weights, paths=paths)


def _soft(p: reference.Parameters, system: str, pair: Encoded, tags: Sequence[int] | None) -> Plain:
    arguments = (p, system, pair.source, pair.target)
    if system == "soft":
        encoded, decoded = reference.encode(p, pair.source), reference.decode(p, pair.target, tags)
        rows = [reference.soft_distribution(p, h, encoded) for h in decoded]
        alpha = torch.stack([reference.attention(p, h, encoded) for h in decoded]).numpy()
    else:
        rows = reference.fed_distributions(*arguments)
        alpha = reference.fed_alignment(*arguments).numpy()
    distributions = torch.stack(rows).numpy()
    log_probs = np.log([row[n - END] for row, n in zip(distributions, pair.target, strict=True)])
    return Plain(log_probs, distributions, alpha, alpha, {})


class PlainPointer:
    """The pointer as a loop over single actions of one word."""

    def __init__(self, p: reference.Parameters, pair: Encoded) -> None:
        self.p = p
        self.tags = pair.tags
        tags, letters = pair.source[1 : 1 + pair.tags], pair.source[1 + pair.tags :]
        self.encoded = reference.encode(p, [BEGIN, *letters])
        self.features = torch.zeros(0, dtype=torch.float64)
        if "tags.merge.weight" in p:
            embedding = p["encoder.embedding.weight"]
            count = p["tags.merge.weight"].shape[1] // embedding.shape[1]
            first = len(embedding) - count
            slots = [embedding[n] * (n in tags) for n in range(first, len(embedding))]
            self.features = p["tags.merge.weight"] @ torch.cat(slots) + p["tags.merge.bias"]
        layers = list(reference._layers(p, "decoder.lstm.weight_ih_l{}"))
        zero = torch.zeros(p["decoder.lstm.weight_hh_l0"].shape[1], dtype=torch.float64)
        self.memory = [(zero, zero) for _ in layers]
        self.position = 0
        self.step_action = len(p["decoder.embedding.weight"]) - 1

    @property
    def column(self) -> int:
        """Where the pointer is among begin, tags, letters and end."""
        return self.position + (self.tags if self.position else 0)

    def log_probs(self, previous: int) -> Tensor:
        """[V + 1] of the end, the letters and STEP, after one more action."""
        self.position += previous == self.step_action
        x = self.p["decoder.embedding.weight"][previous]
        x = torch.cat([x, self.encoded[self.position], self.features])
        for layer, (h, c) in enumerate(self.memory):
            self.memory[layer] = reference.lstm_cell(self.p, "decoder.lstm", layer, x, h, c)
            x = self.memory[layer][0]
        logits = (self.p["decoder.output.weight"] @ x + self.p["decoder.output.bias"])[END:]
        if self.position == len(self.encoded) - 1:
            never = torch.full((1,), -torch.inf, dtype=torch.float64)
            return torch.cat([logits[:-1].log_softmax(0), never])
        return logits.log_softmax(0)


def oracle_path(table: Array, pair: Encoded, step_action: int) -> list[int]:
    """The actions that the aligner's best path is told as."""
    (path,) = aligner.align(table, [aligner_pair(pair)])
    return oracle_actions(path, pair.target, step_action)


def _pointed(p: reference.Parameters, table: Array, pair: Encoded) -> Plain:
    pointer = PlainPointer(p, pair)
    actions = oracle_path(table, pair, pointer.step_action)
    log_probs, rows, columns, total = [], [], [], 0.0
    for previous, action in zip([BEGIN, *actions], actions, strict=False):
        distribution = pointer.log_probs(previous).exp().numpy()
        total += np.log(distribution[action - END])
        if action != pointer.step_action:
            log_probs.append(total)
            rows.append(distribution)
            columns.append(pointer.column)
            total = 0.0
    weights = np.eye(len(pair.source))[columns]
    return Plain(np.array(log_probs), np.array(rows), weights, weights, {tuple(columns): 1.0})
