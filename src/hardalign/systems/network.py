"""A system as a torch module: its parameters, its dropout, and its loss.

Most systems maximise the likelihood. Those that sample alignments instead of summing over them
(paper, 5.2 and 8.2) differ only in training: scores come from the systems themselves.

REINFORCE. The bound of section 5.2 is an expectation over alignments,

    log p(y | x) ≥ E_a [Σ_i r_i],      r_i = log p(y_i | a_≤i, y_<i, x),      a_i ~ α(i),

whose gradient is the expectation of Σ_i ∇ r_i + Σ_i A_i ∇ log α_{a_i}(i), where A_i is the sum of
the rewards that a_i can influence, minus a baseline that does not depend on a_i. Without input
feeding, a_i influences r_i alone; with it, every later reward too.

Particles. With input feeding, every alignment has its own decoder states. Given a past a_<i,
w_i = Σ_j α_j(i) p(y_i | j) is summed exactly, and a_i is drawn from its posterior,
α_j(i) p(y_i | j) / w_i. Then Π_i w_i is an unbiased estimate of p(y | x), and the log of the mean
of k of them is, in expectation, a lower bound on log p(y | x) that rises with k.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn

from hardalign.config import ModelConfig
from hardalign.data.vocabulary import PAD, RESERVED, Encoded, Vocabulary
from hardalign.errors import HardalignError
from hardalign.systems import model_class
from hardalign.systems.model import Targets, Words, previous_symbols
from hardalign.systems.monotonic import Monotonic
from hardalign.systems.ops import Array
from hardalign.systems.ops.torch import TorchOps
from hardalign.systems.ops.torch_kernels import log_emission
from hardalign.systems.parameters import ALIGNER_TABLE, Parameter

BASELINE = "objective.baseline.average"
DISCOUNT = 0.9
"""Decay per batch of the baseline, an exponential moving average (paper, section 8.2)."""


@dataclass(frozen=True)
class Batch:
    """A batch of pairs, as padded tensors."""

    words: Words
    targets: Targets

    def __len__(self) -> int:
        return len(self.words)

    def to(self, device: torch.device) -> Batch:
        """Return the same batch on another device."""
        return self._map(lambda tensor: tensor.to(device, non_blocking=True))

    def _map(self, function: Callable[[Array], Tensor]) -> Batch:
        words, targets = self.words, self.targets
        arrays = (words.symbols, words.lengths, words.tag_counts)
        symbols, lengths = map(function, (targets.symbols, targets.lengths))
        return Batch(Words(*map(function, arrays)), Targets(None, symbols, lengths))


def collate(pairs: Sequence[Encoded]) -> Batch:
    """Pad pairs into a batch."""
    targets = Targets.of(None, [pair.target for pair in pairs])
    return Batch(Words.of(pairs), targets)._map(torch.from_numpy)


class Network(nn.Module):
    """A trainable system, randomly initialised."""

    def __init__(self, config: ModelConfig, vocabulary: Vocabulary) -> None:
        """Create a network; raises like ``model_class``."""
        super().__init__()
        kind = model_class(config)
        if kind.objective == "positions" and config.samples < 2:
            raise HardalignError(
                f"samples must be at least 2, not {config.samples}: "
                "each is compared with the others"
            )
        declared = kind.parameters(config, vocabulary)
        if kind.objective == "paths":
            declared[BASELINE] = Parameter((), trained=False)
        for name, parameter in declared.items():
            self._declare(name, parameter)
        self.xp = TorchOps(config)
        self._tensors: dict[str, Tensor] = {}
        self._apply(lambda tensor: tensor)
        self.system: Any = kind(self.xp, config, vocabulary, self._tensors)
        if isinstance(self.system, Monotonic):
            self.prepare([])

    def _declare(self, name: str, parameter: Parameter) -> None:
        """Register a parameter under its dotted name, in nested modules."""
        module: nn.Module = self
        *path, leaf = name.split(".")
        for part in path:
            if part not in module._modules:
                module.add_module(part, nn.Module())
            module = module._modules[part]  # type: ignore[assignment]
        value = torch.empty(parameter.shape)
        if parameter.init == "normal":
            value.normal_()
            value[PAD] = 0
        elif parameter.init:
            value.uniform_(-parameter.init, parameter.init)
        else:
            value.zero_()
        if parameter.trained:
            module.register_parameter(leaf, nn.Parameter(value))
        else:
            module.register_buffer(leaf, value)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Network:
        """Move or convert the tensors, collecting them again in case torch replaces them."""
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self._tensors |= dict(chain(self.named_parameters(), self.named_buffers()))
        return self

    def train(self, mode: bool = True) -> Network:
        """Switch dropout on or off."""
        self.xp.training = mode
        return super().train(mode)

    def count(self, pairs: Sequence[Encoded]) -> None:
        """Count the letters of the training pairs, for unknown-symbol dropout.

        All training symbols are in the vocabulary, so the unknown symbol's embedding would never be
        learned. A symbol that occurs c times is read as unknown with the configured probability
        divided by √c. Outputs, copying and tags are not affected.
        """
        rate = self.xp.config.unk_dropout
        if not rate:
            return
        sides = {
            "encoder.embedding": (pair.source[1 + pair.tags :] for pair in pairs),
            "decoder.embedding": (pair.target for pair in pairs),
        }
        for name, strings in sides.items():
            numbers = torch.tensor(list(chain.from_iterable(strings)), dtype=torch.long)
            size = len(self.get_parameter(f"{name}.weight"))
            counts = torch.bincount(numbers, minlength=size)
            counts[:RESERVED] = 0
            self.xp.unknown_rates[name] = torch.where(counts > 0, rate / counts.sqrt(), 0.0)

    def prepare(self, pairs: Sequence[Encoded]) -> None:
        """Fit what must be fitted before training: the aligner of `monotonic`."""
        if isinstance(self.system, Monotonic):
            self.get_buffer(ALIGNER_TABLE).copy_(torch.from_numpy(self.system.fit(pairs)))

    def symbol_log_likelihood(self, batch: Batch) -> Tensor:
        """Return log p(y_i | y_<i, x) [B, I] of every symbol, including the end; 0 at padding.

        ``Model.score`` tells what kind of probability this is.
        """
        memory = self.system.read(batch.words)
        return self.system.follow(memory, batch.targets).log_probs()  # type: ignore[no-any-return]

    def log_likelihood(self, batch: Batch) -> Tensor:
        """Return log p(y | x) [B] in nats, including the end symbol."""
        return self.symbol_log_likelihood(batch).sum(-1)

    def loss(self, batch: Batch) -> Tensor:
        """Return the training loss of each pair [B]."""
        return LOSSES[self.system.objective](self, batch)

    @torch.no_grad()
    def above_average(self, rewards: Tensor, mask: Tensor) -> Tensor:
        """Return rewards minus a baseline, their moving average per symbol; 0 at padding.

        Updated after use, so that no reward enters its own baseline: the gradient stays unbiased.
        """
        average = self.get_buffer(BASELINE)
        centred = (rewards - average).masked_fill(~mask, 0.0)
        if self.training:
            average.lerp_(rewards[mask].mean().to(average), 1 - DISCOUNT)
        return centred


def positions(network: Network, batch: Batch) -> Tensor:
    """Return the loss of `hard-sampled`, which samples positions from α at each step.

    Without input feeding, the bound is a sum over steps, Σ_i Σ_j α_j(i) log p(y_i | j), and a
    position's reward is the log-probability of its own symbol, minus the mean reward of the other
    samples of the step. Only sampled cells are computed.
    """
    model, xp, targets = network.system, network.xp, batch.targets
    samples, memory = model.config.samples, model.read(batch.words)
    h = model.decoder.follow(previous_symbols(xp, targets.symbols), memory.tags)
    query = xp.project(h, *memory.weights["query"])
    log_alpha = model.log_alpha(h, memory, None, 0)  # [B, I, J]
    position = draw(log_alpha.unsqueeze(2).expand(-1, -1, samples, -1))  # [B, I, k]
    word, step = targets.mask(xp).nonzero(as_tuple=True)  # [R]: without padding steps
    drawn = position[word, step]  # [R, k]
    columns = (word, step, targets.classes[word, step])
    rows, places, symbols = (column.repeat_interleave(samples) for column in columns)
    output = model.output(query, memory, None)
    rewards = log_emission(output, (rows, places, drawn.flatten()), symbols).view_as(drawn)
    log_alpha = log_alpha.gather(2, position)[word, step]  # [R, k]
    losses = surrogate(rewards, log_alpha, leave_one_out(rewards.detach())).mean(1)  # [R]
    return losses.new_zeros(len(batch)).index_add(0, word, losses)


def paths(network: Network, batch: Batch) -> Tensor:
    """Return the loss of `hard-feed-reinforce`, which samples whole alignments step by step.

    With input feeding, a position also influences all later rewards; it is credited with the sum.
    """
    model, xp, targets = network.system, network.xp, batch.targets
    memory = model.read(batch.words)
    rule = model.rule(draw, memory, targets)
    trace = model.trace(memory, targets, rule, model.config.samples)
    logits = xp.project(trace.joint, *memory.weights["output"])
    classes = targets.classes.unsqueeze(2).expand(logits.shape[:3])
    rewards = xp.log_prob(logits, classes).transpose(1, 2)  # [B, k, I]
    position = trace.weights.argmax(-1, keepdim=True)
    log_alpha = trace.log_alpha.gather(-1, position).squeeze(-1).transpose(1, 2)  # [B, k, I]
    mask = targets.mask(xp).unsqueeze(1).expand_as(rewards)
    rewards = rewards.masked_fill(~mask, 0.0)
    # Σ_{i' ≥ i} (r_i' − b) is the reward-to-go minus b times the number of remaining steps.
    advantage = reward_to_go(network.above_average(rewards, mask))
    losses = surrogate(rewards, log_alpha, advantage).masked_fill(~mask, 0.0)
    return losses.sum(2).mean(1)


def particles(network: Network, batch: Batch) -> Tensor:
    """Return the loss of `hard-feed`, −log (1/k Σ_s Π_i w_i^s) [B].

    Gradients flow through everything except the sampling.
    """
    model, xp, targets = network.system, network.xp, batch.targets
    memory, k = model.read(batch.words), model.config.samples
    rule = torch.no_grad()(model.rule(draw, memory, targets))
    trace = model.trace(memory, targets, rule, k)
    log_weights = xp.logsumexp(model.log_joint(trace, memory, targets))  # [B, I, k]
    log_weights = log_weights.masked_fill(~targets.mask(xp).unsqueeze(2), 0.0)
    return math.log(k) - log_weights.sum(1).logsumexp(1)


LOSSES: dict[str, Callable[[Network, Batch], Tensor]] = {
    "likelihood": lambda network, batch: -network.log_likelihood(batch),
    "positions": positions,
    "paths": paths,
    "particles": particles,
}


@torch.no_grad()
def draw(log_probs: Tensor) -> Tensor:
    """Draw one position [...] from unnormalised log-probabilities [..., J], −inf at padding.

    An exponential race, as in the Gumbel-max trick: of exponential clocks with rates α_j, clock j
    rings first with probability α_j. Unlike with a cumulative sum, zero probability never wins.
    """
    return (log_probs.softmax(-1) / torch.empty_like(log_probs).exponential_()).argmax(-1)


def leave_one_out(rewards: Tensor) -> Tensor:
    """Return each reward [..., k] minus the mean of the others, which are independent of it."""
    k = rewards.shape[-1]
    return (rewards - rewards.mean(-1, keepdim=True)) * (k / (k - 1))


def reward_to_go(rewards: Tensor) -> Tensor:
    """Return Σ_{i' ≥ i} r_i' of rewards [..., I] that are 0 at padding steps."""
    return rewards.flip(-1).cumsum(-1).flip(-1)


def surrogate(rewards: Tensor, log_alpha: Tensor, advantage: Tensor) -> Tensor:
    """Return −(r + A log α), with A constant and the value of the second term subtracted.

    Its gradient is REINFORCE's, and its value estimates the negative bound.
    """
    return -(rewards + advantage.detach() * (log_alpha - log_alpha.detach()))
