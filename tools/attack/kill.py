"""``make kill``: commands killed at random moments leave intact files and end the same.

PYTHONPATH=tools python -m attack.kill --kills 300 --seed 0
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from attack.processes import SIGNALS, End, run
from hardalign.config import SIZES
from hardalign.errors import HardalignError
from hardalign.files import FRAGMENT
from hardalign.model_folder import CHECKPOINT, CONFIG, METRICS, VOCABULARY, WEIGHTS, load_folder
from hardalign.systems import SYSTEMS

TOY = ("--corpus", "toy:copy", "--set", "words=150", "--epochs", 4, "--batch-size", 10)
FORMS = "".join(
    f"{a}{b}bc\t{a}{b}bcs\tN;PL\n{a}{b}bc\t{a}{b}bc\tN;SG\n" for a in "abcde" for b in "fgh"
)
TRAININGS: dict[str, Sequence[object]] = {
    **{f"train --system {system}": (*TOY, "--system", system) for system in SYSTEMS},
    "train --recipe paper": (*TOY, "--recipe", "paper"),
    "train --members 2": (*TOY, "--members", 2, "--set", "processes=1"),
    "train --members 2 at a time": (*TOY, "--members", 2, "--set", "processes=2"),
    "train --from": (*TOY, "--from", "base", "--seed", 1),
    "train, hallucinated": (
        *("forms.tsv", "--dev", "forms.tsv", "--format", "sigmorphon"),
        *("--epochs", 4, "--set", "hallucinate=100"),
    ),
    "train, known forms": (
        *("forms.tsv", "--dev", "forms.tsv", "--format", "sigmorphon"),
        *("--epochs", 8, "--set", "hallucinate=0", "--set", "known_forms=1"),
    ),
}
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
    """Raises an error unless this holds."""
    if not condition:
        raise BrokenError(message)


def succeed(arguments: Sequence[object], folder: Path) -> End:
    """Runs a command undisturbed."""
    end = run(arguments, folder / "log")
    check(end.status == 0, f"{arguments[0]}: {end.log}")
    return end


def _check_end(end: End, what: str) -> None:
    check(end.killed or end.status == 0, f"{what}: status {end.status}: {end.log}")
    check("Traceback" not in end.log, f"{what}: {end.log}")


def kill_training(what: str, kills: int, draw: random.Random, folder: Path) -> Counter[str]:
    """Trains undisturbed, and repeatedly with kills: the weights must be the same.

    Half of the complete runs are resumed and killed once more, and must lose nothing.
    """
    (folder / "forms.tsv").write_text(FORMS)
    if what == "train --from":
        succeed(["train", *TOY, "--out", folder / "base"], folder)
    options = ["train", *TRAININGS[what], "--resume", "--out"]
    options = [folder / one if one in ("base", "forms.tsv") else one for one in options]
    calm, killed = folder / "calm", folder / "killed"
    seconds = succeed([*options, calm], folder).seconds
    counts: Counter[str] = Counter()
    finished = False
    while counts["kills"] < kills or finished or killed.exists():
        chosen = draw.choice(SIGNALS) if counts["kills"] < kills else None
        moment = draw.uniform(0, seconds / 12 if finished else seconds)
        end = run([*options, killed], folder / "log", chosen, moment)
        _check_end(end, what)
        counts["kills"] += end.killed
        counts[chosen.name if chosen and end.killed else "runs"] += 1
        counts["resumed after the end"] += finished and end.killed
        _check_remains(killed)
        if finished or not end.killed:
            _check_same(calm, killed, over=not end.killed)
        again = not finished and not end.killed and draw.random() < 0.5
        if not again and not end.killed:
            shutil.rmtree(killed)
        finished = again or (finished and end.killed)
    return counts


def _check_remains(folder: Path) -> None:
    """Whatever a kill leaves is intact."""
    for path in folder.rglob(WEIGHTS):
        load_folder(path.parent)
    for path in folder.rglob(METRICS):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        check([row["epoch"] for row in rows] == list(range(1, len(rows) + 1)), str(path))


def _check_same(calm: Path, killed: Path, over: bool) -> None:
    """A complete model has all files of its twin and, after an uninterrupted run, no others."""
    kept = {path.relative_to(calm) for path in calm.rglob("*") if path.name[0] != "."}
    for name in kept:
        one, other = calm / name, killed / name
        if name.name in (WEIGHTS, VOCABULARY, CONFIG):
            check(one.read_bytes() == other.read_bytes(), f"{other}: differs")
        if name.name == METRICS:
            check(_figures(one) == _figures(other), f"{other}: differs")
    if over:
        names = {path.relative_to(killed) for path in killed.rglob("*")}
        more = {name for name in names - kept if name.name not in (CHECKPOINT, ".lock", ".holder")}
        check(not more, f"{killed} has {more}")


def _figures(path: Path) -> list[dict[str, object]]:
    """The rows of metrics.jsonl without timings."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return [
        {name: row[name] for name in row if name not in ("seconds", "words_per_second")}
        for row in rows
    ]


