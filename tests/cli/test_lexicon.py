from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from helpers import Command, assert_complains
from text.fakes import random_model


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return random_model(tmp_path / "model")


def rows(text: str, separator: str = "\t") -> list[list[str]]:
    return [line.split(separator) for line in text.splitlines()]


def test_a_dictionary_of_a_text(command: Command, model: Path) -> None:
    result = command("lexicon", model, "-", "--style", "mfa", "--nbest", 2, stdin=b"cab 12\nab, c")
    assert result.code == 0, result.err
    found = rows(result.out)
    assert list(dict.fromkeys(row[0] for row in found)) == ["ab", "c", "cab"]
    best = [row[1] for row in found if row[1] == "1.0"]
    assert len(best) >= 3
    assert "3 words written; 3 computed now" in result.err
    assert "1 number ('12')" in result.err


def test_mass_that_was_not_reached_is_told(command: Command, model: Path) -> None:
    result = command("lexicon", model, "-", "--style", "tsv", "--mass", 0.999, stdin=b"cab ab")
    masses = {"ab": 0.0, "cab": 0.0}
    for word, _, probability, _ in rows(result.out):
        masses[word] += float(probability)
    short = [word for word, mass in masses.items() if mass < 0.999]
    assert f"{len(short)} word" in result.err
    assert f"not covered to 0.999 by a beam of 256: {', '.join(map(repr, short))}" in result.err
    enough = command("lexicon", model, "-", "--style", "tsv", "--mass", 0.001, stdin=b"cab ab")
    assert "not covered" not in enough.err


@pytest.mark.parametrize("style", ["mfa", "kaldi", "cmudict"])
def test_symbols_are_parted_by_blanks_and_read_back(
    style: str, command: Command, model: Path, tmp_path: Path
) -> None:
    """The model is one of characters, without blanks between them."""
    table, out = tmp_path / "table", tmp_path / "out"
    for form, file in (("tsv", table), (style, out)):
        command("lexicon", model, "-", "--style", form, "--output", file, stdin=b"cab")
    ((_, text, *_),) = rows(table.read_text())
    assert len(text) > 1
    assert out.read_text().rstrip("\n").endswith(" ".join(text))
    again = command("lexicon", model, "-", "--style", "tsv", "--known", out, stdin=b"cab")
    ((word, same, _, origin),) = rows(again.out)
    assert (word, same, origin) == ("cab", text, "lexicon")


