"""Plans: the runs of a grid, in TOML.

    systems = ["soft", "hard"]
    corpora = ["conll2017/danish", "mine"]
    sizes = ["small"]                # default: small
    seeds = [0, 1, 2]                # default: 0

    [overrides]                      # any setting of the model or the training
    epochs = 20
    dropout = [0.2, 0.4]             # a list is a sweep: a run for each value

    [data.mine]                      # files of your own, relative to the plan's folder
    train = "train.tsv"
    dev = "dev.tsv"
    test = "test.tsv"
    format = "lexicon"               # default: pairs
    columns = "target,source"        # and other settings of a format, where they differ

A plan in several parts has a ``[[grid]]`` with the first five keys for each; runs that occur in
several parts are executed once. Without overrides, a run is trained by the paper's recipe.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import replace
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from hardalign.config import SETTINGS, ModelConfig, check_settings, fields_of, find_size
from hardalign.data.corpora import CORPORA, registry, unknown_corpus
from hardalign.data.formats import find_format
from hardalign.data.text import NORMALIZATIONS
from hardalign.errors import HardalignError, InputError
from hardalign.experiments.run import DataFiles, Run
from hardalign.files import check_regular, located
from hardalign.model_folder import MOST_MEMBERS
from hardalign.systems import find_system, model_class

_SHIPPED = resources.files("hardalign.experiments") / "plans"
CORPUS = {"words": int, "strip_stress": bool, "hold_out": bool}
"""Use of a corpus. ``hold_out = false`` is for corpora without a development part: train on all of
the training part, with early stopping and model selection on test, as the paper did with NEWS."""
READING = {"normalization": str, "target_parts": bool}
_OTHERS: dict[str, Any] = {
    "members": Annotated[int, Meta(ge=1, le=MOST_MEMBERS)],
    **CORPUS,
    **READING,
}
"""What a plan may override besides model and training settings, with types."""

T = TypeVar("T")
_SYNTAX = "lists of systems, corpora, sizes and seeds, and tables [overrides] and [data.NAME]"
Names = Annotated[tuple[str, ...], Meta(min_length=1)]
_FILES: dict[str, Any] = dict.fromkeys(("train", "dev", "test"), str)
_FORMAT = dict.fromkeys(
    ("columns", "source_separator", "target_separator", "tag_separator", "source_case"), str
) | {"max_length": int}
"""Settings of a format. Its normalization is an override instead, as it applies to corpora too."""


class _Grid(Struct, forbid_unknown_fields=True):
    """A part of a plan: the Cartesian product of these lists."""

    systems: Names
    corpora: Names
    sizes: Names = ("small",)
    seeds: Annotated[tuple[int, ...], Meta(min_length=1)] = (0,)
    overrides: dict[str, Any] = {}


def shipped_plans() -> list[str]:
    """Return the names of the plans that come with hardalign."""
    return sorted(file.name.removesuffix(".toml") for file in _SHIPPED.iterdir())


def load_plan(plan: str) -> list[Run]:
    """Return the runs of a shipped plan or of a TOML file, in order."""
    try:
        if plan in shipped_plans():
            text = (_SHIPPED / f"{plan}.toml").read_text("utf-8")
        else:
            check_regular(Path(plan))
            text = Path(plan).read_text("utf-8-sig")
    except FileNotFoundError as error:
        raise HardalignError(
            f"{plan}: no such plan; give a TOML file or one of {', '.join(shipped_plans())}"
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise HardalignError(f"{plan}: cannot be read: {error}") from error
    return parse_plan(text, plan)


def parse_plan(text: str, file: str) -> list[Run]:
    """Return the runs of a plan; ``file`` is named in errors, and data paths are relative to it."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"is not TOML: {error}", file=file) from error
    try:
        with located("data"):
            tables = _convert(document.pop("data", {}), dict[str, dict[str, Any]], "[data.NAME]")
        data = {name: _data(name, table, Path(file)) for name, table in tables.items()}
        grids = document.pop("grid", None)
        if grids is not None and document:
            raise HardalignError(f"{', '.join(document)}: belongs in a [[grid]]")
        if grids is None:
            grids = [document]
        with located("grid"):
            grids = _convert(grids, list[dict[str, Any]], "[[grid]]")
        runs = [run for grid in grids for run in _runs(_convert(grid, _Grid, _SYNTAX), data)]
        if unused := sorted(set(data) - {run.corpus for run in runs}):
            raise HardalignError(
                f"data.{unused[0]}: is not among the corpora; add it to them, or remove the table"
            )
    except HardalignError as error:
        raise InputError(str(error), file=file) from error
    return list({run.name: run for run in runs}.values())


