"""The side of `make bench-peers` that runs yoyodyne, in an environment of its own.

Reads requests from standard input, one per line, and answers each with one line of JSON:

    train SYSTEM FILE     one optimizer step on each batch of the file's pairs, in their order
    decode SYSTEM FILE    greedy predictions for the file's words

A file has a word, a tab and its phonemes on each line. Batches are made before the clock starts,
as yoyodyne makes them in a process of its own; Lightning's loop is not counted either.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import time
import warnings
from pathlib import Path

import lightning
import torch
from yoyodyne import data, models
from yoyodyne.data import collators, datasets, indexes, mappers

SYSTEMS = {
    "hard": models.HardAttentionLSTMModel,  # zeroth order, not monotonic
    "soft": models.SoftAttentionLSTMModel,
}
Pair = tuple[str, list[str]]


def read(path: str) -> list[Pair]:
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return [(word, phonemes.split()) for word, phonemes in (line.split("\t") for line in lines)]


class System:
    """A model of size small with its optimizer, as yoyodyne sets them up."""

    def __init__(self, name: str, index: indexes.Index, longest: int) -> None:
        torch.manual_seed(0)
        sizes = {"embedding_size": 100, "hidden_size": 200, "layers": 1, "dropout": 0.2}
        self.mapper = mappers.Mapper(index)
        self.model = SYSTEMS[name](
            source_encoder=models.modules.LSTMEncoder(bidirectional=True, **sizes),
            embedding_size=100,
            decoder_hidden_size=200,
            decoder_layers=1,
            decoder_dropout=0.2,
            compute_accuracy=False,
            max_target_length=longest,
            vocab_size=index.vocab_size,
            target_vocab_size=index.target_vocab_size,
        )
        self.trainer = lightning.Trainer(  # outside training, models ask it what is going on
            accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False
        )
        self.model.trainer = self.trainer
        self.optimizer = self.model.configure_optimizers()[0][0]

    def batches(self, pairs: list[Pair], size: int) -> list[data.Batch]:
        source, target = self.mapper.encode_source, self.mapper.encode_target
        items = [datasets.Item(source(word), target=target(said)) for word, said in pairs]
        collate = collators.Collator(has_features=False, has_target=True)
        return [collate(items[start : start + size]) for start in range(0, len(items), size)]

    def train(self, pairs: list[Pair], size: int) -> tuple[float, float]:
        """Seconds of all steps, and of the median one."""
        batches = self.batches(pairs, size)
        self.model.train()
        seconds = []
        for batch in batches:
            start = time.perf_counter()
            self.optimizer.zero_grad()
            output = self.model(batch)  # the loss itself, if there is no function for it
            loss = self.model.loss_func
            (loss(output, batch.target.tensor) if loss else output).backward()
            self.optimizer.step()
            seconds.append(time.perf_counter() - start)
        return sum(seconds), sorted(seconds)[len(seconds) // 2]

    def decode(self, pairs: list[Pair], size: int) -> tuple[float, float]:
        """Seconds, and the share of words that were right."""
        batches = self.batches(pairs, size)
        self.model.eval()
        start = time.perf_counter()
        with torch.inference_mode():
            found = [self.model.predict_step(batch, 0) for batch in batches]
        seconds = time.perf_counter() - start
        decode = self.mapper.decode_target
        said = [decode(row) for rows in found for row in rows.tolist()]
        right = sum(got == wanted for got, (_, wanted) in zip(said, pairs, strict=True))
        return seconds, right / len(pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pairs", help="file of all pairs, for the symbols there are")
    parser.add_argument("--batch", type=int, default=20, help="pairs per optimizer step")
    parser.add_argument("--decode-batch", type=int, default=256, help="words decoded together")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore")
    pairs = read(options.pairs)
    index = indexes.Index(
        source_vocabulary={letter for word, _ in pairs for letter in word},
        target_vocabulary={phoneme for _, said in pairs for phoneme in said},
        tie_embeddings=False,  # as ours; the softmax is over phonemes alone
    )
    longest = max(len(said) for _, said in pairs) + 1
    systems = {name: System(name, index, longest) for name in SYSTEMS}
    for line in sys.stdin:
        task, name, path = line.rstrip("\n").split(" ", 2)
        system, wanted = systems[name], read(path)
        answer: dict[str, object] = {"system": name, "parameters": system.model.num_parameters}
        if task == "train":
            seconds, median = system.train(wanted, options.batch)
            answer |= {"steps": -(-len(wanted) // options.batch), "median_step": median}
        else:
            seconds, answer["correct"] = system.decode(wanted, options.decode_batch)
        answer["words_per_second"] = len(wanted) / seconds
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
