"""The recipe: step, validate, halve, keep the best, stop, resume (paper, section 7.2)."""

from __future__ import annotations

import logging
import math
import random
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, cast

import torch
from lightning_fabric import Fabric
from lightning_fabric.utilities.exceptions import MisconfigurationException
from torch import Tensor, optim

from hardalign.config import TrainingConfig
from hardalign.data.encoding import Encoded, encode_pairs, encode_sources, shuffled_batches
from hardalign.data.example import Example, Symbols, evaluation_items, training_pairs
from hardalign.data.vocabulary import UNKNOWN, Vocabulary
from hardalign.decoding.batches import log_likelihoods, predictions
from hardalign.errors import HardalignError
from hardalign.metrics import evaluate
from hardalign.networks.batch import collate
from hardalign.networks.build import build_model
from hardalign.networks.transducer import Transducer
from hardalign.training.checkpoint import Progress, load_checkpoint, save_checkpoint
from hardalign.training.storage import WEIGHTS, Description, write_tensors


@dataclass(frozen=True)
class Development:
    """The development set, numbered once."""

    pairs: list[Encoded]
    """For the log-likelihood: every pair that the vocabulary can spell."""
    unspellable: int
    """Pairs left out of it, because their target has a symbol never seen in training."""
    sources: list[Encoded]
    """For the accuracy: every distinct source."""
    references: list[tuple[Symbols, ...]]

    @classmethod
    def of(cls, examples: Sequence[Example], vocabulary: Vocabulary) -> Development:
        """Number the examples of a development set."""
        pairs = encode_pairs(training_pairs(examples), vocabulary)
        spellable = [pair for pair in pairs if UNKNOWN not in pair.target]
        items = evaluation_items(examples)
        sources = encode_sources(items, vocabulary)
        references = [item.targets for item in items]
        return cls(spellable, len(pairs) - len(spellable), sources, references)


@dataclass(frozen=True)
class Job:
    """A training run: everything it needs, and nothing that cannot travel to another process."""

    folder: Path
    description: Description
    train: list[Encoded]
    development: Development

    @classmethod
    def of(
        cls,
        folder: Path,
        description: Description,
        train: Iterable[Example],
        development: Sequence[Example],
    ) -> Job:
        """Number the data of a run."""
        vocabulary = description.vocabulary
        pairs = encode_pairs(training_pairs(train), vocabulary)
        return cls(folder, description, pairs, Development.of(development, vocabulary))


@dataclass(frozen=True)
class Machine:
    """Where to run: what lightning-fabric needs to know."""

    device: str = "auto"
    devices: int = 1
    precision: str = "32-true"


class Reporter(Protocol):
    """Is told how training goes."""

    def begin(self, progress: Progress, job: Job) -> None:
        """Training starts, or goes on after ``progress``."""

    def advance(self, pairs: int, total: int) -> None:
        """So many of an epoch's pairs are done."""

    def epoch(self, row: dict[str, Any]) -> None:
        """An epoch is complete and saved; ``row`` is its line of ``metrics.jsonl``."""

    def end(self) -> None:
        """Training is over, for better or worse."""


class Silent:
    """A ``Reporter`` that says nothing."""

    def begin(self, progress: Progress, job: Job) -> None:
        """Say nothing."""

    def advance(self, pairs: int, total: int) -> None:
        """Say nothing."""

    def epoch(self, row: dict[str, Any]) -> None:
        """Say nothing."""

    def end(self) -> None:
        """Say nothing."""


def train(job: Job, machine: Machine, reporter: Reporter) -> Progress:
    """Run a job to its end, from the last completed epoch if its folder has one.

    The folder must be there, by ``claim_folder``. After every epoch it holds a whole checkpoint,
    and the weights of the best epoch so far.
    """
    fabric = _fabric(machine)
    # Bound beforehand, because lightning-fabric looks into arguments and refuses frozen ones.
    result: Progress | HardalignError = fabric.launch(partial(_run, job=job, reporter=reporter))
    if isinstance(result, HardalignError):
        raise result
    return result


def _fabric(machine: Machine) -> Fabric:
    if machine.devices < 1:
        raise HardalignError(f"--devices must be at least 1, not {machine.devices}")
    logging.getLogger("lightning_fabric").setLevel(logging.WARNING)
    try:
        fabric = Fabric(
            accelerator=machine.device,
            devices=machine.devices,
            strategy="ddp_spawn" if machine.devices > 1 else "auto",
            precision=machine.precision,  # type: ignore[arg-type]
        )
    except (RuntimeError, ValueError, MisconfigurationException) as error:
        raise HardalignError(
            f"cannot train on {machine.devices} × {machine.device}: {error}"
        ) from error
    if fabric.device.type == "cpu" and machine.precision.endswith("mixed"):
        raise HardalignError(f"--precision {machine.precision} needs a GPU; choose 32-true")
    return fabric


