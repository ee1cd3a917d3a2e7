"""The paper's equations as plain loops over positions, in float64: the oracle of the tests.

One word at a time, one position at a time, nothing split, masked, chunked, pruned or kept in log
space, and no call into the package: only the names of a model's parameters are shared with it.
Autograd goes through everything, so gradients can be compared as well.

Strings are lists of numbers as the model reads them: a source is begin, tags, letters, end; a
target is letters, end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, product

import torch
from torch import Tensor, nn

Parameters = Mapping[str, Tensor]

BEGIN, END = 1, 3
"""Reserved numbers. Classes of the output softmax start at END: no number below it is output."""


def parameters(model: nn.Module) -> dict[str, Tensor]:
    """A model's parameters by name, in float64, still attached to autograd."""
    return {name: value.double() for name, value in model.named_parameters()}


# Section 4.1 and 4.3: recurrent networks


def lstm_cell(
    p: Parameters, name: str, layer: int, x: Tensor, h: Tensor, c: Tensor
) -> tuple[Tensor, Tensor]:
    """One step of an LSTM with two bias vectors; gates in the order input, forget, cell, output."""
    w_x, w_h = p[f"{name}.weight_ih_l{layer}"], p[f"{name}.weight_hh_l{layer}"]
    b_x, b_h = p[f"{name}.bias_ih_l{layer}"], p[f"{name}.bias_hh_l{layer}"]
    i, f, g, o = (w_x @ x + b_x + w_h @ h + b_h).chunk(4)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def lstm(p: Parameters, name: str, layer: int, inputs: Sequence[Tensor]) -> list[Tensor]:
    """States after each input, from a zero state."""
    h = c = torch.zeros(p[f"{name}.weight_hh_l{layer}"].shape[1], dtype=torch.float64)
    states = []
    for x in inputs:
        h, c = lstm_cell(p, name, layer, x, h, c)
        states.append(h)
    return states


def encode(p: Parameters, source: Sequence[int]) -> list[Tensor]:
    """e_1 … e_|x|: both directions, concatenated."""
    states = [p["encoder.embedding.weight"][number] for number in source]
    for layer in _layers(p, "encoder.forwards.{}.weight_ih_l0"):
        ahead = lstm(p, f"encoder.forwards.{layer}", 0, states)
        back = lstm(p, f"encoder.backwards.{layer}", 0, states[::-1])[::-1]
        states = [torch.cat([a, b]) for a, b in zip(ahead, back, strict=True)]
    return states


def decode(p: Parameters, target: Sequence[int], tags: Sequence[int] | None = None) -> list[Tensor]:
    """h_1 … h_|y|: h_i has read begin and y_<i, each beside the summed tags, if given."""
    previous = [BEGIN, *target[:-1]]
    states = [p["decoder.embedding.weight"][number] for number in previous]
    if tags is not None:
        beside = torch.zeros_like(states[0])
        for number in tags:
            beside = beside + p["encoder.embedding.weight"][number]
        states = [torch.cat([state, beside]) for state in states]
    for layer in _layers(p, "decoder.lstm.weight_ih_l{}"):
        states = lstm(p, "decoder.lstm", layer, states)
    return states


def _layers(p: Parameters, name: str) -> Iterator[int]:
    for layer in count():
        if name.format(layer) not in p:
            return
        yield layer


# Section 4.2: where to look and what to say


def attention(p: Parameters, h: Tensor, encoded: Sequence[Tensor]) -> Tensor:
    """α_1 … α_|x| = softmax over j of h · T e_j (eq. 3)."""
    weight, bias = p["head.attention.score.weight"], p["head.attention.score.bias"]
    return torch.stack([h @ (weight @ e + bias) for e in encoded]).softmax(0)


def emission(p: Parameters, h: Tensor, e: Tensor, own: int | None = None) -> Tensor:
    """softmax(W tanh(S (h ⊕ e))) over the end and the letters.

    When copying, that times 1 − g, plus g for the position's ``own`` symbol, a target number.
    """
    combine, output = "head.attention.combine", "head.attention.output"
    f = (p[f"{combine}.weight"] @ torch.cat([h, e]) + p[f"{combine}.bias"]).tanh()
    logits = p[f"{output}.weight"] @ f + p[f"{output}.bias"]
    symbols = logits[END:].softmax(0)
    if own is None:
        return symbols
    g = 1 / (1 + (-(p["head.attention.gate.weight"][0] @ f + p["head.attention.gate.bias"])).exp())
    copied = torch.zeros_like(symbols)
    copied[own - END] = 1.0
    return (1 - g) * symbols + g * copied


# Sections 3 and 5: α outside the softmax, α inside the softmax


