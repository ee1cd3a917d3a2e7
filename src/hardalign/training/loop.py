"""The training loop: steps, evaluation, weights to keep, checkpoints."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor, optim

from hardalign.batches import log_likelihoods
from hardalign.config import TrainingConfig
from hardalign.data.vocabulary import Encoded, shuffled_batches
from hardalign.errors import HardalignError
from hardalign.metrics import evaluate
from hardalign.model_folder import WEIGHTS, write_tensors
from hardalign.search import predictions
from hardalign.systems.model import build_model
from hardalign.systems.network import Network, collate
from hardalign.training.recipe import cosine_rate, described
from hardalign.training.run import (
    Progress,
    Reporter,
    Row,
    Run,
    arrays,
    restore_checkpoint,
    save_checkpoint,
)


def train(run: Run, reporter: Reporter) -> Progress:
    """Train a run to its end, starting from the checkpoint in its folder if there is one.

    After every epoch the folder holds a complete checkpoint and the weights to keep: the last ones,
    or in the paper's recipe those of the best epoch so far.
    """
    description, folder, pairs = run.description, run.folder, run.pairs
    config, device = description.training, find_device(run.device)
    with _torch_threads(config.threads or 1):
        # A new or fine-tuned model, or the one in the checkpoint.
        torch.manual_seed(config.seed)
        model = Network(description.model, description.vocabulary)
        model.count(pairs)
        model.to(device)
        optimizer = optim.AdamW(
            model.parameters(), config.learning_rate, weight_decay=config.weight_decay, fused=True
        )
        progress = restore_checkpoint(folder, model, optimizer)
        if progress is None:
            progress = Progress(config.learning_rate)
            model.prepare(pairs)
            if run.start is not None:
                weights = run.start.weights(arrays(model), description.vocabulary)
                model.load_state_dict({name: torch.as_tensor(one) for name, one in weights.items()})
        if not (folder / WEIGHTS).exists():
            if progress.best_epoch != progress.epoch:
                raise HardalignError(
                    f"{folder}: the weights of the best epoch, {progress.best_epoch}, are gone, "
                    f"and the checkpoint has those of epoch {progress.epoch}; bring {WEIGHTS} "
                    "back, or start anew with --overwrite"
                )
            _save_weights(run, model, progress)

        if run.call is not None:  # an ensemble reports it once for all members
            reporter.note(described(run.examples, description.model, config))
        reporter.begin(progress, run)
        if progress.epoch and _ended(progress, config):
            reporter.note(f"{folder}: nothing was left to train after epoch {progress.epoch}")
        try:
            while not _ended(progress, config):
                # Order and dropout of an epoch depend only on the seed and the epoch's number.
                started = time.perf_counter()
                draw = random.Random(f"{config.seed} {progress.epoch}")
                batches = shuffled_batches(pairs, config.batch_size, draw)
                torch.manual_seed(draw.getrandbits(62))
                loss = _epoch(model, optimizer, batches, progress, config, device, reporter)
                trained = time.perf_counter() - started
                progress.epoch += 1
                _check_loss(loss, progress.epoch)
                scores = development_scores(run, model)
                if scores is not None:
                    _check_loss(-scores.log_likelihood, progress.epoch)

                rate = optimizer.param_groups[0]["lr"]
                keep = True  # the last weights
                if config.recipe == "paper" and scores is not None:
                    keep = _halve_or_keep(progress, config, scores)
                if keep:
                    progress.best_epoch = progress.epoch
                    _save_weights(run, model, progress)

                row: Row = {
                    "epoch": progress.epoch,
                    "loss": loss,
                    "dev_log_likelihood": scores and scores.log_likelihood,
                    "dev_acc": scores and scores.acc,
                    "dev_mld": scores and scores.mld,
                    "learning_rate": rate,
                    "words_per_second": len(pairs) / trained,
                    "seconds": time.perf_counter() - started,
                    "best": keep,
                }
                progress.history.append(row)
                save_checkpoint(folder, model, optimizer, progress)
                reporter.epoch(row)
        finally:
            reporter.end()
    return progress


def _ended(progress: Progress, config: TrainingConfig) -> bool:
    slow = config.recipe == "paper" and progress.learning_rate < config.min_learning_rate
    return slow or progress.epoch >= config.epochs


def _epoch(
    model: Network,
    optimizer: optim.Optimizer,
    batches: Sequence[Sequence[Encoded]],
    progress: Progress,
    config: TrainingConfig,
    device: torch.device,
    reporter: Reporter,
) -> float:
    """Train for one epoch; return the mean loss per pair."""
    model.train()
    losses: list[Tensor] = []
    done, total = 0, sum(map(len, batches))
    for number, batch in enumerate(batches):
        rate = progress.learning_rate
        if config.recipe == "auto":
            step = progress.epoch * len(batches) + number
            rate = cosine_rate(config, step, config.epochs * len(batches))
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.zero_grad()
        loss = model.loss(collate(batch).to(device)).sum()
        # The mean over pairs weights all pairs equally, and so estimates the gradient of the corpus
        # likelihood. The paper's code takes the mean over symbols, and clips its norm.
        parts = len(batch)
        if config.recipe == "paper":
            parts = sum(len(pair.target) for pair in batch)
        (loss / parts).backward()  # type: ignore[no-untyped-call]
        if config.clip is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), config.clip)
        optimizer.step()
        losses.append(loss.detach())  # read at the end, so as not to make a GPU wait
        done += len(batch)
        reporter.advance(done, total)
    return math.fsum(torch.stack(losses).tolist()) / total


def _check_loss(loss: float, epoch: int) -> None:
    if math.isnan(loss) or loss == math.inf:
        raise HardalignError(
            f"training diverged in epoch {epoch}: the loss is {loss}; try a smaller learning rate "
            "(--set learning_rate=0.0005), or clip gradients (--set clip=1)"
        )


class Scores(NamedTuple):
    """Development-set scores of a model."""

    log_likelihood: float
    """Mean over pairs."""
    acc: float
    mld: float


def development_scores(run: Run, model: Network) -> Scores | None:
    """Score a model on the development set with the NumPy runtime; None if there is none."""
    if not run.dev:
        return None
    vocabulary, counted = run.description.vocabulary, run.description.format.counted
    runtime = build_model(run.description.model, arrays(model), vocabulary)
    log_probs = log_likelihoods(runtime, run.dev_pairs)
    sources = [source for source, _ in run.dev_words]
    answers = [
        counted(vocabulary.target.decode(best.symbols, source.oov))
        for best, source in zip(predictions(runtime, sources), sources, strict=True)
    ]
    metrics = evaluate(answers, [list(map(counted, targets)) for _, targets in run.dev_words])
    return Scores(math.fsum(log_probs) / max(1, len(log_probs)), metrics.acc, metrics.mld)


def _halve_or_keep(progress: Progress, config: TrainingConfig, scores: Scores) -> bool:
    """Halve the learning rate if due in the paper's recipe; return whether the epoch is the best.

    The rate is halved when the log-likelihood has not improved for ``patience`` epochs. The best
    epoch has the highest accuracy, and among equals the smallest edit distance.
    """
    progress.stale += 1
    if progress.best_log_likelihood is None or scores.log_likelihood > progress.best_log_likelihood:
        progress.best_log_likelihood, progress.stale = scores.log_likelihood, 0
    elif progress.stale >= config.patience:
        progress.learning_rate, progress.stale = progress.learning_rate / 2, 0
    if (scores.acc, -scores.mld) <= (progress.best_acc, -progress.best_mld):
        return False
    progress.best_acc, progress.best_mld = scores.acc, scores.mld
    return True


def _save_weights(run: Run, model: Network, progress: Progress) -> None:
    write_tensors(run.folder / WEIGHTS, arrays(model), {"epoch": progress.epoch})


def find_device(name: str) -> torch.device:
    """Return a device by name; ``auto`` is a GPU if there is one."""
    there = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    if name == "auto":
        name = next(kind for kind, is_there in there.items() if is_there)
    if name not in there:
        raise HardalignError(f"no device is called {name!r}; there are auto, {', '.join(there)}")
    if not there[name]:
        raise HardalignError(f"there is no {name} device here; choose --device auto")
    return torch.device(name)


@contextmanager
def _torch_threads(threads: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)
