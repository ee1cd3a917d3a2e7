"""The figures in the documents are those of the record, and the record those of the runs."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import matplotlib as mpl
import pytest

from experiments.helpers import result, right
from hardalign.errors import InputError
from hardalign.experiments.report import TASKS, collect
from hardalign.experiments.run import DataFiles, Run
from hardalign.systems import SYSTEMS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def results() -> ModuleType:
    """The script behind `make results`."""
    spec = importlib.util.spec_from_file_location("results", ROOT / "tools" / "results.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_documents_and_record_agree(results: ModuleType) -> None:
    cells = collect(results.read_record(results.RECORD))
    for page in results.PAGES:
        text = page.read_text("utf-8")
        assert "<!-- results:" in text, page
        assert results.written(text, cells) == text, f"{page}: run make results"


def test_tables_follow_the_runs(results: ModuleType) -> None:
    text = "a\n<!-- results:across g2p/NETtalk -->\nstale\n<!-- end -->\nb\n"
    runs = [result(seed=seed, correct=right(70 + seed)) for seed in (0, 2)]
    cells = collect([*runs, result(system="hard-hmm", correct=right(60))])
    assert results.written(text, cells) == (
        "a\n<!-- results:across g2p/NETtalk -->\n"
        "|  | `hard` | `hard-hmm` |\n|---|---|---|\n"
        "| paper | 28.8 |  |\n| hardalign | **29.0 ± 1.4** | 40.0 |\n"
        "<!-- end -->\nb\n"
    )


def test_what_is_added_is_read(results: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    added = [
        result(correct=right(71, 101)),
        result(seed=1, correct=right(70)),
        result("conll2017/danish", "soft", "large", epochs=3),
    ]
    results.add_to_record(path, added[1:])
    results.add_to_record(path, added[:1])
    kept = {one.run.name: one for one in results.read_record(path)}
    assert kept.keys() == {one.run.name for one in added}
    for one in added:
        assert kept[one.run.name].run == one.run
        assert kept[one.run.name].metrics == pytest.approx(one.metrics, abs=1e-5)
        assert kept[one.run.name].correct == one.correct


def test_the_same_run_has_one_row(results: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    results.add_to_record(path, [result(correct=right(50)), result(seed=1)])
    before = path.read_text()
    results.add_to_record(path, [result(seed=1)])
    assert path.read_text() == before
    results.add_to_record(path, [result(correct=right(60))])
    assert sorted(one.metrics["acc"] for one in results.read_record(path)) == [60, 75]


def test_news_files_stopped_by_what_judges_them(results: ModuleType, tmp_path: Path) -> None:
    """Plans of 0.2 had files for the paper's way with NEWS: news15 with nothing held out."""
    path, data = tmp_path / "runs.jsonl", tmp_path / "dev.xml"
    data.touch()
    files = DataFiles.of(tmp_path / "dev.xml", data, data, "news")
    run = Run("EnBa", "hard", overrides={"batch_size": 50}, files=files)
    results.add_to_record(path, [replace(result(), run=run)])
    (kept,) = results.read_record(path)
    overrides = {"batch_size": 50, "hold_out": False}
    assert kept.run == Run("news15/EnBa", "hard", overrides=overrides)
    results.add_to_record(path, [replace(result(), run=replace(run, corpus="mine"))])
    assert len(results.read_record(path)) == 1


def test_the_papers_table(results: ModuleType) -> None:
    runs = [
        result("conll2017/danish", "hard", correct=right(91)),
        result("conll2017/turkish", "hard", correct=right(90)),
        result("conll2017/danish", "soft", correct=right(89)),
        result("conll2017/danish", "hard-hmm"),
    ]
    _, _, soft, hard = results.main_table(collect(runs), ["small"])
    assert hard[1:] == ["`hard`", "4", "2 of 51", "ACC", "92.8", "90.5", "-2.3", "1 of 2"]
    assert soft[1:] == ["`soft`", "3", "1 of 51", "ACC", "89.1", "89.0", "-0.1", "1 of 1"]