def hard_distribution(p: Parameters, h: Tensor, encoded: Sequence[Tensor]) -> Tensor:
    """p(· | y_<i, x) = Σ_j α_j(i) p(· | j, y_<i, x) (eq. 1d)."""
    alpha = attention(p, h, encoded)
    terms = [alpha[j] * emission(p, h, e) for j, e in enumerate(encoded)]
    return torch.stack(terms).sum(0)


def soft_distribution(p: Parameters, h: Tensor, encoded: Sequence[Tensor]) -> Tensor:
    """p(· | y_<i, x) = p(· | Σ_j α_j(i) e_j, y_<i) (eq. 8)."""
    alpha = attention(p, h, encoded)
    context = torch.stack([alpha[j] * e for j, e in enumerate(encoded)]).sum(0)
    return emission(p, h, context)


HEADS: dict[str, Callable[[Parameters, Tensor, Sequence[Tensor]], Tensor]] = {
    "hard": hard_distribution,
    "soft": soft_distribution,
}
"""The next symbol's distribution by the system's name."""


def distributions(
    p: Parameters, system: str, source: Sequence[int], target: Sequence[int]
) -> list[Tensor]:
    """p(· | y_<i, x) for each i, [V] over the end and the letters."""
    encoded = encode(p, source)
    return [HEADS[system](p, h, encoded) for h in decode(p, target)]


def log_likelihood(
    p: Parameters, system: str, source: Sequence[int], target: Sequence[int]
) -> Tensor:
    """log p(y | x) = Σ_i log p(y_i | y_<i, x)."""
    steps = zip(distributions(p, system, source, target), target, strict=True)
    return torch.stack([distribution[number - END].log() for distribution, number in steps]).sum()


def alphas(p: Parameters, source: Sequence[int], target: Sequence[int]) -> Tensor:
    """[I, J] α_j(i)."""
    encoded = encode(p, source)
    return torch.stack([attention(p, h, encoded) for h in decode(p, target)])


def joint(p: Parameters, source: Sequence[int], target: Sequence[int]) -> Tensor:
    """[I, J] α_j(i) p(y_i | j, y_<i, x), what a hard alignment link contributes."""
    encoded = encode(p, source)
    rows = []
    for h, number in zip(decode(p, target), target, strict=True):
        alpha = attention(p, h, encoded)
        said = [emission(p, h, e)[number - END] for e in encoded]
        rows.append(alpha * torch.stack(said))
    return torch.stack(rows)


def posterior(p: Parameters, source: Sequence[int], target: Sequence[int]) -> Tensor:
    """[I, J] p(a_i = j | x, y) by Bayes' rule."""
    weights = joint(p, source, target)
    return weights / weights.sum(1, keepdim=True)


def alignment(p: Parameters, system: str, source: Sequence[int], target: Sequence[int]) -> Tensor:
    """[I, J] what the system calls its alignment of a given pair."""
    return posterior(p, source, target) if system == "hard" else alphas(p, source, target)


def alignments(
    p: Parameters, source: Sequence[int], target: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], Tensor]]:
    """Each of the |x|^|y| alignments a with p(y, a | x), for hard attention."""
    links = [list(row) for row in joint(p, source, target)]
    for a in product(range(len(source)), repeat=len(target)):
        probability = torch.ones((), dtype=torch.float64)
        for i, j in enumerate(a):
            probability = probability * links[i][j]
        yield a, probability


# Section 5.1: input feeding

Weights = Callable[[int, Tensor, Tensor], Tensor]
"""From the step i, h_i and α(i) to the weights of the source states that are fed back."""


def fed_decode(
    p: Parameters, encoded: Sequence[Tensor], target: Sequence[int], weights: Weights
) -> list[Tensor]:
    """h_1 … h_|y|: h_i has read begin, y_<i and c̄_<i, where c̄_i = f(h_i, c_i) and c̄_0 = 0."""
    p = _without_feeding(p)
    layers = list(_layers(p, "decoder.lstm.weight_ih_l{}"))
    zeros = torch.zeros(p["decoder.lstm.weight_hh_l0"].shape[1], dtype=torch.float64)
    memory = [(zeros, zeros) for _ in layers]
    fed = torch.zeros(p["head.attention.combine.bias"].shape[0], dtype=torch.float64)
    states = []
    for i, number in enumerate([BEGIN, *target[:-1]]):
        h = torch.cat([p["decoder.embedding.weight"][number], fed])
        if "decoder.feeding.merge.weight" in p:
            h = p["decoder.feeding.merge.weight"] @ h + p["decoder.feeding.merge.bias"]
        for layer in layers:
            memory[layer] = lstm_cell(p, "decoder.lstm", layer, h, *memory[layer])
            h = memory[layer][0]
        mix = weights(i, h, attention(p, h, encoded))
        context = torch.stack([mix[j] * e for j, e in enumerate(encoded)]).sum(0)
        combine = torch.cat([h, context])
        fed = p["head.attention.combine.weight"] @ combine + p["head.attention.combine.bias"]
        fed = fed.tanh()
        states.append(h)
    return states