def _run(fabric: Fabric, job: Job, reporter: Reporter) -> Progress | HardalignError:
    """What each process does, and the end of their connections.

    A process that ends with open ones may be aborted by the threads that serve them.
    """
    result = _train(fabric, job, reporter)
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
    return result


def _train(fabric: Fabric, job: Job, reporter: Reporter) -> Progress | HardalignError:
    """Train; the first process alone writes and reports.

    A problem the user can mend is returned, not raised: other processes would wrap it in theirs.
    """
    config = job.description.training
    torch.manual_seed(config.seed)
    model = build_model(job.description.model, job.description.vocabulary)
    optimizer: optim.Optimizer = optim.Adam(model.parameters(), config.learning_rate, fused=True)
    progress = load_checkpoint(job.folder, model, optimizer)
    if progress is None:
        progress = Progress(config.learning_rate)
        model.prepare(job.train)
        if fabric.is_global_zero:
            _save_weights(job.folder, model, progress)
    wrapped, optimizer = fabric.setup(model, optimizer)
    if not fabric.is_global_zero:
        reporter = Silent()
    reporter.begin(progress, job)
    try:
        while not _finished(progress, config):
            started = time.perf_counter()
            loss = _epoch(fabric, wrapped, optimizer, job, progress, reporter)
            outcome: Progress | HardalignError = progress
            if fabric.is_global_zero:
                try:
                    _complete(model, optimizer, job, progress, loss, started)
                    reporter.epoch(progress.history[-1])
                except HardalignError as error:
                    outcome = error
            outcome = fabric.broadcast(outcome)
            if isinstance(outcome, HardalignError):
                return outcome
            progress = outcome
    finally:
        reporter.end()
    return progress


def _finished(progress: Progress, config: TrainingConfig) -> bool:
    return progress.epoch >= config.epochs or progress.learning_rate < config.min_learning_rate


def _epoch(
    fabric: Fabric,
    model: Any,
    optimizer: optim.Optimizer,
    job: Job,
    progress: Progress,
    reporter: Reporter,
) -> float:
    """One pass over the training pairs.

    Every process takes its share of each batch; together they do what one process would do with
    the whole batch.

    Returns:
        The mean loss of a pair.
    """
    config = job.description.training
    draw = random.Random(f"{config.seed} {progress.epoch}")
    batches = shuffled_batches(job.train, config.batch_size, draw)
    torch.manual_seed(draw.getrandbits(62) + fabric.global_rank)
    for group in optimizer.param_groups:
        group["lr"] = progress.learning_rate
    model.train()
    total = torch.zeros((), dtype=torch.float64, device=fabric.device)
    done = 0
    for batch in batches:
        share = batch[fabric.global_rank :: fabric.world_size]
        # A process without a share still has to take part in the exchange of gradients.
        losses = model(collate(share or batch[:1]).to(fabric.device))
        summed = losses.sum() if share else losses.sum() * 0.0
        optimizer.zero_grad()
        fabric.backward(summed * (fabric.world_size / len(batch)))
        if config.clip is not None:
            fabric.clip_gradients(model, optimizer, max_norm=config.clip)
        optimizer.step()
        total += summed.detach()
        done += len(batch)
        reporter.advance(done, len(job.train))
    summed_up = cast(Tensor, fabric.all_reduce(total, reduce_op="sum"))
    return summed_up.item() / len(job.train)


def _complete(
    model: Transducer,
    optimizer: optim.Optimizer,
    job: Job,
    progress: Progress,
    loss: float,
    started: float,
) -> None:
    """Complete an epoch: see how well it does on the development set, record and save it."""
    if not math.isfinite(loss):
        raise HardalignError(
            f"training diverged in epoch {progress.epoch + 1}: the loss is {loss}; "
            "try a smaller --learning-rate, or --clip 5"
        )
    trained = time.perf_counter() - started
    rate = progress.learning_rate
    model.eval()
    development, alphabet = job.development, job.description.vocabulary.target
    scores = log_likelihoods(model, development.pairs)
    found = predictions(model, development.sources)
    words = [alphabet.decode(hypothesis.symbols) for hypothesis in found]
    metrics = evaluate(words, development.references)
    log_likelihood = math.fsum(scores) / max(1, len(scores))
    progress.epoch += 1
    progress.record_log_likelihood(log_likelihood)
    row = {
        "epoch": progress.epoch,
        "loss": loss,
        "dev_log_likelihood": log_likelihood,
        "dev_acc": metrics.acc,
        "dev_mld": metrics.mld,
        "learning_rate": rate,
        "words_per_second": len(job.train) / trained,
        "seconds": time.perf_counter() - started,
        "best": progress.record_accuracy(metrics.acc, metrics.mld),
    }
    progress.history.append(row)
    if row["best"]:
        _save_weights(job.folder, model, progress)
    save_checkpoint(job.folder, model, optimizer, progress)


def _save_weights(folder: Path, model: Transducer, progress: Progress) -> None:
    write_tensors(folder / WEIGHTS, model.state_dict(), {"epoch": progress.epoch})
