"""Split a file into train, dev and test without shared sources."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hardalign.data.formats import Example, Format
from hardalign.data.reading import Skipped, file_name, read_examples
from hardalign.data.text import Symbols, plural
from hardalign.errors import HardalignError
from hardalign.files import check_regular, make_folder, os_errors_named, write_bytes


@dataclass(frozen=True)
class Part:
    """One of the files written."""

    name: str
    path: Path
    examples: int
    sources: int


def split_file(
    file: str | Path,
    format: Format,  # noqa: A002 - the name users know
    out: Path,
    *,
    dev: float = 0.1,
    test: float = 0.1,
    seed: int = 0,
    allow_empty: bool = False,
    overwrite: bool = False,
    skipped: Skipped | None = None,
) -> list[Part]:
    """Split a file by source: all lines of a word, all forms of a lemma, go to the same part.

    The order in which sources are dealt out depends only on the seed and the source. Lines keep
    their spelling and order; blank lines are dropped. NEWS XML becomes lines of format ``pairs``.

    The files in ``out`` are ``train.tsv``, ``dev.tsv`` and ``test.tsv``. ``dev`` and ``test`` are
    shares of the sources; 0 writes no such file. ``overwrite`` replaces all three.
    """
    if dev < 0 or test < 0 or not 0 < dev + test < 1:
        shares = f"the shares dev {dev:g} and test {test:g}"
        raise HardalignError(f"{shares} must be at least 0, and together above 0 and below 1")
    spelt: dict[int, str] = {}
    verbatim = replace(format, normalization="none", source_case="keep")
    read = read_examples(
        file, verbatim, "training", allow_empty=allow_empty, skipped=skipped, spelt=spelt
    )
    examples = list(read)
    sources = [format.source_symbols(example.text) for example in examples]
    part_of = _deal(sources, {"test": test, "dev": dev}, seed, file_name(file))
    paths = {part: out / f"{part}.tsv" for part in ("train", "dev", "test")}
    existing = [path for path in paths.values() if path.exists()]
    if existing and not overwrite:
        raise HardalignError(
            f"{existing[0]}: already exists; choose another folder, or replace all with --overwrite"
        )
    contents: dict[Path, bytes] = {}
    parts = []
    for part, path in paths.items():
        pairs = zip(examples, sources, strict=True)
        if members := [example for example, source in pairs if part_of[source] == part]:
            lines = (spelt.get(one.line) or _lines(one, verbatim) for one in members)
            contents[path] = "".join(f"{line}\n" for line in lines).encode()
            count = sum(dealt == part for dealt in part_of.values())
            parts.append(Part(part, path, len(members), count))
    _write_together(out, contents, existing)
    return parts


def _lines(example: Example, verbatim: Format) -> str:
    targets = map(verbatim.join_target, example.targets)
    return "\n".join(f"{example.text}\t{target}" for target in targets)


def _write_together(out: Path, contents: dict[Path, bytes], existing: Sequence[Path]) -> None:
    """Replace the files of a folder so that it never holds files of two splits.

    They are written to a temporary folder; if that fails, the old files are untouched. It is
    renamed if the folder is new; otherwise old files are removed before new ones are moved in.
    """
    make_folder(out.parent)
    staging = out / ".split.part" if out.is_dir() else out.parent / f".{out.name[:60]}.split.part"
    for path in existing:
        check_regular(path)
    with os_errors_named(out, "written"):
        try:
            with contextlib.suppress(FileNotFoundError):  # of a killed process
                shutil.rmtree(staging)
            staging.mkdir()
            for path, content in contents.items():
                write_bytes(staging / path.name, content)
                if path.exists():
                    shutil.copymode(path, staging / path.name)
            if not out.is_dir():
                staging.rename(out)
                return
            for path in existing:
                path.unlink()
            # The train file comes last: if killed here, there is nothing to train on.
            for path in reversed(contents):
                (staging / path.name).rename(path)
        finally:
            shutil.rmtree(staging, ignore_errors=True)


def _deal(
    sources: Sequence[Symbols], shares: dict[str, float], seed: int, name: str
) -> dict[Symbols, str]:
    """Return the part of every source; a part with a share gets at least one source."""

    def rank(source: Symbols) -> bytes:  # pseudorandom, and the same on every machine
        return hashlib.sha256("\0".join((str(seed), *source)).encode()).digest()

    order = sorted(set(sources), key=rank)
    part_of = dict.fromkeys(order, "train")
    start = 0
    for part, share in shares.items():
        count = max(1, round(share * len(order))) if share else 0
        part_of |= dict.fromkeys(order[start : start + count], part)
        start += count
    if start >= len(order):
        found = plural(len(order), "source is", "different sources are")
        raise HardalignError(f"{name}: {found} too few to split")
    return part_of
