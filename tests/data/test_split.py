from __future__ import annotations

import gzip
import os
import subprocess
import sys
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardalign.data import split
from hardalign.data.formats import FORMATS, training_pairs
from hardalign.data.reading import Skipped, read_examples
from hardalign.data.split import Part, split_file
from hardalign.errors import HardalignError

LINES = [f"{word}\t{form}" for word in "abcdefghij" for form in (f"{word}1", f"{word}2")]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "all.tsv"
    path.write_text("\n".join(LINES) + "\n")
    return path


def lines_of(part: Part) -> list[str]:
    return part.path.read_text(encoding="utf-8").splitlines()


def test_every_line_goes_to_one_part_and_every_source_too(file: Path, tmp_path: Path) -> None:
    train, dev, test = split_file(file, FORMATS["pairs"], tmp_path / "out", dev=0.1, test=0.2)
    assert [part.path.name for part in (train, dev, test)] == ["train.tsv", "dev.tsv", "test.tsv"]
    assert [part.examples for part in (train, dev, test)] == [14, 2, 4]
    assert [part.sources for part in (train, dev, test)] == [7, 1, 2]
    contents = [lines_of(part) for part in (train, dev, test)]
    assert sorted(chain(*contents)) == sorted(LINES)
    assert all(content == sorted(content) for content in contents)
    sources = [{line[0] for line in content} for content in contents]
    assert sum(map(len, sources)) == len(set.union(*sources)) == 10


def test_the_seed_decides(file: Path, tmp_path: Path) -> None:
    def split_by(seed: int) -> list[list[str]]:
        out = tmp_path / "out"
        return [
            lines_of(part)
            for part in split_file(file, FORMATS["pairs"], out, seed=seed, overwrite=True)
        ]

    assert split_by(1) == split_by(1)
    assert len({str(split_by(seed)) for seed in range(5)}) > 1


def test_forms_are_split_by_lemma(tmp_path: Path) -> None:
    rows = [f"{lemma}\t{lemma}{tag}\tV;{tag}" for lemma in "abcdef" for tag in ("PST", "PRS")]
    (tmp_path / "forms").write_text("\n".join(rows))
    parts = split_file(tmp_path / "forms", FORMATS["sigmorphon"], tmp_path / "out")
    assert [(part.examples, part.sources) for part in parts] == [(8, 4), (2, 1), (2, 1)]


def test_spellings_that_are_read_alike_stay_together_and_as_they_are(tmp_path: Path) -> None:
    lower = replace(FORMATS["pairs"], source_case="lower")
    rows = ["é\t1", "e\u0301\t2", "É\t3", "b\t4"]
    (tmp_path / "all").write_text("\n".join(rows), encoding="utf-8")
    train, test = split_file(tmp_path / "all", lower, tmp_path / "out", dev=0, test=0.5)
    assert sorted(lines_of(train) + lines_of(test)) == sorted(rows)
    assert {train.examples, test.examples} == {1, 3}
    assert not (tmp_path / "out" / "dev.tsv").exists()


def test_blank_lines_gzip_and_unused_columns(tmp_path: Path) -> None:
    layout = replace(FORMATS["lexicon"], columns=("-", "source", "target"))
    rows = [f"id {n}\tw{n}\tA  B " for n in range(10)]
    (tmp_path / "all.gz").write_bytes(gzip.compress("\n\n".join(rows).encode()))
    skipped = Skipped()
    parts = split_file(tmp_path / "all.gz", layout, tmp_path / "out", skipped=skipped)
    assert sorted(chain(*map(lines_of, parts))) == rows
    assert skipped.blank_lines == 9


@settings(deadline=None, max_examples=25)
@given(st.lists(st.text("aé&<>\"'한 ", min_size=1).map(str.strip).filter(bool), min_size=3))
def test_names_in_xml_become_pairs(
    tmp_path_factory: pytest.TempPathFactory, names: list[str]
) -> None:
    from xml.sax.saxutils import escape

    folder = tmp_path_factory.mktemp("news")
    body = "".join(
        f"<Name><SourceName>{k}</SourceName><TargetName>{escape(name)}</TargetName>"
        "<TargetName>x</TargetName></Name>"
        for k, name in enumerate(names)
    )
    (folder / "all.xml").write_text(f"<c>{body}</c>", encoding="utf-8")
    parts = split_file(folder / "all.xml", FORMATS["news"], folder / "out")
    read = [e for part in parts for e in read_examples(part.path, FORMATS["pairs"], "training")]
    whole = training_pairs(read_examples(folder / "all.xml", FORMATS["news"], "training"))
    assert sum(part.examples for part in parts) == len(names)
    assert sorted((e.text, e.targets) for e in read) == sorted((e.text, e.targets) for e in whole)


