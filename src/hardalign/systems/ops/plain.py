"""The definitions of the kernels, in a few lines each, over any engine.

Nothing here is fast or small. Tests hold the fast versions equal to these, and these to loops over
all alignments. Engines that have no use for speed use them as they are.
"""

from __future__ import annotations

from hardalign.systems.ops import Array, Ops, Output, Transitions


def emission(xp: Ops, output: Output) -> Array:
    """Returns log p(· | j, y_<i, x) of every step, position and symbol, [N, I, J, V]."""
    key = xp.rows(output.key, output.word)[:, None]
    f = xp.tanh(output.query[:, :, None] + key)  # [N, I, J, d_s]
    log_probs = xp.log_softmax(xp.project(f, output.weight, output.bias))
    if output.copied is None:
        return log_probs
    own = xp.rows(output.copied, output.word)[:, None, :, None]  # [N, 1, J, 1]
    gate = xp.project(f, output.gate, output.gate_bias)  # [N, I, J, 1]
    gate = xp.where(own < 0, xp.never, gate)
    is_copy = own == xp.arange(output.bias.shape[0], output.key)
    # log ((1 − g) p + g [y = x_j]), where log g = −log(1 + exp(−gate)).
    generated = log_probs - xp.logaddexp(gate, 0.0)
    copied = xp.where(is_copy, -xp.logaddexp(-gate, 0.0), xp.never)
    return xp.logaddexp(generated, copied)


def log_joint(xp: Ops, log_alpha: Array, output: Output, classes: Array) -> Array:
    """Returns log α_j(i) + log p(y_i | j, y_<i, x) [N, I, J]."""
    return log_alpha + xp.take(emission(xp, output), classes[:, :, None, None], 3)[:, :, :, 0]


def mixture(xp: Ops, log_alpha: Array, output: Output) -> tuple[Array, Array]:
    """Returns log Σ_j α_j p(· | j) [N, V], and the terms of that sum, [N, V, J]."""
    joint = log_alpha[:, :, None] + emission(xp, output)[:, 0]  # [N, J, V]
    return xp.logsumexp(joint, 1), xp.transpose(joint)


def origins(xp: Ops, joint: Array, columns: Array) -> Array:
    """Returns the terms [N, J] of one column [N] each."""
    return xp.take(joint, columns[:, None, None], 1)[:, 0]


def forward(xp: Ops, transitions: Transitions, emitted: Array) -> tuple[Array, Array]:
    """Runs the forward algorithm; see ``Ops.forward``."""
    first = xp.arange(emitted.shape[2], emitted) < 1
    filtered = [xp.masked(xp.zeros(emitted, len(emitted), emitted.shape[2]), first)]
    evidence = []
    for i in range(emitted.shape[1]):
        moved = filtered[-1][:, :, None] + transitions(slice(i, i + 1))[:, 0]
        joint = xp.logsumexp(moved, 1) + emitted[:, i]  # [P, J]
        evidence.append(xp.logsumexp(joint)[:, None])
        filtered.append(joint - evidence[-1])
    return xp.concatenate(evidence, 1), xp.concatenate([f[:, None] for f in filtered], 1)


def begin_cells(xp: Ops, like: Array, columns: int) -> Array:
    """Returns [B, V, J]: whatever was chosen, it came from begin."""
    first = xp.arange(like.shape[1], like) < 1
    return xp.masked(xp.zeros(like, like.shape[0], columns, like.shape[1]), first)