def options_of(run: Run) -> dict[str, Any]:
    """Check a run and return the arguments of ``hardalign.train`` that it determines."""
    find_system(run.system)
    overrides = check_overrides(run.overrides)
    if run.files is not None and (misplaced := sorted(set(overrides) & set(CORPUS))):
        raise HardalignError(f"{misplaced[0]}: is for corpora, not for files of your own")
    if "hold_out" in overrides and (
        run.corpus not in registry() or any(f.split == "dev" for f in registry()[run.corpus].files)
    ):
        raise HardalignError(f"hold_out: {run.corpus} has a development part")
    settings = {name: one for name, one in overrides.items() if name in SETTINGS}
    model_class(replace(find_size(run.size), system=run.system, **fields_of(ModelConfig, settings)))
    if overrides.get("normalization", "NFC") not in NORMALIZATIONS:
        raise HardalignError(f"normalization: must be one of {', '.join(NORMALIZATIONS)}")
    if "members" in overrides:
        settings["members"] = overrides["members"]
    decided = {"system": run.system, "size": run.size, "recipe": "paper", "seed": run.seed}
    return decided | settings


def check_overrides(overrides: dict[str, Any]) -> dict[str, Any]:
    """Convert overrides to their declared types, so that equal runs have equal names.

    5 and 5.0 become equal, and the paper's recipe, as the default, is dropped.
    """
    if "seed" in overrides:
        raise HardalignError("seed: list it under seeds")
    checked = check_settings(overrides, others=_OTHERS)
    return {name: one for name, one in checked.items() if (name, one) != ("recipe", "paper")}


def _data(name: str, table: dict[str, Any], file: Path) -> DataFiles:
    """Return the files that a table ``[data.NAME]`` names."""
    with located(f"data.{name}"):
        if name in CORPORA or name in registry() or set(name) & set("/\\:. "):
            raise HardalignError("choose a name of letters and digits that no corpus has")
        known = {**_FILES, "format": str, **_FORMAT}
        if unknown := sorted(set(table) - set(known)):
            raise HardalignError(f"{unknown[0]}: no such key; choose from {', '.join(known)}")
        if missing := [part for part in _FILES if part not in table]:
            raise HardalignError(f"{missing[0]}: must name a file")
        for key, value in table.items():
            with located(key):
                _convert(value, known[key])
        layout = find_format(table.get("format", "pairs"))
        train, dev, test = (file.parent / table[part] for part in _FILES)
        settings = {key: table[key] for key in _FORMAT if key in table}
        return DataFiles.of(train, dev, test, layout.name, **settings)


def _runs(grid: _Grid, data: dict[str, DataFiles]) -> Iterator[Run]:
    """Yield every combination of a grid's corpora, systems, sizes, seeds and overrides."""
    with located("overrides"):
        names = list(grid.overrides)
        swept = [one if isinstance(one, list) else [one] for one in grid.overrides.values()]
        if [] in swept:
            raise HardalignError(f"{names[swept.index([])]}: is an empty list")
        sweep = [check_overrides(dict(zip(names, one, strict=True))) for one in product(*swept)]
    for corpus, system, size, seed in product(grid.corpora, grid.systems, grid.sizes, grid.seeds):
        with located("systems"):
            find_system(system)
        with located("sizes"):
            find_size(size)
        with located("corpora"):
            if corpus not in data and corpus not in CORPORA and corpus not in registry():
                raise HardalignError(unknown_corpus(corpus))
        for overrides in sweep:
            run = Run(corpus, system, size, seed, overrides, data.get(corpus))
            with located("overrides"):
                options_of(run)
            yield run


def _convert(value: Any, kind: type[T], syntax: str = "") -> T:
    """Check the type of a value of a plan; the error says which key is wrong, and how."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        problem, _, place = str(error).replace("`", "").partition(" - at $")
        key = place.removeprefix(".").removesuffix("[...]")
        advice = f"; write {syntax}" if syntax else ""
        raise HardalignError(f"{key}{': ' if key else ''}{problem}{advice}") from error
