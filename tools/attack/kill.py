"""``make kill``: commands killed at random moments leave what is whole, and end the same.

PYTHONPATH=tools python -m attack.kill --kills 10 --seed 0
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

from attack.processes import SIGNALS, End, run
from hardalign.config import SIZES
from hardalign.errors import HardalignError
from hardalign.files import FRAGMENT
from hardalign.model_folder import CHECKPOINT, CONFIG, METRICS, VOCABULARY, WEIGHTS, load_folder
from hardalign.systems import SYSTEMS

EPOCHS, WORDS = 4, 150
PLAN = """\
systems = ["hard", "monotonic"]
corpora = ["toy:copy"]
[overrides]
words = 150
epochs = 3
embedding = 8
encoder = 8
decoder = 8
"""


class BrokenError(Exception):
    """Something did not survive."""


def check(condition: bool, message: str) -> None:
    """Complains of what does not hold."""
    if not condition:
        raise BrokenError(message)


def kill_training(system: str, kills: int, draw: random.Random, folder: Path) -> Counter[str]:
    """Trains a system in peace, and again and again with kills; the weights must be the same."""
    log = folder / "log"
    options = ["train", "--corpus", "toy:copy", "--set", f"words={WORDS}", "--system", system]
    options += ["--epochs", EPOCHS, "--batch-size", 10, "--resume", "--out"]
    calm = run([*options, folder / "calm"], log)
    check(calm.status == 0, f"{system}: {calm.log}")
    counts: Counter[str] = Counter()
    while counts["kills"] < kills or counts["unfinished"]:
        counts["unfinished"] = 1
        chosen = draw.choice(SIGNALS) if counts["kills"] < kills else None
        end = run([*options, folder / "killed"], log, chosen, draw.uniform(0, calm.seconds))
        _check_end(end, system)
        if end.killed:
            counts["kills"] += 1
            counts[str(chosen and chosen.name)] += 1
            _check_remains(folder / "killed")
        else:
            _check_same(folder / "calm", folder / "killed")
            shutil.rmtree(folder / "killed")
            counts["runs"] += 1
            counts["unfinished"] = 0
    return counts


def _check_end(end: End, what: str) -> None:
    check(end.killed or end.status == 0, f"{what}: status {end.status}: {end.log}")
    check("Traceback" not in end.log, f"{what}: {end.log}")


def _check_remains(folder: Path) -> None:
    """Whatever is there after a kill is whole."""
    if (folder / WEIGHTS).exists():
        load_folder(folder)
    if (folder / METRICS).exists():
        rows = [json.loads(line) for line in (folder / METRICS).read_text().splitlines()]
        check([row["epoch"] for row in rows] == list(range(1, len(rows) + 1)), METRICS)


def _check_same(calm: Path, killed: Path) -> None:
    for name in (WEIGHTS, VOCABULARY, CONFIG):
        check((calm / name).read_bytes() == (killed / name).read_bytes(), f"{killed}: {name}")
    check(_figures(calm) == _figures(killed), f"{killed}: {METRICS}")
    names = {path.name for path in killed.iterdir()}
    kept = {WEIGHTS, VOCABULARY, CONFIG, METRICS, CHECKPOINT, ".lock", ".holder"}
    check(names <= kept, f"{killed} has {names - kept}")


def _figures(folder: Path) -> list[dict[str, object]]:
    """The rows of metrics.jsonl without what depends on the clock."""
    rows = [json.loads(line) for line in (folder / METRICS).read_text().splitlines()]
    return [
        {name: row[name] for name in row if name not in ("seconds", "words_per_second")}
        for row in rows
    ]


def kill_predict(kills: int, draw: random.Random, folder: Path) -> Counter[str]:
    """The file that ``predict --output`` replaces is the old one or the whole new one."""
    words = folder / "words"
    words.write_text("".join(f"{''.join(draw.choices('abcdefgh', k=8))}\n" for _ in range(300)))
    model, output, log = folder / "model", folder / "out" / "predicted.tsv", folder / "log"
    end = run(
        ["train", "--corpus", "toy:copy", "--set", "words=60", "--epochs", 0, "--out", model], log
    )
    check(end.status == 0, end.log)
    output.parent.mkdir()
    command = ["predict", model, words, "--scores", "--threads", 2, "--output", output]
    calm = run(command, log)
    check(calm.status == 0, calm.log)
    new, old = output.read_bytes(), b"what was there before\n"
    counts: Counter[str] = Counter()
    while counts["kills"] < kills:
        output.write_bytes(old)
        before = _fragments(output.parent)
        end = run(command, log, draw.choice(SIGNALS), draw.uniform(0, calm.seconds))
        _check_end(end, "predict --output")
        content = output.read_bytes()
        check(content == new or (content == old and end.killed), f"{output} is half written")
        counts["kills"] += end.killed
        counts["runs"] += not end.killed
        fragments = _fragments(output.parent) - before
        check(not fragments or end.status == -SIGNALS[0], f"{fragments} after {end.status}")
        counts["fragments"] += len(fragments)
    check(run(command, log).status == 0, "predict --output fails after kills")
    check(not _fragments(output.parent), "fragments stay")
    return counts


def _fragments(folder: Path) -> set[Path]:
    return set(folder.glob(f".*{FRAGMENT}"))


def kill_reproduce(kills: int, draw: random.Random, folder: Path) -> Counter[str]:
    """A grid that is killed ends with the figures of one that is not, and repeats nothing."""
    (folder / "plan.toml").write_text(PLAN)
    command = ["reproduce", folder / "plan.toml", "--workers", 1, "--out"]
    calm = run([*command, folder / "calm"], folder / "log")
    check(calm.status == 0, calm.log)
    counts: Counter[str] = Counter()
    while counts["kills"] < kills or counts["unfinished"]:
        counts["unfinished"] = 1
        chosen = draw.choice(SIGNALS) if counts["kills"] < kills else None
        grid = folder / "killed"
        done = {path: path.read_bytes() for path in grid.glob("*/result.json")}
        end = run([*command, grid], folder / "log", chosen, draw.uniform(0, calm.seconds))
        _check_end(end, "reproduce")
        for path, content in done.items():
            check(path.read_bytes() == content, f"{path} was made anew")
        counts["kills"] += end.killed
        if not end.killed:
            check(_results(folder / "calm") == _results(grid), f"{grid}: other results")
            for path in (folder / "calm").glob(f"*/model/{WEIGHTS}"):
                other = grid / path.relative_to(folder / "calm")
                check(path.read_bytes() == other.read_bytes(), f"{other}")
            shutil.rmtree(grid)
            counts["runs"] += 1
            counts["unfinished"] = 0
    return counts


def _results(folder: Path) -> dict[str, object]:
    paths = sorted(folder.glob("*/result.json"))
    results = {path.parent.name: json.loads(path.read_text()) for path in paths}
    return {name: result | {"seconds": 0} for name, result in results.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=10, help="of the training of each system")
    parser.add_argument("--predict", type=int, default=30, help="kills of predict --output")
    parser.add_argument("--reproduce", type=int, default=6, help="kills of reproduce")
    parser.add_argument("--systems", nargs="*", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--seed", type=int, default=0, help="of the signals and the moments")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    SIZES["small"] = replace(SIZES["small"], embedding=8, encoder=8, decoder=8)
    import hardalign.training.api  # noqa: F401 - once, for all processes

    jobs = [(one, options.kills, kill_training) for one in options.systems]
    total, failed = 0, 0
    with tempfile.TemporaryDirectory(prefix="hardalign-kill-") as name:
        for what, kills, work in [
            *((f"train --system {one}", kills, (one, work)) for one, kills, work in jobs),
            ("predict --output", options.predict, (None, kill_predict)),
            ("reproduce", options.reproduce, (None, kill_reproduce)),
        ]:
            if not kills:
                continue
            folder = Path(name) / what.replace(" ", "")
            folder.mkdir()
            draw = random.Random(f"{options.seed} {what}")
            system, function = work
            try:
                arguments = (kills, draw, folder)
                counts = function(*((system, *arguments) if system else arguments))
                total += counts["kills"]
                del counts["unfinished"]
                said = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
            except (BrokenError, HardalignError) as error:
                said, failed = f"BROKEN: {error}", failed + 1
            print(f"{what}: {said}", flush=True)
    print(f"{total} kills, seed {options.seed}: {failed} broken")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
