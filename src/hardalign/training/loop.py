"""The recipe: step, validate, halve, keep the best, save, stop, resume (paper, section 7.2)."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, optim

from hardalign.batches import log_likelihoods, predictions
from hardalign.config import TrainingConfig
from hardalign.data.vocabulary import Encoded, shuffled_batches
from hardalign.errors import HardalignError
from hardalign.metrics import evaluate
from hardalign.model_folder import WEIGHTS, write_tensors
from hardalign.systems.build import build_model
from hardalign.systems.network import Network, collate
from hardalign.training.averaging import Averaged
from hardalign.training.checkpoint import Progress, arrays, read_checkpoint, save_checkpoint
from hardalign.training.job import Job, Reporter
from hardalign.training.machine import Machine, Process, launch


def train(job: Job, machine: Machine, reporter: Reporter) -> Progress:
    """Run a job to its end, from the last completed epoch if its folder has one.

    The folder must be there, by ``claim_folder``. After every epoch it holds a whole checkpoint,
    and the weights of the best epoch so far.

    Raises:
        HardalignError: If training diverges, or the folder cannot be read or written.
    """
    others = partial(_train, job=job, reporter=Reporter())
    first = partial(_train, job=job, reporter=reporter)
    return launch(machine, job.description.training.threads or 1, first, others)


def _train(process: Process, job: Job, reporter: Reporter) -> Progress:
    """Train in one of the run's processes; the first alone writes and reports."""
    config, folder, schedule = job.description.training, job.folder, job.description.schedule
    torch.manual_seed(config.seed)
    model = Network(job.description.model, job.description.vocabulary)
    model.count(job.train)
    checkpoint = read_checkpoint(folder)
    if checkpoint is None:
        model.prepare(job.train)
        if job.start is not None:
            weights = job.start.weights(arrays(model), job.description.vocabulary)
            model.load_state_dict({name: torch.as_tensor(one) for name, one in weights.items()})
    model.to(process.device, process.dtype)
    optimizer = optim.Adam(model.parameters(), config.learning_rate, fused=True)
    averaged = Averaged(model, optimizer) if config.average else None
    answering = averaged.module if averaged else model  # what is validated and kept
    if checkpoint is not None:
        checkpoint.restore(model, optimizer, averaged)
    progress = checkpoint.progress if checkpoint else Progress(config.learning_rate)
    if process.rank == 0 and not (folder / WEIGHTS).exists():
        if progress.best_epoch != progress.epoch:
            raise HardalignError(
                f"{folder}: the weights of the best epoch, {progress.best_epoch}, are gone, and "
                f"the checkpoint has those of epoch {progress.epoch}; bring {WEIGHTS} back, or "
                "start anew with overwrite"
            )
        _save_weights(job, answering, progress)

    reporter.begin(progress, job)
    if checkpoint is not None and _ended(progress, config):
        reporter.note(f"{folder}: nothing was left to train after epoch {progress.epoch}")
    try:
        while not _ended(progress, config):
            started = time.perf_counter()
            if schedule is not None:
                progress.learning_rate = schedule[progress.epoch]

            # Step: order and dropout of an epoch follow from the seed and the epoch's number.
            draw = random.Random(f"{config.seed} {progress.epoch}")
            batches = shuffled_batches(job.train, config.batch_size, draw)
            torch.manual_seed(draw.getrandbits(62) + process.rank)
            for group in optimizer.param_groups:
                group["lr"] = progress.learning_rate
            loss = _pass(process, model, optimizer, batches, config.clip, reporter)
            trained = time.perf_counter() - started

            if process.rank == 0:
                # Validate.
                progress.epoch += 1
                _check_loss(loss, progress.epoch)
                scores = development_scores(job, answering)
                _check_loss(-scores.log_likelihood, progress.epoch)
                rate = progress.learning_rate

                # Halve the learning rate where the log-likelihood has not improved for long enough.
                best = progress.best_log_likelihood
                progress.stale += 1
                if best is None or scores.log_likelihood > best:
                    progress.best_log_likelihood, progress.stale = scores.log_likelihood, 0
                elif schedule is None and progress.stale >= config.patience:
                    progress.learning_rate, progress.stale = progress.learning_rate / 2, 0

                # Keep the best: most words right, then the smallest distance. By a schedule, the
                # last: its development set has been learned too.
                better = (scores.acc, -scores.mld) > (progress.best_acc, -progress.best_mld)
                better = better or schedule is not None
                if better:
                    progress.best_epoch = progress.epoch
                    progress.best_acc, progress.best_mld = scores.acc, scores.mld
                    _save_weights(job, answering, progress)

                # Save.
                row = {
                    "epoch": progress.epoch,
                    "loss": loss,
                    "dev_log_likelihood": scores.log_likelihood,
                    "dev_acc": scores.acc,
                    "dev_mld": scores.mld,
                    "learning_rate": rate,
                    "words_per_second": len(job.train) / trained,
                    "seconds": time.perf_counter() - started,
                    "best": better,
                }
                progress.history.append(row)
                save_checkpoint(folder, model, optimizer, averaged, progress)
                reporter.epoch(row)
            progress.epoch, progress.learning_rate = process.agree(
                (progress.epoch, progress.learning_rate)
            )
    finally:
        reporter.end()
    return progress