def kill_overwriting(kills: int, draw: random.Random, folder: Path) -> Counter[str]:
    """``train --overwrite`` leaves models that are linked as members intact."""
    precious, out = folder / "precious", folder / "out"
    succeed(["train", *TOY, "--epochs", 1, "--out", precious], folder)
    before = {path.name: path.read_bytes() for path in precious.iterdir()}
    command = ["train", *TOY, "--epochs", 1, "--members", 2, "--set", "processes=1", "--out", out]
    seconds = succeed(command, folder).seconds
    counts: Counter[str] = Counter()
    while counts["kills"] < kills:
        for name in ("member-0", "held-out"):
            shutil.rmtree(out / name, ignore_errors=True)
            if not (out / name).is_symlink():
                (out / name).symlink_to(precious)
        moment = draw.uniform(0, seconds)
        end = run([*command, "--overwrite"], folder / "log", draw.choice(SIGNALS), moment)
        _check_end(end, "train --overwrite")
        counts["kills"] += end.killed
        after = {path.name: path.read_bytes() for path in precious.iterdir()}
        check(after == before, "train --overwrite changed another model")
    succeed([*command, "--overwrite"], folder)
    return counts


def kill_split(kills: int, draw: random.Random, folder: Path) -> Counter[str]:
    """A folder never has files of two splits; a new folder has all of one or none."""
    (folder / "all.tsv").write_text("".join(f"{a}{b}\t{a}\n" for a in range(50) for b in range(20)))
    command = ["split", folder / "all.tsv", "--overwrite", "--seed"]
    whole = {}
    for seed in range(2):
        seconds = succeed([*command, seed, "--out", folder / str(seed)], folder).seconds
        whole[seed] = {path.name: path.read_bytes() for path in (folder / str(seed)).iterdir()}
    counts: Counter[str] = Counter()
    out = folder / "out"
    while counts["kills"] < kills:
        new = draw.random() < 0.5
        shutil.rmtree(out, ignore_errors=True)
        if not new:
            shutil.copytree(folder / "0", out)
        moment = draw.uniform(0, 1.5 * seconds)
        end = run([*command, 1, "--out", out], folder / "log", draw.choice(SIGNALS), moment)
        _check_end(end, "split")
        counts["kills"] += end.killed
        left = {path.name: path.read_bytes() for path in out.glob("*.tsv")}
        check(left in (whole[0], whole[1]) or (not left and (new or end.killed)), f"{left.keys()}")
        succeed([*command, 1, "--out", out], folder)
        after = {path.name: path.read_bytes() for path in out.iterdir()}
        check(after == whole[1], f"split leaves {after.keys()}")
    return counts


def kill_output(verb: str, kills: int, draw: random.Random, folder: Path) -> Counter[str]:
    """The file that a command replaces is the old one or the complete new one.

    ``lexicon`` resumes from partial results, which nobody else may read.
    """
    words = folder / "words"
    words.write_text("".join(f"{''.join(draw.choices('abcdefgh', k=8))}\n" for _ in range(300)))
    model, output = folder / "model", folder / "out" / "new.tsv"
    data = folder / "pairs.tsv"
    data.write_text("".join(f"{c}{d}\t{d} {c}\n" for c in "abcdefgh" for d in "abcdefgh"))
    layout = ["--dev", data, "--format", "lexicon"]
    succeed(["train", data, *layout, "--epochs", 0, "--out", model], folder)
    output.parent.mkdir()
    command = [verb, model, words, "--threads", 2, "--output", output]
    command += ["--scores"] if verb == "predict" else ["--style", "mfa", "--nbest", 3, "--resume"]
    seconds = succeed(command, folder).seconds
    new, old = output.read_bytes(), b"" if verb == "lexicon" else b"what was there before\n"
    counts: Counter[str] = Counter()
    while counts["kills"] < kills:
        output.write_bytes(old)
        output.chmod(0o600)
        before = _fragments(output.parent)
        end = run(command, folder / "log", draw.choice(SIGNALS), draw.uniform(0, seconds))
        _check_end(end, verb)
        content = output.read_bytes()
        check(content == new or (content == old and end.killed), f"{output} is incomplete")
        counts["kills"] += end.killed
        fragments = _fragments(output.parent) - before
        check(not fragments or end.status == -SIGNALS[0], f"{fragments} after {end.status}")
        modes = [path.stat().st_mode & 0o777 for path in output.parent.iterdir()]
        check(set(modes) == {0o600}, f"{modes} beside a file of mode 600")
        if verb == "lexicon" and draw.random() < 0.3:  # resuming gives the same
            succeed(command, folder)
            check(output.read_bytes() == new, f"{output} differs after --resume")
    succeed(command, folder)
    left = [path.name for path in output.parent.iterdir()]
    check(left == [output.name], f"{left} left")
    return counts


def _fragments(folder: Path) -> set[Path]:
    return set(folder.glob(f".*{FRAGMENT}"))


