from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from hardalign.errors import HardalignError, InputError
from hardalign.experiments.plan import (
    check_overrides,
    load_plan,
    options_of,
    parse_plan,
    shipped_plans,
)
from hardalign.experiments.run import DataFiles, Run

PAPER = {"soft-feed", "soft-feed-large", "hard-feed", "soft", "hard", "hard-sampled", "monotonic"}


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


def test_a_list_of_values_is_a_sweep() -> None:
    text = """
        systems = ["hard"]
        corpora = ["toy:copy"]
        overrides = { dropout = [0.2, 0.4], epochs = 3, batch_size = [5, 20] }
    """
    values = [
        (run.overrides["dropout"], run.overrides["batch_size"]) for run in parse_plan(text, "")
    ]
    assert values == [(0.2, 5), (0.2, 20), (0.4, 5), (0.4, 20)]
    both = 'systems = ["hard"]\ncorpora = ["toy:copy"]\noverrides = { recipe = ["auto", "paper"] }'
    assert [run.overrides for run in parse_plan(both, "")] == [{"recipe": "auto"}, {}]


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
        options, news = options_of(run), run.corpus.startswith("news15/")
        assert options.get("batch_size", 20) == (50 if news else 20)
        assert run.overrides.get("hold_out", True) == (not news)
        assert options["recipe"] == "paper"
        assert "clip" not in options  # the recipe's


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
        ('corpora = ["cmudict"]', ["missing required field systems"]),
        ('systems = ["hard"]\ncorpora = "cmudict"', ["corpora: Expected array"]),
        ('systems = ["hard"]\ncorpora = []', ["corpora: Expected array of length >= 1"]),
        ('systems = ["hard"]\ncorpora = ["cmudict"]\nseeds = [true]', ["seeds[0]: Expected int"]),
        (
            'systems = ["hard"]\ncorpora = ["cmudict"]\nseed = [1]',
            ["unknown field seed; ", "seeds"],
        ),
        ('systems = ["hrad"]\ncorpora = ["cmudict"]', ["systems", "'hrad'"]),
        ('systems = ["hard"]\ncorpora = ["cmudict"]\nsizes = ["huge"]', ["sizes", "small, large"]),
        ('systems = ["hard"]\ncorpora = ["danish"]', ["corpora", "conll2017/danish"]),
        (
            'systems = ["hard"]\ncorpora = ["cmudict"]\noverrides = 3',
            ["overrides: Expected object", "[overrides]"],
        ),
        (
            'systems = ["hard"]\ncorpora = ["cmudict"]\noverrides = { epoch = 1 }',
            ["overrides: no setting is called 'epoch'", "epochs"],
        ),
        (
            'systems = ["hard"]\ncorpora = ["cmudict"]\noverrides = { epochs = -1 }',
            ["overrides", "epochs"],
        ),
        (
            'systems = ["hard"]\ncorpora = ["cmudict"]\noverrides = { dropout = nan }',
            ["overrides: dropout must be float >= 0"],
        ),
        (
            'systems = ["hard"]\ncorpora = ["cmudict"]\noverrides = { epochs = [] }',
            ["overrides: epochs: is an empty list"],
        ),
        (
            'systems = ["hard"]\ncorpora = ["g2p/NETtalk"]\noverrides = { hold_out = false }',
            ["overrides: hold_out: g2p/NETtalk has a development part"],
        ),
        ("grid = 3", ["[[grid]]"]),
        ("data = 3", ["[data.NAME]"]),
        ("[data]\nmine = 3", ["data: Expected object", "[data.NAME]"]),
        ('[data.cmudict]\ntrain = "a"', ["data.cmudict", "that no corpus has"]),
        ('[data.mine]\ntrain = "a"\ndev = "b"', ["data.mine: test: must name a file"]),
        ('[data.mine]\nspeech = "a"', ["data.mine: speech: no such key"]),
        ('[data.mine]\ntrain = "a"\ndev = "b"\ntest = "c"', ["data.mine:", "a: cannot be read"]),
        (
            '[data.mine]\ntrain = "a"\ndev = "b"\ntest = "c"\nformat = "tsv"',
            ["data.mine", "'tsv'", "lexicon"],
        ),
        (
            '[data.mine]\ntrain = "a"\ndev = "b"\ntest = "c"\ncolumns = ["source"]',
            ["data.mine: columns: Expected str, got array"],
        ),
        ('sizes = ["small"]\n[[grid]]\nsystems = ["hard"]', ["sizes", "[[grid]]"]),
    ],
)
def test_what_is_wrong_with_a_plan(text: str, words: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        parse_plan(text, "mine.toml")
    for word in ["mine.toml", *words]:
        assert word in str(caught.value)


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


FILES = DataFiles("train", "dev", "test", "pairs", "abc")


def test_options_are_those_of_the_size_then_the_overrides() -> None:
    small, large = (options_of(Run("cmudict", "soft", size, 7)) for size in ("small", "large"))
    assert (small["size"], small["system"]) == ("small", "soft")
    assert large["size"] == "large"
    assert (small["seed"], small["recipe"]) == (7, "paper")
    overrides = {"clip": 2, "dropout": 0.1, "copying": True, "words": 9, "members": 3}
    found = options_of(Run("cmudict", "hard", "large", 0, overrides))
    assert (found["size"], found["dropout"], found["copying"]) == ("large", 0.1, True)
    assert (found["clip"], found["members"]) == (2.0, 3)
    assert "words" not in found  # it is the corpus's


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (Run("cmudict", "harder"), "'harder'"),
        (Run("cmudict", "hard", "huge"), "'huge'"),
        (Run("cmudict", "hard", overrides={"dropuot": 0.1}), "'dropuot'; did you mean dropout"),
        (Run("cmudict", "hard", overrides={"epochs": -1}), "epochs"),
        (Run("cmudict", "hard", overrides={"tags": "outside"}), "tags must be inside or beside"),
        (Run("cmudict", "soft", overrides={"copying": True}), "soft cannot copy"),
        (Run("cmudict", "hard", overrides={"members": 0}), "members must be int >= 1"),
        (Run("cmudict", "hard", overrides={"normalization": "NFX"}), "one of NFC"),
        (Run("mine", "hard", overrides={"words": 9}, files=FILES), "words: is for corpora"),
    ],
)
def test_no_such_thing(run: Run, words: str) -> None:
    with pytest.raises(HardalignError, match=words):
        options_of(run)


@pytest.mark.parametrize(
    ("name", "value"),
    [("epochs", 1.5), ("epochs", True), ("clip", "5"), ("tags", 1), ("strip_stress", 1)],
)
def test_values_of_another_type(name: str, value: Any) -> None:
    with pytest.raises(HardalignError, match=f"^{name} must be"):
        check_overrides({name: value})
    assert repr(check_overrides({"clip": 5})) == repr(check_overrides({"clip": 5.0}))
    for axis in ("system", "seed", "size"):
        with pytest.raises(HardalignError, match=axis):
            check_overrides({axis: 1})