@pytest.mark.parametrize(("dev", "test"), [(-0.1, 0.5), (0.5, 0.5), (0, 0), (0.1, 2)])
def test_impossible_shares(file: Path, tmp_path: Path, dev: float, test: float) -> None:
    with pytest.raises(HardalignError, match="together above 0 and below 1"):
        split_file(file, FORMATS["pairs"], tmp_path / "out", dev=dev, test=test)
    assert not (tmp_path / "out").exists()


def test_too_few_sources(tmp_path: Path) -> None:
    (tmp_path / "all").write_text("a\tb\na\tc\nb\td\n")
    with pytest.raises(HardalignError, match="2 different sources are too few"):
        split_file(tmp_path / "all", FORMATS["pairs"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_nothing_is_replaced_without_being_told(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "dev.tsv").write_text("mine")
    with pytest.raises(HardalignError, match=r"dev\.tsv: already exists"):
        split_file(file, FORMATS["pairs"], out)
    assert (out / "dev.tsv").read_text() == "mine"
    assert len(split_file(file, FORMATS["pairs"], out, overwrite=True)) == 3
    assert len(split_file(file, FORMATS["pairs"], out, test=0, overwrite=True)) == 2
    assert not (out / "test.tsv").exists()  # its words may be in train now


def test_a_split_that_fails_changes_nothing(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_at_dev(path: Path, content: bytes) -> None:
        if path.name == "dev.tsv":
            raise HardalignError("disk full")
        path.write_bytes(content)

    out = tmp_path / "out"
    before = [lines_of(part) for part in split_file(file, FORMATS["pairs"], out)]
    monkeypatch.setattr(split, "write_bytes", fail_at_dev)
    for folder in (out, tmp_path / "new"):
        with pytest.raises(HardalignError, match="disk full"):
            split_file(file, FORMATS["pairs"], folder, seed=1, overwrite=True)
    names = ("train", "dev", "test")
    assert [(out / f"{name}.tsv").read_text().splitlines() for name in names] == before
    assert {path.name for path in out.iterdir()} == {f"{name}.tsv" for name in names}
    assert {path.name for path in tmp_path.iterdir()} == {"all.tsv", "out"}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the process is killed at every step")
@pytest.mark.parametrize("existing", [False, True])
def test_a_split_that_is_killed_never_leaves_parts_of_two(
    file: Path, tmp_path: Path, existing: bool
) -> None:
    script = """
import os, signal, sys
from pathlib import Path
from hardalign.data.formats import FORMATS
from hardalign.data.split import split_file

file, root, existing = sys.argv[1:]

def kill_before(step, real):
    def call(*args, **settings):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **settings)
    return call

for steps in range(1000):
    out = Path(root) / str(steps)
    if existing == "True":
        split_file(file, FORMATS["pairs"], out, seed=0)
    if not (child := os.fork()):
        left = steps
        for name in ("rename", "replace", "unlink", "mkdir", "rmdir"):
            setattr(os, name, kill_before(steps, getattr(os, name)))
        split_file(file, FORMATS["pairs"], out, seed=1, overwrite=True)
        os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        print(steps)
        break
"""
    arguments = [file, tmp_path / "runs", str(existing)]
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], check=True, capture_output=True
    )
    steps = int(done.stdout)
    assert steps > 5
    whole = {
        seed: {
            part.path.name: lines_of(part)
            for part in split_file(file, FORMATS["pairs"], tmp_path / f"seed{seed}", seed=seed)
        }
        for seed in (0, 1)
    }
    for out in (tmp_path / "runs" / str(step) for step in range(steps + 1)):
        left = {path.name: path.read_text().splitlines() for path in out.glob("*.tsv")}
        assert any(
            all(one[name] == lines for name, lines in left.items()) for one in whole.values()
        )
        assert len(left) == 3 or "train.tsv" not in left  # nothing that could be trained on
        if not existing:
            assert len(left) in (0, 3)
        split_file(file, FORMATS["pairs"], out, overwrite=True)  # and all can be written anew
        assert {path.name for path in out.iterdir()} == whole[0].keys()


def test_a_table_of_a_spreadsheet_becomes_plain_lines(tmp_path: Path) -> None:
    rows = "".join(f'"w{n}","a ""b"" {n}"\r\n' for n in range(10))
    (tmp_path / "all.csv").write_bytes(b"word,IPA\r\n" + rows.encode())
    parts = split_file(tmp_path / "all.csv", FORMATS["lexicon"], tmp_path / "out")
    assert sorted(chain(*map(lines_of, parts))) == [f'w{n}\ta "b" {n}' for n in range(10)]
