"""A system as a torch module: its parameters, its dropout, and its loss."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn

from hardalign.config import ModelConfig
from hardalign.data.vocabulary import PAD, RESERVED, Encoded, Vocabulary
from hardalign.errors import HardalignError
from hardalign.systems import objectives
from hardalign.systems.batch import Targets, Words
from hardalign.systems.monotonic import Monotonic
from hardalign.systems.ops.torch import TorchOps
from hardalign.systems.options import check_options
from hardalign.systems.parameters import ALIGNER_TABLE, Parameter

BASELINE = "objective.baseline.average"


@dataclass(frozen=True)
class Batch:
    """Some pairs as padded tensors."""

    words: Words
    targets: Targets

    def __len__(self) -> int:
        return len(self.words)

    def to(self, device: torch.device) -> Batch:
        """Returns the same batch on another device."""
        parts = (
            {
                name: value.to(device, non_blocking=True)
                for name, value in vars(part).items()
                if isinstance(value, Tensor)
            }
            for part in (self.words, self.targets)
        )
        words, targets = parts
        return Batch(replace(self.words, **words), replace(self.targets, **targets))


def collate(pairs: Sequence[Encoded]) -> Batch:
    """Puts pairs side by side, padded to the longest of them."""
    words, targets = Words.of(pairs), Targets.of(None, [pair.target for pair in pairs])
    tensors = [torch.from_numpy(part) for part in (words.symbols, words.lengths, words.tag_counts)]
    symbols, lengths = map(torch.from_numpy, (targets.symbols, targets.lengths))
    return Batch(Words(*tensors), Targets(None, symbols, lengths))


class Network(nn.Module):
    """A system to be learned, with random weights at first."""

    def __init__(self, config: ModelConfig, vocabulary: Vocabulary) -> None:
        """Makes a network.

        Raises:
            HardalignError: If there is no system of that name, or it cannot have an option.
        """
        super().__init__()
        kind = check_options(config)
        if kind.objective == "positions" and config.samples < 2:
            raise HardalignError(
                f"samples must be at least 2, not {config.samples}: "
                "a draw is compared with the others"
            )
        declared = kind.parameters(config, vocabulary)
        if kind.objective == "paths":
            declared[BASELINE] = Parameter((), trained=False)
        for name, parameter in declared.items():
            self._declare(name, parameter)
        self.xp = TorchOps(config)
        self.system = kind(self.xp, config, vocabulary, _Parameters(self, list(declared)))
        if isinstance(self.system, Monotonic):
            self.prepare([])

    def _declare(self, name: str, parameter: Parameter) -> None:
        """Registers a parameter under its dotted name, in nested modules."""
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

    def train(self, mode: bool = True) -> Network:
        """Switches dropout on or off."""
        self.xp.training = mode
        return super().train(mode)

    def count(self, pairs: Sequence[Encoded]) -> None:
        """Counts the letters of the training pairs, of which rare ones are read as unknown.

        Every symbol of the training data is known, so that the embedding of what is unknown would
        never be learned. A symbol that occurs once is read as unknown with a given probability, and
        one that occurs c times with that probability divided by √c. What is written is not changed
        by it, nor what can be copied, and tags are always read as what they are.
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
        """Learns from the training pairs what is learned before training begins: to align them."""
        if isinstance(self.system, Monotonic):
            self.get_buffer(ALIGNER_TABLE).copy_(torch.from_numpy(self.system.fit(pairs)))

    def symbol_log_likelihood(self, batch: Batch) -> Tensor:
        """Returns log p(y_i | y_<i, x) [B, I] of every target symbol, the end included.

        Padding has 0. ``Model.score`` says what this probability is.
        """
        memory = self.system.read(batch.words)
        return self.system.follow(memory, batch.targets).log_probs()  # type: ignore[no-any-return]

    def log_likelihood(self, batch: Batch) -> Tensor:
        """Returns log p(y | x) [B] in nats, end symbol included."""
        return self.symbol_log_likelihood(batch).sum(-1)

    def loss(self, batch: Batch) -> Tensor:
        """Returns what training minimises for each pair [B]."""
        objective: Any = getattr(objectives, self.system.objective)
        more = (self._above_average,) if self.system.objective == "paths" else ()
        return objective(self.system, batch.words, batch.targets, *more)  # type: ignore[no-any-return]

    @torch.no_grad()
    def _above_average(self, rewards: Tensor, steps: Tensor) -> Tensor:
        """Returns rewards minus a moving average per symbol, 0 where ``steps`` is false.

        It is updated after its use: the value that is subtracted from a reward never depends on
        that reward, so the gradient stays unbiased.
        """
        average = self.get_buffer(BASELINE)
        centred = (rewards - average).masked_fill(~steps, 0.0)
        if self.training:
            average.lerp_(rewards[steps].mean().to(average), 1 - objectives.DISCOUNT)
        return centred


class _Parameters(Mapping[str, Tensor]):
    """A network's tensors by their dotted names, as they are when they are asked for."""

    def __init__(self, network: nn.Module, names: Sequence[str]) -> None:
        self._where = {}
        for name in names:
            path, _, leaf = name.rpartition(".")
            self._where[name] = network.get_submodule(path), leaf

    def __getitem__(self, name: str) -> Tensor:
        module, leaf = self._where[name]
        return getattr(module, leaf)  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[str]:
        return iter(self._where)

    def __len__(self) -> int:
        return len(self._where)
