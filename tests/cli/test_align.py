from __future__ import annotations

import json
from pathlib import Path

import pytest

import hardalign
from hardalign.alignment import read_symbols
from helpers import Command, assert_complains, write_model


def test_index_pairs_line_by_line(command: Command, model: Path, pairs: Path) -> None:
    result = command("align", model, pairs)
    assert result.code == 0
    predictor = hardalign.load(model)
    expected = [
        predictor.align(*line.split("\t")).pharaoh() for line in pairs.read_text().splitlines()
    ]
    assert result.out.splitlines() == expected
    assert "posterior" in result.err
    assert command("align", model, stdin=pairs.read_bytes()).out == result.out


def test_aligned_symbols(command: Command, model: Path) -> None:
    result = command("align", model, "-", "--symbols", stdin=b"abc\tCAB\nc\tC\n")
    first, second = map(read_symbols, result.out.splitlines())
    assert (first.source, first.target) == (tuple("abc"), tuple("CAB"))
    assert second.source == ("c",)


@pytest.mark.parametrize(
    ("system", "kind"), [("hard", "posterior"), ("soft", "attention"), ("monotonic", "path")]
)
def test_whole_matrices(system: str, kind: str, command: Command, tmp_path: Path) -> None:
    folder = write_model(tmp_path / system, system)
    result = command("align", folder, "--posterior", stdin=b"abc\tCA\n")
    content = json.loads(result.out)
    assert (content["system"], content["kind"]) == (system, kind)
    assert [len(row) for row in content["weights"]] == [3, 3]
    total = content["begin"][0] + sum(content["weights"][0]) + content["end"][0]
    assert total == pytest.approx(1, abs=1e-5)


def test_what_cannot_be_spelled_keeps_its_line(command: Command, model: Path) -> None:
    stdin = "ab\tAB\nab\tZ\nab\tAZZé\nb\tB\n".encode()
    result = command("align", model, stdin=stdin)
    assert result.code == 0
    lines = result.out.splitlines()
    assert [bool(line) for line in (lines[1], lines[2])] == [False, False]
    assert len(lines) == 4
    for words in ("'Z' × 3", "'é' × 1", "2 (first: line 2)"):
        assert words in result.err
    as_json = command("align", model, "--posterior", stdin=stdin).out.splitlines()
    assert json.loads(as_json[2])["unknown"] == ["Z", "Z", "é"]


def test_unknown_sources_are_reported(command: Command, model: Path) -> None:
    result = command("align", model, stdin=b"aq\tAB\n")
    assert "'q' × 1" in result.err


def test_several_targets_are_several_lines(command: Command, model: Path, tmp_path: Path) -> None:
    xml = tmp_path / "names.xml"
    xml.write_text(
        "<C><Name ID='1'><SourceName>ab</SourceName><TargetName ID='1'>A</TargetName>"
        "<TargetName ID='2'>BAB</TargetName></Name></C>",
        encoding="utf-8",
    )
    result = command("align", model, xml, "--format", "news", "--symbols")
    assert [read_symbols(line).target for line in result.out.splitlines()] == [
        ("A",),
        ("B", "A", "B"),
    ]


def test_without_a_model(command: Command, tmp_path: Path, pairs: Path) -> None:
    result = command("align", "--unsupervised", pairs)
    assert result.code == 0
    assert result.out.splitlines()[:3] == ["0-0 1-1", "0-0 1-1", "0-0 1-1 2-2"]
    lexicon = tmp_path / "lexicon.tsv"
    lexicon.write_text("pa\tP AA\nap\tAA P\npha\tP AA\nbab\tB AA B\n", encoding="utf-8")
    result = command("align", "--unsupervised", lexicon, "--format", "lexicon", "--symbols")
    assert result.out.splitlines()[2] == "p:P h: a:AA"
    assert command("align", "--unsupervised", "-", stdin=b"ab\tAB\n").out == "0-0 1-1\n"


def test_empty_targets_have_to_be_permitted(command: Command, model: Path) -> None:
    complains_after_note = command("align", model, stdin=b"ab\t\n")
    assert complains_after_note.code == 2
    assert "line 1" in complains_after_note.err
    result = command("align", model, "--allow-empty", stdin=b"ab\t\nb\tB\n")
    assert result.code == 0
    assert result.out.splitlines()[0] == ""


def test_wrong_usage(command: Command, model: Path, pairs: Path, tmp_path: Path) -> None:
    assert_complains(command("align"), "--unsupervised")
    assert_complains(command("align", model, pairs, "--symbols", "--posterior"), "choose one")
    assert_complains(command("align", model, "--unsupervised", pairs), "not both")
    assert_complains(command("align", "--posterior", "--unsupervised", pairs), "needs a model")
    assert_complains(command("align", "--unsupervised", tmp_path / "none"), "no such file")
    assert_complains(command("align", tmp_path / "none", pairs), "no such model")