def _ended(progress: Progress, config: TrainingConfig) -> bool:
    return progress.epoch >= config.epochs or progress.learning_rate < config.min_learning_rate


def _check_loss(loss: float, epoch: int) -> None:
    if math.isnan(loss) or loss == math.inf:
        raise HardalignError(
            f"training diverged in epoch {epoch}: the loss is {loss}; "
            "try a smaller learning rate, or clip gradients at a norm of 5"
        )


def _pass(
    process: Process,
    model: Network,
    optimizer: optim.Optimizer,
    batches: Sequence[Sequence[Encoded]],
    clip: float | None,
    reporter: Reporter,
) -> float:
    """One pass over the training pairs; returns the mean loss of a pair."""
    process.agree_on_buffers(model)
    # Anew for each epoch, so that an epoch does not depend on what was before it.
    scaler = torch.amp.GradScaler(process.device.type, enabled=process.precision == "16-mixed")
    model.train()
    losses: list[Tensor] = []
    done, total = 0, sum(map(len, batches))
    for batch in batches:
        optimizer.zero_grad()
        if share := batch[process.rank :: process.size]:
            with process.autocast():
                loss = model.loss(collate(share).to(process.device)).sum()
            scaler.scale(loss * (1 / len(batch))).backward()  # type: ignore[no-untyped-call]
            losses.append(loss.detach())
        process.add_gradients(model)
        if clip is not None:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        scaler.step(optimizer)
        scaler.update()
        done += len(batch)
        reporter.advance(done, total)
    return process.total(losses) / total


class Scores(NamedTuple):
    """How well a model does on the development set."""

    log_likelihood: float
    """Of a pair, in the mean."""
    acc: float
    mld: float


def development_scores(job: Job, model: Network) -> Scores:
    """Returns the scores by which the best epoch is chosen, from the side that answers."""
    development = job.development
    runtime = build_model(job.description.model, arrays(model), job.description.vocabulary)
    log_probs = log_likelihoods(runtime, development.pairs)
    hypotheses = predictions(runtime, development.sources)
    vocabulary, counted = job.description.vocabulary, job.description.format.counted
    words = [
        counted(vocabulary.target.decode(one.symbols, source.oov))
        for one, source in zip(hypotheses, development.sources, strict=True)
    ]
    references = [[counted(target) for target in own] for own in development.references]
    metrics = evaluate(words, references)
    return Scores(math.fsum(log_probs) / max(1, len(log_probs)), metrics.acc, metrics.mld)


def _save_weights(job: Job, model: Network, progress: Progress) -> None:
    write_tensors(job.folder / WEIGHTS, arrays(model), {"epoch": progress.epoch})