def _without_feeding(p: Parameters) -> Parameters:
    """The parameters of a system with input feeding by the names of those without."""
    names = {}
    for name in p:
        new = name.replace("head.mixture.", "head.")
        if name.startswith("decoder.cells."):
            _, _, layer, matrix = name.split(".")
            new = f"decoder.lstm.{matrix}_l{layer}"
        names[new] = p[name]
    return names


def fed_rule(
    p: Parameters, system: str, encoded: Sequence[Tensor], target: Sequence[int]
) -> Weights:
    """What is fed back in decoding: all states by α, or the best by α or by the posterior."""
    p = _without_feeding(p)

    def one(i: int, h: Tensor, alpha: Tensor) -> Tensor:
        if system == "hard-feed":
            alpha = alpha * torch.stack([emission(p, h, e)[target[i] - END] for e in encoded])
        weights = torch.zeros_like(alpha)
        weights[max(range(len(alpha)), key=lambda j: alpha[j].item())] = 1
        return weights

    return one if system.startswith("hard-feed") else lambda i, h, alpha: alpha


def fed_distributions(
    p: Parameters, system: str, source: Sequence[int], target: Sequence[int]
) -> list[Tensor]:
    """p(· | y_<i, x) of soft attention, or p̃(· | y_<i, x) of hard attention's decoding rule."""
    encoded = encode(p, source)
    states = fed_decode(p, encoded, target, fed_rule(p, system, encoded, target))
    head = hard_distribution if system.startswith("hard-feed") else soft_distribution
    return [head(_without_feeding(p), h, encoded) for h in states]


def fed_log_likelihood(
    p: Parameters, system: str, source: Sequence[int], target: Sequence[int]
) -> Tensor:
    """Σ_i log of the above at y_i."""
    steps = zip(fed_distributions(p, system, source, target), target, strict=True)
    return torch.stack([distribution[number - END].log() for distribution, number in steps]).sum()


def fed_alignment(
    p: Parameters, system: str, source: Sequence[int], target: Sequence[int]
) -> Tensor:
    """[I, J] α(i) of soft attention; α_j(i) p(y_i | j), normalised, of hard attention."""
    encoded = encode(p, source)
    states = fed_decode(p, encoded, target, fed_rule(p, system, encoded, target))
    p = _without_feeding(p)
    rows = []
    for h, number in zip(states, target, strict=True):
        row = attention(p, h, encoded)
        if system.startswith("hard-feed"):
            row = row * torch.stack([emission(p, h, e)[number - END] for e in encoded])
            row = row / row.sum()
        rows.append(row)
    return torch.stack(rows)


def fed_joint(
    p: Parameters, source: Sequence[int], target: Sequence[int], a: Sequence[int]
) -> tuple[Tensor, Tensor]:
    """[I, J] α_j(i) and p(y_i | j, y_<i, x), where the positions ``a`` were fed back."""
    encoded = encode(p, source)
    one_hot = torch.eye(len(source), dtype=torch.float64)
    states = fed_decode(p, encoded, target, lambda i, h, alpha: one_hot[a[i]])
    p = _without_feeding(p)
    looks = [attention(p, h, encoded) for h in states]
    steps = zip(states, target, strict=True)
    emitted = [torch.stack([emission(p, h, e)[n - END] for e in encoded]) for h, n in steps]
    return torch.stack(looks), torch.stack(emitted)


def fed_alignments(
    p: Parameters, source: Sequence[int], target: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], Tensor, Tensor]]:
    """Each alignment a, with a decoder of its own, and its α_j(i) and p(y_i | j) [I, J]."""
    for a in product(range(len(source)), repeat=len(target)):
        yield a, *fed_joint(p, source, target, a)


def fed_likelihood(p: Parameters, source: Sequence[int], target: Sequence[int]) -> Tensor:
    """p(y | x) = Σ_a Π_i α_{a_i}(i) p(y_i | a_i), the intractable sum."""
    terms = []
    for a, alpha, emitted in fed_alignments(p, source, target):
        steps = range(len(target))
        terms.append(torch.stack([alpha[i, a[i]] * emitted[i, a[i]] for i in steps]).prod())
    return torch.stack(terms).sum()


