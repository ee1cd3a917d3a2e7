from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.helpers import result_of, tiny_run, write_epochs
from hardalign.errors import HardalignError
from hardalign.experiments.run import (
    FAILURE,
    RESULT,
    DataFiles,
    Failure,
    Run,
    epochs_of,
    prepare,
    read_failures,
    read_results,
    read_run,
    write_failure,
)
from hardalign.files import write_json
from hardalign.model_folder import METRICS, MODEL, RUN, find_model

OVERRIDES = st.dictionaries(
    st.sampled_from(["epochs", "batch_size", "words"]), st.integers(1, 100), max_size=3
)
RUNS = st.builds(
    Run,
    st.sampled_from(["toy:copy", "toy:reverse", "conll2017/danish"]),
    st.sampled_from(["hard", "hard-feed", "soft"]),
    st.sampled_from(["small", "large"]),
    st.integers(0, 20),
    OVERRIDES,
)


def test_names_can_be_read() -> None:
    assert Run("conll2017/danish", "hard").name == "conll2017-danish.hard.small.0"
    assert Run("toy:copy", "soft", "large", 3).name == "toy-copy.soft.large.3"
    # As 0.2 named them, so that its runs are not repeated.
    overrides = {"batch_size": 50}
    assert Run("a", "hard", overrides=overrides).name == "a.hard.small.0.cd4e2b2c"


@given(RUNS, RUNS)
def test_equal_runs_alone_have_equal_names(one: Run, other: Run) -> None:
    assert (one.name == other.name) == (one == other)
    reordered = dict(reversed(one.overrides.items()))
    assert replace(one, overrides=reordered).name == one.name


def test_what_is_written_is_read(tmp_path: Path) -> None:
    done, failed = tiny_run(), tiny_run("soft")
    for run in (done, failed):
        assert prepare(tmp_path, run)
        assert read_run(tmp_path / run.name) == run
    write_json(tmp_path / done.name / RESULT, asdict(result_of(done)))
    assert not prepare(tmp_path, done)
    write_failure(tmp_path / failed.name, "first")
    write_failure(tmp_path / failed.name, "out of luck", "Traceback …", refused=True)
    assert read_results(tmp_path) == [result_of(done)]
    failure = Failure("out of luck", "Traceback …", 2, refused=True)
    assert read_failures(tmp_path) == {failed.name: failure}


def test_a_folder_belongs_to_one_run(tmp_path: Path) -> None:
    run = tiny_run()
    assert prepare(tmp_path, run)
    assert prepare(tmp_path, run)
    write_json(tmp_path / run.name / RUN, asdict(tiny_run(seed=1)))
    with pytest.raises(HardalignError, match=r"run\.json: describes another run"):
        prepare(tmp_path, run)


def test_folders_of_0_2_are_read(tmp_path: Path) -> None:
    run = tiny_run()
    folder = tmp_path / run.name
    folder.mkdir()
    old = {name: value for name, value in asdict(run).items() if name != "files"}
    write_json(folder / RUN, old)
    write_json(folder / FAILURE, {"error": "x", "traceback": None, "attempt": 1})
    write_json(folder / RESULT, {**asdict(result_of(run)), "run": old})
    assert read_run(folder) == run
    assert read_failures(tmp_path) == {run.name: Failure("x")}
    assert read_results(tmp_path) == [result_of(run)]


def files_of(
    folder: Path, content: str = "a\tb\n", format_: str = "pairs", **settings: str
) -> DataFiles:
    folder.mkdir(exist_ok=True)
    paths = [folder / name for name in ("train", "dev", "test")]
    for path in paths:
        path.write_text(content)
    return DataFiles.of(*paths, format_, **settings)


def test_files_are_known_by_their_content(tmp_path: Path) -> None:
    """Files that moved are the same run; other content or another format is another one."""
    one = Run("mine", "hard", files=files_of(tmp_path / "a"))
    moved = Run("mine", "hard", files=files_of(tmp_path / "b"))
    assert moved == one
    assert moved.name == one.name
    others = [
        Run("mine", "hard"),
        Run("mine", "hard", files=files_of(tmp_path / "c", "a\tc\n")),
        Run("mine", "hard", files=files_of(tmp_path / "d", format_="lexicon")),
        Run("mine", "hard", files=files_of(tmp_path / "e", source_case="lower")),
    ]
    assert len({run.name for run in [one, *others]}) == 5
    assert all(run != one for run in others)
    prepare(tmp_path, one)
    prepare(tmp_path, moved)
    files = read_run(tmp_path / one.name).files
    assert files is not None
    assert files.train == str(tmp_path / "b" / "train")
    for path, words in (("none", "cannot be read"), ("/dev/zero", "not a regular"), ("\0", "null")):
        with pytest.raises(HardalignError, match=words):
            DataFiles.of(*3 * [tmp_path / path], "pairs")


def test_the_model_of_a_run(tmp_path: Path) -> None:
    assert find_model(tmp_path) == tmp_path
    write_json(tmp_path / RUN, asdict(tiny_run()))
    assert find_model(tmp_path) == tmp_path / MODEL


def test_epochs_of(tmp_path: Path) -> None:
    assert epochs_of(tmp_path) == []
    write_epochs(tmp_path, [-2.0, -1.0])
    assert [row["dev_log_likelihood"] for row in epochs_of(tmp_path)] == [-2.0, -1.0]


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(HardalignError, match="none: no such folder"):
        read_results(tmp_path / "none")


@pytest.mark.parametrize("content", ["{", "[]", '{"run": 1}', '{"eror": "x"}'])
@pytest.mark.parametrize("name", [RESULT, FAILURE, RUN])
def test_damaged_files(content: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / name).write_text(content)
    readers = {
        RESULT: read_results,
        FAILURE: read_failures,
        RUN: lambda path: read_run(path / "run"),
    }
    with pytest.raises(HardalignError, match=name):
        readers[name](tmp_path)  # type: ignore[operator]


@pytest.mark.parametrize(
    "change",
    [
        {"metrics": {"acc": "high"}},
        {"metrics": {}},
        {"correct": [1, None]},
        {"correct": [1] * 1000},
        {"seconds": {}},
        {"version": None},
    ],
)
def test_results_that_are_no_figures(change: dict[str, object], tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    write_json(tmp_path / "run" / RESULT, asdict(result_of(tiny_run())) | change)
    with pytest.raises(HardalignError, match=r"result\.json: .*remove the file") as caught:
        read_results(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", ["{", "[1]", '{"epoch": 1}', "\xff"])
def test_damaged_epochs(content: str, tmp_path: Path) -> None:
    write_epochs(tmp_path, [-2.0])
    (tmp_path / MODEL / METRICS).write_text(content, encoding="latin-1")
    with pytest.raises(HardalignError, match=METRICS):
        epochs_of(tmp_path)
