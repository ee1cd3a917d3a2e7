from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiments.helpers import TINY, tiny_run
from hardalign import __version__
from hardalign.data.corpora import Corpus, load_corpus
from hardalign.errors import HardalignError
from hardalign.experiments import worker
from hardalign.experiments.engines import BUSY, DONE, FAILED
from hardalign.experiments.run import (
    FAILURE,
    MODEL,
    RESULT,
    DataFiles,
    Failure,
    Run,
    prepare,
    read_failures,
    read_result,
    write_failure,
)
from hardalign.experiments.worker import execute, work
from hardalign.files import locked
from hardalign.metrics import evaluate
from hardalign.model_folder import WEIGHTS
from hardalign.predictor import load
from hardalign.search import Search
from hardalign.training.run import Reporter


class Interrupting(Reporter):
    """Ends the run after an epoch, as the end of a machine would."""

    def __init__(self, epoch: int) -> None:
        self._epoch = epoch

    def epoch(self, row: dict[str, Any]) -> None:
        if row["epoch"] == self._epoch:
            raise KeyboardInterrupt


def run(folder: Path, what: Run, reporter: Callable[[], Reporter] = Reporter) -> Any:
    folder.mkdir(exist_ok=True)
    return execute(what, folder, reporter(), device="cpu")


@pytest.mark.parametrize("system", ["hard", "monotonic"])
def test_result(system: str, tmp_path: Path) -> None:
    what = tiny_run(system)
    result = run(tmp_path, what)
    assert read_result(tmp_path) == result
    test = load_corpus("toy:copy", size=60).test
    predictor = load(tmp_path / MODEL)
    predicted = [best.symbols for (best,) in predictor.answers(test, Search())]
    assert result.metrics == evaluate(predicted, [item.targets for item in test]).to_dict()
    assert result.run == what
    assert result.epochs == 2
    assert result.sources == len(result.correct) == len(test)
    assert result.metrics["acc"] == pytest.approx(100 * sum(result.correct) / result.sources)
    assert result.parameters == predictor.parameters
    assert result.seconds > 0
    assert result.version == __version__


def test_an_interrupted_run_goes_on(tmp_path: Path) -> None:
    what = tiny_run(epochs=3)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "twice", what, lambda: Interrupting(2))
    assert not (tmp_path / "twice" / RESULT).exists()
    twice, once = run(tmp_path / "twice", what), run(tmp_path / "once", what)
    assert replace(twice, seconds=0.0) == replace(once, seconds=0.0)
    weights = {(tmp_path / name / MODEL / WEIGHTS).read_bytes() for name in ("once", "twice")}
    assert len(weights) == 1


def test_a_complete_run_is_not_repeated(tmp_path: Path) -> None:
    first = run(tmp_path, tiny_run())
    again = run(tmp_path, tiny_run(), lambda: Interrupting(1))
    assert again == first


def test_seeds_share_their_test_words(tmp_path: Path) -> None:
    one, other = (run(tmp_path / str(seed), tiny_run(seed=seed)) for seed in (0, 1))
    assert one.sources_sha256 == other.sources_sha256
    weights = {(tmp_path / name / MODEL / WEIGHTS).read_bytes() for name in ("0", "1")}
    assert len(weights) == 2
    fewer = run(tmp_path / "fewer", tiny_run(words=30))
    assert fewer.sources_sha256 != one.sources_sha256


def test_files_of_ones_own(tmp_path: Path) -> None:
    """Trained as the same words of a corpus are, and evaluated on the third file."""
    corpus = load_corpus("toy:copy", size=60)
    paths = []
    for name, part in (("train", corpus.train), ("dev", corpus.dev), ("test", corpus.test)):
        lines = (f"{''.join(item.targets[0])}\t{item.text}\n" for item in part)
        paths.append(tmp_path / f"{name}.tsv")
        paths[-1].write_text("".join(lines), encoding="utf-8")
    overrides = {name: value for name, value in TINY.items() if name != "words"}
    files = DataFiles.of(*paths, "pairs", columns="target,source")
    what = Run("mine", "hard", overrides=overrides, files=files)
    result, expected = run(tmp_path / "files", what), run(tmp_path / "corpus", tiny_run())
    assert read_result(tmp_path / "files") == result
    assert result.metrics == expected.metrics
    assert result.correct == expected.correct
    assert result.sources_sha256 == expected.sources_sha256
    assert result.run == what
    paths[2].write_text("a\ta\n")
    with pytest.raises(HardalignError, match="has changed"):
        run(tmp_path / "again", what)