def test_known_words_and_resuming(command: Command, model: Path, tmp_path: Path) -> None:
    known, out = tmp_path / "known.tsv", tmp_path / "out.dict"
    known.write_text("ab\tBA\nab\tAB\n")
    settings = ("--style", "tsv", "--known", known, "--output", out, "--nbest", 2)
    first = command("lexicon", model, "-", *settings, stdin=b"ab\nc\n")
    assert (first.code, first.out) == (0, ""), first.err
    best, other = rows(out.read_text())[:2]
    assert {best[1], other[1]} == {"BA", "AB"}
    assert float(best[2]) > float(other[2])
    assert best[3] == other[3] == "lexicon"
    assert "2 words written, 1 of them known; 1 computed now" in first.err
    before = out.read_text()
    second = command("lexicon", model, "-", *settings, "--resume", stdin=b"ab\nc\n")
    assert "0 computed now" in second.err
    assert out.read_text() == before
    third = command("lexicon", model, "-", *settings, "--resume", stdin=b"ab\nc\nbca\n")
    assert "1 computed now" in third.err
    assert [row[0] for row in rows(out.read_text())] == ["ab", "ab", "bca", "bca", "c", "c"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["known.tsv", "model", "out.dict"]
    out.with_name("out.dict.partial").write_text("bca\tBAC\t0.5\tmodel\nc\tC\t0.5\tmodel\n")
    interrupted = command("lexicon", model, "-", *settings, "--resume", stdin=b"bca\n")
    assert (interrupted.code, rows(out.read_text())) == (0, [["bca", "BAC", "0.5", "model"]])
    assert_complains(command("lexicon", model, "-", *settings[:4], "--resume"), "--output")


def test_a_pipe_gets_the_dictionary(command: Command, model: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as reader:
        text = reader.submit(pipe.read_text)
        output = ("--style", "cmudict", "--output", pipe)
        result = command("lexicon", model, "-", *output, stdin=b"ab c")
        assert result.code == 0, result.err
        assert [row[0] for row in rows(text.result(10), " ")] == ["ab", "c"]
    assert {path.name for path in tmp_path.iterdir()} == {"model", "pipe"}


def test_standard_output_by_its_name(
    command: Command, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    unnamed = command("lexicon", model, "-", "--style", "mfa", stdin=b"ab c")
    assert (
        command("lexicon", model, "-", "--style", "mfa", "--output", "-", stdin=b"ab c") == unnamed
    )
    assert {path.name for path in tmp_path.iterdir()} == {"model"}


@pytest.mark.parametrize("style", ["kaldi", "cmudict"])
def test_other_styles(style: str, command: Command, model: Path) -> None:
    result = command("lexicon", model, "-", "--style", style, stdin=b"ab c")
    assert [row[0] for row in rows(result.out, " ")] == ["ab", "c"]


@pytest.mark.parametrize(
    ("arguments", "stdin", "words"),
    [
        (["--style", "htk"], b"ab", ["'htk'", "mfa"]),
        (["--style", "mfa"], b"", ["no word"]),
        (["--style", "mfa"], b"12 \xd0\xba", ["no word", "'12'"]),
        (["--style", "mfa", "--known", "/no/file"], b"ab", ["/no/file"]),
        (["--style", "mfa", "--min-prob", "2"], b"ab", ["--min-prob"]),
        (["--style", "mfa", "--mass", "0.5", "--nbest", "2"], b"ab", ["mass"]),
    ],
)
def test_bad_input_leaves_nothing_behind(
    arguments: list[str],
    stdin: bytes,
    words: list[str],
    command: Command,
    model: Path,
    tmp_path: Path,
) -> None:
    out = tmp_path / "out.dict"
    result = command("lexicon", model, "-", "--output", out, *arguments, stdin=stdin)
    assert_complains(result, *words)
    assert list(tmp_path.glob("*out.dict*")) == []


def test_a_folder_is_no_dictionary(command: Command, model: Path, tmp_path: Path) -> None:
    for folder in (tmp_path, "."):
        result = command("lexicon", model, "-", "--style", "mfa", "--output", folder, stdin=b"ab")
        assert_complains(result, folder, "folder")


def test_a_lexicon_in_another_phone_set(command: Command, model: Path, tmp_path: Path) -> None:
    known = tmp_path / "known.tsv"
    known.write_text("ab\tAxB\n")
    arguments = ("lexicon", model, "-", "--style", "mfa", "--known", known)
    assert_complains(command(*arguments, stdin=b"ab"), known, "'x' (line 1)")


def test_silence_and_noise_stay_in_the_dictionary(
    command: Command, model: Path, tmp_path: Path
) -> None:
    known = tmp_path / "known.txt"
    known.write_text("!SIL sil\n<unk> spn\nab A B\n")
    out = command("lexicon", model, "-", "--style", "kaldi", "--known", known, stdin=b"ab\nc\n").out
    assert [line.split()[0] for line in out.splitlines()] == ["!SIL", "<unk>", "ab", "c"]
    assert out.startswith("!SIL 1.0 sil\n<unk> 1.0 spn\nab 1.0 A B\n")


def test_spaced_ipa(command: Command, model: Path) -> None:
    result = command("lexicon", "en-g2p", "-", "--style", "cmudict", "--ipa", stdin=b"action")
    assert (result.code, result.out) == (0, "action æ k ʃ ə n\n")
    assert_complains(command("lexicon", model, "-", "--style", "mfa", "--ipa"), "ARPAbet")