def kill_reproduce(kills: int, draw: random.Random, folder: Path) -> Counter[str]:
    """A killed grid ends with the figures of an undisturbed one, and repeats nothing."""
    (folder / "plan.toml").write_text(PLAN)
    command = ["reproduce", folder / "plan.toml", "--workers", 1, "--out"]
    seconds = succeed([*command, folder / "calm"], folder).seconds
    grid = folder / "killed"
    counts: Counter[str] = Counter()
    while counts["kills"] < kills or grid.exists():
        chosen = draw.choice(SIGNALS) if counts["kills"] < kills else None
        done = {path: path.read_bytes() for path in grid.glob("*/result.json")}
        end = run([*command, grid], folder / "log", chosen, draw.uniform(0, seconds))
        _check_end(end, "reproduce")
        for path, content in done.items():
            check(path.read_bytes() == content, f"{path} was rewritten")
        counts["kills"] += end.killed
        if not end.killed:
            check(_results(folder / "calm") == _results(grid), f"{grid}: other results")
            for path in (folder / "calm").glob(f"*/model/{WEIGHTS}"):
                other = grid / path.relative_to(folder / "calm")
                check(path.read_bytes() == other.read_bytes(), f"{other}")
            shutil.rmtree(grid)
            counts["runs"] += 1
    return counts


def _results(folder: Path) -> dict[str, object]:
    paths = sorted(folder.glob("*/result.json"))
    results = {path.parent.name: json.loads(path.read_text()) for path in paths}
    return {name: result | {"seconds": 0} for name, result in results.items()}


def kill_serve(kills: int, draw: random.Random, folder: Path) -> Counter[str]:
    """A server stopped while eight clients ask gives only right answers, and logs no more."""
    counts: Counter[str] = Counter()
    command = [sys.executable, "-m", "hardalign", "serve", "en-g2p", "--port", "0"]
    right: dict[str, str] = {}
    while counts["kills"] < kills:
        with (folder / "log").open("w+") as log:
            process = subprocess.Popen(command, stderr=log, text=True)
            deadline = time.monotonic() + 60
            while not (found := re.search(r"http://\S+", (folder / "log").read_text())):
                check(
                    process.poll() is None and time.monotonic() < deadline, "serve does not start"
                )
                time.sleep(0.02)
            over = threading.Event()
            asking = (right, counts, over)
            clients = [
                threading.Thread(target=_ask, args=(found[0], *asking), daemon=True)
                for _ in range(8)
            ]
            for client in clients:
                client.start()
            time.sleep(draw.uniform(0, 2))
            chosen = draw.choice(SIGNALS)
            process.send_signal(chosen)
            status = process.wait(60)
            over.set()
            for client in clients:
                client.join()
        said = (folder / "log").read_text()
        check(status == (-chosen if chosen == signal.SIGKILL else 0), f"serve: {status}: {said}")
        check(said.count("\n") == 1, f"serve: {said}")
        counts["kills"] += 1
    check(not counts["wrong"], f"{counts['wrong']} wrong answers")
    return counts


def _ask(address: str, right: dict[str, str], counts: Counter[str], over: threading.Event) -> None:
    """Sends words to a server until it is gone."""
    words = iter(range(10**9))
    while not over.is_set():
        word = f"{'bcdfg'[next(words) % 5]}{'aeiou'[next(words) % 5]}quokka"
        body = json.dumps({"words": [word]}).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{address}/predict", body, headers)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                text = json.load(answer)["answers"][0]["predictions"][0]["text"]
        except (OSError, ValueError):
            continue  # it is stopping
        counts["wrong"] += right.setdefault(word, text) != text
        counts["answers"] += 1


Work = Callable[[int, random.Random, Path], Counter[str]]
OTHERS: dict[str, Work] = {
    "train --overwrite": kill_overwriting,
    "split": kill_split,
    "predict --output": lambda *rest: kill_output("predict", *rest),
    "lexicon": lambda *rest: kill_output("lexicon", *rest),
    "reproduce": kill_reproduce,
    "serve under load": kill_serve,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=300, help="kills of all kinds")
    parser.add_argument("--only", nargs="*", default=[*TRAININGS, *OTHERS], help="only these")
    parser.add_argument("--seed", type=int, default=0, help="for signals and moments")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    os.umask(0o022)
    SIZES["small"] = replace(SIZES["small"], embedding=8, encoder=8, decoder=8)
    import hardalign.training.api  # noqa: F401 - once, for all processes

    total, failed = 0, 0
    with tempfile.TemporaryDirectory(prefix="hardalign-kill-") as name:
        for number, what in enumerate(options.only):
            kinds = len(options.only)
            kills = options.kills * (number + 1) // kinds - options.kills * number // kinds
            folder = Path(name) / re.sub(r"\W+", "-", what)
            folder.mkdir()
            draw = random.Random(f"{options.seed} {what}")
            arguments = (kills, draw, folder)
            try:
                counts = (
                    OTHERS[what](*arguments) if what in OTHERS else kill_training(what, *arguments)
                )
                total += counts["kills"]
                said = ", ".join(
                    f"{count} {kind}" for kind, count in sorted(counts.items()) if count
                )
            except (BrokenError, HardalignError) as error:
                said, failed = f"BROKEN: {error}", failed + 1
            print(f"{what}: {said}", flush=True)
    print(f"{total} kills, seed {options.seed}: {failed} broken")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