def test_an_ensemble_is_a_run(tmp_path: Path) -> None:
    """Of members that are the runs of the seeds, whose epochs and time it has together."""
    result = run(tmp_path / "both", tiny_run(members=2))
    assert result.epochs == 4
    for number in (0, 1):
        alone = run(tmp_path / str(number), tiny_run(seed=number))
        member = tmp_path / "both" / MODEL / f"member-{number}" / WEIGHTS
        assert member.read_bytes() == (tmp_path / str(number) / MODEL / WEIGHTS).read_bytes()
        assert result.parameters == 2 * alone.parameters
    assert read_result(tmp_path / "both") == result


@pytest.mark.parametrize(
    ("override", "lines", "format_", "source", "target"),
    [
        ({"normalization": "NFD"}, "가나\tk\n나가\tn\n", "pairs", "\u1100\u1102\u1161", "kn"),
        ({"recipe": "auto"}, "가나\tk\n나가\tn\n", "pairs", "\u1100\u1102\u1161", "kn"),
        ({"target_parts": True}, "a\taː\nt\ttʰ\n", "lexicon", "at", ("+ʰ", "+ː", "a", "t")),
    ],
)
def test_how_data_is_read(
    override: dict[str, Any], lines: str, format_: str, source: str, target: str, tmp_path: Path
) -> None:
    paths = [tmp_path / f"{name}.tsv" for name in ("train", "dev", "test")]
    for path in paths:
        path.write_text(lines, encoding="utf-8")
    overrides = {name: value for name, value in TINY.items() if name != "words"} | override
    files = DataFiles.of(*paths, format_)
    result = run(tmp_path / "run", Run("mine", "hard", overrides=overrides, files=files))
    predictor = load(tmp_path / "run" / MODEL)
    right = [
        predictor(line.split("\t")[0]).text == line.split("\t")[1]
        for line in lines.split("\n")[:-1]
    ]
    assert result.correct == right
    vocabulary = predictor.description.vocabulary
    assert vocabulary.source.letters == tuple(source)
    assert vocabulary.target.letters == tuple(target)


def test_nothing_held_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the paper did with NEWS: all of train is learned from, and test is the development set."""
    whole = load_corpus("toy:copy", size=60)
    seen: list[Corpus] = []

    def train(corpus: Corpus, **_: Any) -> None:
        seen.append(corpus)
        raise KeyboardInterrupt

    monkeypatch.setattr(worker, "load_corpus", lambda *_, **__: whole)
    monkeypatch.setattr("hardalign.train", train)
    for hold_out in (True, False):
        overrides = {"batch_size": 50, "hold_out": hold_out}
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path, Run("news15/EnHi", "hard", overrides=overrides))
    honest, paper = seen
    assert honest == whole
    assert (paper.train, paper.dev) == (whole.train + whole.dev, whole.test)


def test_success_removes_the_failure(tmp_path: Path) -> None:
    write_failure(tmp_path, "it was a bad day")
    run(tmp_path, tiny_run())
    assert not (tmp_path / FAILURE).exists()


def prepared(run: Run, tmp_path: Path) -> Path:
    prepare(tmp_path, run)
    return tmp_path / run.name


def test_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = prepared(tiny_run(), tmp_path)
    assert work(folder, "test", "cpu") == DONE
    assert (folder / RESULT).exists()
    log = capsys.readouterr().out
    assert "50 training pairs, after epoch 0" in log
    assert "epoch 2: loss" in log


def test_failed_for_a_known_reason(tmp_path: Path) -> None:
    run = tiny_run(learning_rate=3e38)
    folder = prepared(run, tmp_path)
    for attempt in (1, 2):
        assert work(folder, "test", "cpu") == FAILED
        failure = read_failures(tmp_path)[run.name]
        assert "diverged in epoch 1" in failure.error
        assert failure.traceback is None
        assert (failure.attempt, failure.refused) == (attempt, True)
    assert not (folder / RESULT).exists()


def test_failed_for_an_unknown_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("one\ntwo")

    monkeypatch.setattr(worker, "execute", broken)
    folder = prepared(tiny_run(), tmp_path)
    assert work(folder, "test", "cpu") == FAILED
    (failure,) = read_failures(tmp_path).values()
    assert failure == Failure("ZeroDivisionError: one", failure.traceback, 1)
    assert failure.traceback is not None
    assert "in broken" in failure.traceback


def test_busy(tmp_path: Path) -> None:
    folder = prepared(tiny_run(), tmp_path)
    with locked(folder, "another"):
        assert work(folder, "test", "cpu") == BUSY
    assert not (folder / FAILURE).exists()
