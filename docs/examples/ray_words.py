"""Pronounce any number of words on a Ray cluster: one predictor per worker, resumable output.

python ray_words.py WORDS.txt OUT [--workers 2] [--address auto] [--part 50000]
"""

import argparse
from pathlib import Path

import numpy as np
import ray

import hardalign


class Answer:
    """A worker: loads the model once, then answers batch after batch."""

    def __init__(self, model: str) -> None:
        self.model = hardalign.load(model)

    def __call__(self, batch: dict[str, np.ndarray]) -> dict[str, list[object]]:
        found = self.model([str(word) for word in batch["text"]])
        return {
            "word": list(batch["text"]),
            "answer": [one.text for one in found],
            "log_prob": [one.log_prob for one in found],
        }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("words", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--model", default="en-g2p")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--address", default=None)
    parser.add_argument("--part", type=int, default=50_000, help="words per output folder")
    options = parser.parse_args()
    ray.init(address=options.address, include_dashboard=False)
    words = options.words.read_text("utf-8").splitlines()
    for start in range(0, len(words), options.part):
        part = options.out / f"part-{start:012}"
        if (part / "DONE").exists():  # in an earlier run
            continue
        rows = ray.data.from_items([{"text": word} for word in words[start : start + options.part]])
        answered = rows.map_batches(
            Answer,
            fn_constructor_args=(options.model,),
            concurrency=options.workers,
            batch_size=2000,
        )
        answered.write_csv(str(part), mode=ray.data.SaveMode.OVERWRITE)
        (part / "DONE").touch()


if __name__ == "__main__":
    main()