def test_findings_are_paired_over_data_sets(results: ModuleType) -> None:
    corpora = ["danish", "turkish", "romanian", "finnish", "german", "dutch"]
    runs = [
        result(f"conll2017/{corpus}", system, correct=right(count + index))
        for index, corpus in enumerate(corpora)
        for system, count in (("hard", 80), ("soft", 79 - index))
    ]
    text = results.findings(collect(runs), [])
    assert "**Hard attention beats soft attention: supported so far.**" in text
    assert "on 6 of 6 data sets, by +3.50 points in the mean (p = 0.031; the paper: " in text
    assert "**Input feeding hurts: open.**" in text


def test_beyond(results: ModuleType) -> None:
    runs = [result(recipe="auto", correct=right(73)), result(recipe="auto", members=5)]
    table = results.beyond_table(collect(runs), [])
    one, five = (row for row in table if "**`hard`" in "".join(row))
    assert one[1:5] == ["**`hard`, small**", "", "1 of 2", "**WER 27.00** (the paper's best 26.6)"]
    assert five[1] == "**`hard`, small, 5 members**"


def test_systems_are_compared_by_one_recipe_over_data_sets(results: ModuleType) -> None:
    auto = {"recipe": "auto"}
    runs = [
        *(result(name, "hard-hmm", correct=right(76), **auto) for name in ("toy:copy", "toy:a")),
        *(result(name, "hard", correct=right(75), **auto) for name in ("toy:copy", "toy:a")),
        result("toy:copy", "hard", correct=right(10)),
        result("toy:copy", "hard", correct=right(10), dropout=0.3, **auto),
    ]
    assert results.paired(collect(runs), ["hard-hmm", "hard", "soft"]) == (
        "- `hard-hmm` is better than `hard` on 2 of 2 data sets, by +1.00 points in the mean "
        "(p = 0.5).\n- –\n"
    )


def test_damaged(results: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text('{"corpus": "toy:copy"}\n')
    with pytest.raises(InputError, match=r"runs\.jsonl, line 1: is not a result"):
        results.read_record(path)


def test_a_figure_of_the_papers_recipe(results: ModuleType, tmp_path: Path) -> None:
    before = dict(mpl.rcParams)
    path = tmp_path / "figure.svg"
    results.save_figure(path, collect([result(epochs=1)]))
    assert not path.exists()
    results.save_figure(path, collect([result()]))
    assert ElementTree.fromstring(path.read_bytes()).tag.endswith("svg")
    assert dict(mpl.rcParams) == before


def test_a_point_for_each_system_and_data_set(results: ModuleType) -> None:
    cells = collect(
        [
            result(correct=right(72)),
            result(system="hard-hmm"),
            result("conll2017/danish", "soft", correct=right(91)),
            result("conll2017/danish", "soft", "large", correct=right(85)),
        ]
    )
    figure = results.draw_paper(cells)
    assert figure is not None
    titles = {ax.get_title(): ax for ax in figure.axes}
    assert list(titles) == [TASKS["grapheme to phoneme"], TASKS["inflection"]]
    g2p, inflection = titles.values()
    diagonal, hard = g2p.lines
    assert list(diagonal.get_xdata()) == list(diagonal.get_ydata())
    assert (*hard.get_xdata(), *hard.get_ydata()) == pytest.approx((71.2, 72))
    _, small, large = inflection.lines
    assert small.get_markerfacecolor() == small.get_color()
    assert large.get_markerfacecolor() == "none"
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["hard (4)", "soft (3)", "soft (3), large"]
    assert results.draw_paper({}) is None
    assert results.draw_paper(collect([result("toy:copy"), result(system="hard-hmm")])) is None


def test_looks_tell_systems_apart(results: ModuleType) -> None:
    colours, marks = results.COLOURS, results.MARKERS
    looks = {(colours[i % len(colours)], marks[i % len(marks)]) for i in range(len(SYSTEMS))}
    assert len(looks) == len(SYSTEMS)
