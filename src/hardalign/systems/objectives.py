"""What training minimises: one loss [B] for each pair of a batch, in torch.

Most systems maximise their likelihood. Where alignments are drawn instead of summed (paper, 5.2 and
8.2), only the training differs: scores come from the systems themselves.

REINFORCE. The bound of section 5.2 is an expectation over alignments,

    log p(y | x) ≥ E_a [Σ_i r_i],      r_i = log p(y_i | a_≤i, y_<i, x),      a_i ~ α(i),

whose gradient is the expectation of Σ_i ∇ r_i + Σ_i A_i ∇ log α_{a_i}(i), where A_i is the sum of
the rewards that a_i can influence, minus anything that does not depend on a_i. Without input
feeding a_i influences r_i alone; with it, every later reward too.

Particles. With input feeding, every alignment has a decoder of its own. Given a past a_<i,
w_i = Σ_j α_j(i) p(y_i | j) is summed exactly, and a_i is drawn from its posterior,
α_j(i) p(y_i | j) / w_i. Then Π_i w_i is an unbiased estimate of p(y | x), and the log of the mean
of k of them is, on average, a lower bound of log p(y | x) that rises with k.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from hardalign.systems.batch import Targets, Words
from hardalign.systems.fed import HardFeed
from hardalign.systems.model import Model
from hardalign.systems.ops.torch_emission import emission_log_prob
from hardalign.systems.unfed import Hard

DISCOUNT = 0.9
"""How much of the old average the baseline keeps at each batch (paper, section 8.2)."""

Baseline = Callable[[Tensor, Tensor], Tensor]
"""From rewards and where they count to the rewards minus a moving average, as constants."""


def likelihood(model: Model, words: Words, targets: Targets) -> Tensor:
    """Returns −log p(y | x) [B]."""
    return -model.follow(model.read(words), targets).log_probs().sum(-1)  # type: ignore[no-any-return]


def positions(model: Hard, words: Words, targets: Targets) -> Tensor:
    """Returns the loss of `hard-sampled`: at each step some positions drawn from α.

    Without input feeding the bound falls apart into steps, Σ_i Σ_j α_j(i) log p(y_i | j), and a
    position's reward is its own symbol's log-probability. The mean reward of the step's other draws
    is subtracted from it. Only cells that are drawn are computed.
    """
    xp, samples, memory = model.xp, model.config.samples, model.read(words)
    tags = memory.tags
    h = model.decoder.follow(targets.previous(xp), tags)
    query = xp.project(h, memory.weights.query, memory.weights.query_bias)
    log_alpha = model.log_alpha(h, memory, None, 0)  # [B, I, J]
    position = draw(log_alpha.unsqueeze(2).expand(-1, -1, samples, -1))  # [B, I, k]
    word, step = targets.steps(xp).nonzero(as_tuple=True)  # [R]: padding steps are left behind
    drawn = position[word, step]  # [R, k]
    columns = (word, step, targets.classes[word, step])
    rows, places, symbols = (column.repeat_interleave(samples) for column in columns)
    output = model.output(query, memory, None)
    rewards = emission_log_prob(output, (rows, places, drawn.flatten()), symbols).view_as(drawn)
    log_alpha = log_alpha.gather(2, position)[word, step]  # [R, k]
    losses = surrogate(rewards, log_alpha, leave_one_out(rewards.detach())).mean(1)  # [R]
    return losses.new_zeros(len(words)).index_add(0, word, losses)


def paths(model: HardFeed, words: Words, targets: Targets, baseline: Baseline) -> Tensor:
    """Returns the loss of `hard-feed-reinforce`: whole alignments, drawn step by step.

    A position also influences, by input feeding, all later rewards: it is credited with their sum.
    """
    xp, memory = model.xp, model.read(words)
    rule = model.choose(lambda log_probs: one_hot(draw(log_probs), log_probs), memory, targets)
    trace = model.trace(memory, targets, rule, model.config.samples)
    logits = xp.project(trace.joint, memory.weights.output, memory.weights.output_bias)
    classes = targets.classes.unsqueeze(2).expand(logits.shape[:3])
    rewards = xp.log_prob(logits, classes).transpose(1, 2)  # [B, k, I]
    position = trace.weights.argmax(-1, keepdim=True)
    log_alpha = trace.log_alpha.gather(-1, position).squeeze(-1).transpose(1, 2)  # [B, k, I]
    steps = targets.steps(xp).unsqueeze(1).expand_as(rewards)
    rewards = rewards.masked_fill(~steps, 0.0)
    # Σ_{i' ≥ i} (r_i' − b) is the reward to go minus b times the steps that remain.
    advantage = reward_to_go(baseline(rewards, steps))
    losses = surrogate(rewards, log_alpha, advantage).masked_fill(~steps, 0.0)
    return losses.sum(2).mean(1)


def particles(model: HardFeed, words: Words, targets: Targets) -> Tensor:
    """Returns the loss of `hard-feed`, −log (1/k Σ_s Π_i w_i^s) [B].

    Gradients go through everything but the draws themselves.
    """
    xp, memory, k = model.xp, model.read(words), model.config.samples
    rule = model.choose(lambda joint: one_hot(draw(joint.log_softmax(-1)), joint), memory, targets)
    trace = model.trace(memory, targets, rule, k)
    log_weights = xp.logsumexp(model.log_joint(trace, memory, targets))  # [B, I, k]
    log_weights = log_weights.masked_fill(~targets.steps(xp).unsqueeze(2), 0.0)
    return math.log(k) - log_weights.sum(1).logsumexp(1)  # type: ignore[no-any-return]


@torch.no_grad()
def draw(log_probs: Tensor) -> Tensor:
    """Draws one position [...] from each distribution [..., J], −inf at padding.

    An exponential race: of clocks that ring at rate α_j, the first is j with probability α_j. A
    position of probability zero never wins, which a cumulative sum could not promise.
    """
    return (log_probs.exp() / torch.empty_like(log_probs).exponential_()).argmax(-1)


def one_hot(position: Tensor, like: Tensor) -> Tensor:
    """Returns weights [..., J], 1 at one position [...] and 0 elsewhere."""
    return F.one_hot(position, like.shape[-1]).to(like.dtype)


def leave_one_out(rewards: Tensor) -> Tensor:
    """Returns each reward minus the mean of the other draws', [..., k] with k above 1.

    The other draws are independent of this one, so what is subtracted never depends on it.
    """
    k = rewards.shape[-1]
    return (rewards - rewards.mean(-1, keepdim=True)) * (k / (k - 1))


def reward_to_go(rewards: Tensor) -> Tensor:
    """Returns Σ_{i' ≥ i} r_i' of rewards [..., I] that are 0 at padding steps."""
    return rewards.flip(-1).cumsum(-1).flip(-1)


def surrogate(rewards: Tensor, log_alpha: Tensor, advantage: Tensor) -> Tensor:
    """Returns a loss whose gradient is REINFORCE's, and whose value estimates minus the bound.

    Args:
        rewards: log p(y_i | a_i, y_<i, x) of the positions drawn, differentiable.
        log_alpha: log α_{a_i}(i) of the positions drawn, differentiable.
        advantage: A_i, a constant.

    Returns:
        −(r + A log α), all of one shape, with the value of the second term taken out.
    """
    return -(rewards + advantage.detach() * (log_alpha - log_alpha.detach()))
