from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from hardalign.errors import HardalignError, InputError
from hardalign.experiments.plan import load_plan, parse_plan, shipped_plans
from hardalign.experiments.settings import settings_of
from hardalign.report.paper import paper_systems
from hardalign.runs import Run

PAPER = set(paper_systems())


def test_product_of_the_axes() -> None:
    text = """
        systems = ["soft", "hard"]
        corpora = ["cmudict", "toy:copy"]
        seeds = [0, 1]
        overrides = { epochs = 3 }
    """
    runs = parse_plan(text, "a.toml")
    assert len({run.name for run in runs}) == 8
    assert runs[0] == Run("cmudict", "soft", "small", 0, {"epochs": 3})


def test_grids_are_united() -> None:
    text = """
        [[grid]]
        systems = ["soft", "hard"]
        corpora = ["cmudict"]
        [[grid]]
        systems = ["hard"]
        corpora = ["cmudict", "toy:copy"]
    """
    runs = [(run.corpus, run.system) for run in parse_plan(text, "a.toml")]
    assert runs == [("cmudict", "soft"), ("cmudict", "hard"), ("toy:copy", "hard")]


@pytest.mark.parametrize("grid", ["", "[[grid]]\n"])
def test_files_of_ones_own(grid: str, tmp_path: Path) -> None:
    """They are named from the plan's folder, and as good as a corpus."""
    for name in ("train", "dev", "test"):
        (tmp_path / name).write_text("cat\tK AE T\n")
    plan = tmp_path / "plan.toml"
    plan.write_text(
        grid
        + 'systems = ["soft", "hard"]\ncorpora = ["toy:copy", "mine"]\n'
        + '[data.mine]\ntrain = "train"\ndev = "dev"\ntest = "test"\nformat = "lexicon"\n'
        + 'columns = "source,target,-"\nmax_length = 30\n'
    )
    runs = load_plan(str(plan))
    assert [(run.corpus, run.system, run.files is None) for run in runs] == [
        ("toy:copy", "soft", True),
        ("toy:copy", "hard", True),
        ("mine", "soft", False),
        ("mine", "hard", False),
    ]
    files = runs[-1].files
    assert files is not None
    assert (files.test, files.format) == (str(tmp_path / "test"), "lexicon")
    assert files.layout.columns == ("source", "target", "-")
    assert (files.layout.max_length, files.layout.target_separator) == (30, " ")
    plan.write_text(plan.read_text().replace(', "mine"]', "]"))
    with pytest.raises(InputError, match=r"data\.mine: is not among the corpora"):
        load_plan(str(plan))


def test_the_paper() -> None:
    runs = load_plan("paper")
    assert len(runs) == 896
    assert {run.system for run in runs} == PAPER
    assert len(PAPER) == 7
    corpora = Counter(run.corpus.partition("/")[0] for run in runs)
    assert corpora == {"g2p": 2 * 14, "news15": 11 * 14, "conll2017": 51 * 14}
    for run in runs:
        training = settings_of(run).training
        assert training.batch_size == (50 if run.corpus.startswith("news15/") else 20)
        assert training.clip == (5 if run.size == "large" else None)


def test_the_paper_has_three_parts() -> None:
    parts = [run for name in ("g2p", "transliteration", "inflection") for run in load_plan(name)]
    assert sorted(run.name for run in parts) == sorted(run.name for run in load_plan("paper"))


def test_other_shipped_plans() -> None:
    names = {run.name for run in load_plan("paper")}
    assert len(load_plan("subset")) == 25
    assert {run.name for run in load_plan("subset")} <= names
    assert {run.system for run in load_plan("smoke")} == PAPER
    assert set(shipped_plans()) >= {"smoke", "subset", "paper"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("systems = 3 4", ["is not TOML", "line 1"]),
        ('corpora = ["cmudict"]', ["systems: is missing"]),
        ('systems = ["hard"]\ncorpora = "cmudict"', ["corpora", "not a list of names"]),
        ('systems = ["hard"]\ncorpora = []', ["corpora", "not a list"]),
        ('systems = ["hard"]\ncorpora = ["cmudict"]\nseeds = [true]', ["seeds", "numbers"]),
        ('systems = ["hard"]\ncorpora = ["cmudict"]\nseed = [1]', ["seed:", "seeds"]),
        ('systems = ["hrad"]\ncorpora = ["cmudict"]', ["systems", "'hrad'"]),
        ('systems = ["hard"]\ncorpora = ["cmudict"]\nsizes = ["huge"]', ["sizes", "small, large"]),
        ('systems = ["hard"]\ncorpora = ["danish"]', ["corpora", "conll2017/danish"]),
        ('systems = ["hard"]\ncorpora = ["cmudict"]\noverrides = 3', ["overrides", "table"]),
        (
            'systems = ["hard"]\ncorpora = ["cmudict"]\noverrides = { epoch = 1 }',
            ["overrides.epoch:", "epochs"],
        ),
        (
            'systems = ["hard"]\ncorpora = ["cmudict"]\noverrides = { epochs = -1 }',
            ["overrides", "epochs"],
        ),
        (
            'systems = ["hard"]\ncorpora = ["cmudict"]\noverrides = { dropout = nan }',
            ["overrides.dropout: must be a finite number"],
        ),
        ("grid = 3", ["[[grid]]"]),
        ("data = 3", ["[data.NAME]"]),
        ("[data]\nmine = 3", ["[data.mine]"]),
        ('[data.cmudict]\ntrain = "a"', ["data.cmudict", "that no corpus has"]),
        ('[data.mine]\ntrain = "a"\ndev = "b"', ["data.mine.test: must name a file"]),
        ('[data.mine]\nspeech = "a"', ["data.mine.speech: there is no such key"]),
        ('[data.mine]\ntrain = "a"\ndev = "b"\ntest = "c"', ["data.mine:", "a: cannot be read"]),
        (
            '[data.mine]\ntrain = "a"\ndev = "b"\ntest = "c"\nformat = "tsv"',
            ["data.mine", "'tsv'", "lexicon"],
        ),
        (
            '[data.mine]\ntrain = "a"\ndev = "b"\ntest = "c"\ncolumns = ["source"]',
            ["data.mine.columns: ['source'] is not a string"],
        ),
        ('sizes = ["small"]\n[[grid]]\nsystems = ["hard"]', ["sizes", "[[grid]]"]),
    ],
)
def test_what_is_wrong_with_a_plan(text: str, words: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        parse_plan(text, "mine.toml")
    for word in ["mine.toml", *words]:
        assert word in str(caught.value)


def test_plans_of_recipes_can_be_read() -> None:
    plans = list((Path(__file__).parents[2] / "recipes").glob("*.toml"))
    assert plans
    for plan in plans:
        assert load_plan(str(plan))


def test_plans_in_files(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('systems = ["hard"]\ncorpora = ["toy:copy"]')
    assert load_plan(str(path)) == [Run("toy:copy", "hard")]
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))  # by an editor
    assert load_plan(str(path)) == [Run("toy:copy", "hard")]
    path.write_bytes(b"\xff")
    for wrong, words in (
        (path, "cannot be read"),
        (tmp_path, "not a regular file"),
        ("/dev/zero", "not a regular file"),
    ):
        with pytest.raises(HardalignError, match=words):
            load_plan(str(wrong))
    with pytest.raises(HardalignError, match=r"no such plan.*smoke"):
        load_plan("smokey")