def particle_weights(
    p: Parameters, source: Sequence[int], target: Sequence[int], a: Sequence[int]
) -> tuple[Tensor, Tensor]:
    """Π_i w_i of a particle that draws the positions a, and the probability that it does."""
    alpha, emitted = fed_joint(p, source, target, a)
    joint = alpha * emitted
    weights = joint.sum(1)  # w_i = Σ_j α_j(i) p(y_i | j)
    own = torch.stack([joint[i, a[i]] / weights[i] for i in range(len(target))])
    return weights.prod(), own.prod()


# Section 5.2: the bounds that REINFORCE raises


def bound(p: Parameters, source: Sequence[int], target: Sequence[int]) -> Tensor:
    """Σ_a p(a | x) log p(y | x, a) = Σ_i Σ_j α_j(i) log p(y_i | j), without input feeding."""
    encoded = encode(p, source)
    terms = []
    for h, number in zip(decode(p, target), target, strict=True):
        alpha = attention(p, h, encoded)
        terms += [alpha[j] * emission(p, h, e)[number - END].log() for j, e in enumerate(encoded)]
    return torch.stack(terms).sum()


def fed_bound(p: Parameters, source: Sequence[int], target: Sequence[int]) -> Tensor:
    """Σ_a p(a | x) log p(y | x, a), where each alignment a has a decoder of its own."""
    terms = []
    for a, alpha, emitted in fed_alignments(p, source, target):
        steps = range(len(target))
        probability = torch.stack([alpha[i, a[i]] for i in steps]).prod()
        terms.append(probability * torch.stack([emitted[i, a[i]].log() for i in steps]).sum())
    return torch.stack(terms).sum()


# Beyond the paper: a position prior, and positions that depend on the last one

PRIOR_REACH, JUMP_REACH = 10, 5
"""Larger distances are clipped."""


def _clipped(distance: int, reach: int) -> int:
    """The bias index of a distance."""
    return max(-reach, min(reach, distance)) + reach


def prior_attention(
    p: Parameters, h: Tensor, encoded: Sequence[Tensor], tags: int, i: int
) -> Tensor:
    """α_1 … α_|x| of step i, from 0 on, with a bias by j − i, j counted from the first letter."""
    weight, bias = p["head.attention.score.weight"], p["head.attention.score.bias"]
    scores = []
    for j, e in enumerate(encoded):
        distance = (j - 1 - tags) - i
        prior = p["head.attention.bias"][_clipped(distance, PRIOR_REACH)]
        scores.append(h @ (weight @ e + bias) + prior)
    return torch.stack(scores).softmax(0)


def prior_distributions(
    p: Parameters, source: Sequence[int], tags: int, target: Sequence[int]
) -> list[Tensor]:
    """p(· | y_<i, x) for each i, [V] over the end and the letters."""
    encoded = encode(p, source)
    rows = []
    for i, h in enumerate(decode(p, target)):
        alpha = prior_attention(p, h, encoded, tags, i)
        rows.append(
            torch.stack([alpha[j] * emission(p, h, e) for j, e in enumerate(encoded)]).sum(0)
        )
    return rows


def move(p: Parameters, h: Tensor, encoded: Sequence[Tensor], k: int, monotone: bool) -> Tensor:
    """[J] p(a_i = j | a_{i-1} = k, y_<i, x) of every j."""
    weight, bias = p["head.attention.score.weight"], p["head.attention.score.bias"]
    jumps = p["head.attention.jump.weight"] @ torch.cat([h, encoded[k]])
    jumps = jumps + p["head.attention.jump.bias"]
    weights = []
    for j, e in enumerate(encoded):
        score = h @ (weight @ e + bias) + jumps[_clipped(j - k, JUMP_REACH)]
        weights.append(score.exp() if j >= k or not monotone else torch.zeros_like(score))
    return torch.stack(weights) / torch.stack(weights).sum()


def chained_alignments(
    p: Parameters, source: Sequence[int], target: Sequence[int], monotone: bool
) -> Iterator[tuple[tuple[int, ...], Tensor]]:
    """Each of the |x|^|y| alignments a with p(y, a | x), where a_i depends on a_{i-1}."""
    encoded, decoded = encode(p, source), decode(p, target)
    moves = [[list(move(p, h, encoded, k, monotone)) for k in range(len(source))] for h in decoded]
    said = [
        [emission(p, h, e)[number - END] for e in encoded]
        for h, number in zip(decoded, target, strict=True)
    ]
    for a in product(range(len(source)), repeat=len(target)):
        probability, k = torch.ones((), dtype=torch.float64), 0
        for i, j in enumerate(a):
            probability = probability * moves[i][k][j] * said[i][j]
            k = j
        yield a, probability
