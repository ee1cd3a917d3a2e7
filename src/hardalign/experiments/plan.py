"""Plans: which runs a grid has, written down in TOML.

    systems = ["soft", "hard"]
    corpora = ["conll2017/danish", "mine"]
    sizes = ["small"]                # if not given: small
    seeds = [0, 1, 2]                # if not given: 0

    [overrides]                      # any setting of the model or the training
    epochs = 20

    [data.mine]                      # files of your own, named from the plan's folder
    train = "train.tsv"
    dev = "dev.tsv"
    test = "test.tsv"
    format = "lexicon"               # if not given: pairs
    columns = "target,source"        # and other settings of a format, where they differ

A plan of several parts has a ``[[grid]]`` with the first five keys for each. Runs that are in
several parts are run once.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Any

from hardalign.config import find_size
from hardalign.data.corpora import CORPORA, registry, unknown_corpus
from hardalign.data.formats import FORMATS
from hardalign.errors import HardalignError, InputError
from hardalign.experiments.settings import check_overrides, settings_of
from hardalign.files import check_regular
from hardalign.runs import DataFiles, Run
from hardalign.systems import find_system

_KEYS = {"corpora": str, "systems": str, "sizes": str, "seeds": int}
_DEFAULTS: dict[str, list[Any]] = {"sizes": ["small"], "seeds": [0]}
_SHIPPED = resources.files("hardalign.experiments") / "plans"
_PARTS = ("train", "dev", "test")
_SETTINGS = {
    "columns": str,
    "source_separator": str,
    "target_separator": str,
    "tag_separator": str,
    "source_case": str,
    "max_length": int,
}
"""What of a format may be otherwise. Its normal form is an override, for corpora too."""


def shipped_plans() -> list[str]:
    """Returns the names of the plans that come with hardalign."""
    return sorted(file.name.removesuffix(".toml") for file in _SHIPPED.iterdir())


def load_plan(plan: str) -> list[Run]:
    """Returns the runs of a shipped plan or of a TOML file, in its order.

    Raises:
        InputError: With the file and the key that is wrong.
    """
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
    """Returns the runs of a plan's text; ``file`` is for messages, and where its files are."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"is not TOML: {error}", file=file) from error
    try:
        tables = document.pop("data", {})
        if not isinstance(tables, dict):
            raise HardalignError("data: is not a table; write [data.NAME]")
        data = {name: _data(name, table, Path(file)) for name, table in tables.items()}
        grids = document.pop("grid", None)
        if grids is None:
            grids = [document]
        elif document:
            raise HardalignError(
                f"{', '.join(document)}: belongs into a [[grid]], as there are some"
            )
        elif not isinstance(grids, list) or not all(isinstance(grid, dict) for grid in grids):
            raise HardalignError("grid: is not a list of tables; write [[grid]]")
        runs = [run for grid in grids for run in _runs(grid, data)]
        if unused := sorted(set(data) - {run.corpus for run in runs}):
            raise HardalignError(
                f"data.{unused[0]}: is not among the corpora; add it to them, or remove the table"
            )
    except HardalignError as error:
        raise InputError(str(error), file=file) from error
    return list({run.name: run for run in runs}.values())


def check_corpus(name: str) -> None:
    """Makes sure that there is a corpus of that name, whether or not its files are here.

    Raises:
        HardalignError: If there is none.
    """
    if name not in CORPORA and name not in registry():
        raise HardalignError(unknown_corpus(name, tuple(CORPORA)))


def _data(name: str, table: Any, file: Path) -> DataFiles:
    """Returns the files that a table ``[data.NAME]`` names, from the plan's folder."""
    where = f"data.{name}"
    if not isinstance(table, dict):
        raise HardalignError(f"{where}: is not a table; write [{where}]")
    if name in CORPORA or name in registry() or set(name) & set("/\\:. "):
        raise HardalignError(f"{where}: choose a name of letters and digits that no corpus has")
    if unknown := sorted(set(table) - {*_PARTS, "format", *_SETTINGS}):
        keys = ", ".join([*_PARTS, "format", *_SETTINGS])
        raise HardalignError(f"{where}.{unknown[0]}: there is no such key; there are {keys}")
    if missing := [part for part in _PARTS if not isinstance(table.get(part), str)]:
        raise HardalignError(f"{where}.{missing[0]}: must name a file")
    layout = table.get("format", "pairs")
    if layout not in list(FORMATS):  # it may be anything, such as a list
        raise HardalignError(
            f"{where}: no format is called {layout!r}; there are {', '.join(FORMATS)}"
        )
    settings = {key: table[key] for key in _SETTINGS if key in table}
    for key, value in settings.items():
        if type(value) is not _SETTINGS[key]:
            what = "a number" if _SETTINGS[key] is int else "a string"
            raise HardalignError(f"{where}.{key}: {value!r} is not {what}")
    with _named(where):
        train, dev, test = (file.parent / table[part] for part in _PARTS)
        return DataFiles.of(train, dev, test, layout, **settings)


def _runs(grid: dict[str, Any], data: dict[str, DataFiles]) -> Iterator[Run]:
    """Gives every combination of a grid's corpora, systems, sizes and seeds."""
    if unknown := sorted(set(grid) - {*_KEYS, "overrides"}):
        known = ", ".join([*_KEYS, "overrides"])
        raise HardalignError(
            f"{unknown[0]}: there is no such key; there are {known}, and tables [data.NAME]"
        )
    axes = [_axis(grid, key, kind) for key, kind in _KEYS.items()]
    overrides = grid.get("overrides", {})
    if not isinstance(overrides, dict):
        raise HardalignError("overrides: is not a table; write [overrides]")
    with _named("overrides", "."):
        overrides = check_overrides(overrides)
    for corpus, system, size, seed in product(*axes):
        with _named("systems"):
            find_system(system)
        with _named("sizes"):
            find_size(size)
        with _named("corpora"):
            if corpus not in data:
                check_corpus(corpus)
        run = Run(corpus, system, size, seed, overrides, data.get(corpus))
        with _named("overrides"):
            settings_of(run)
        yield run


def _axis(grid: dict[str, Any], key: str, kind: type) -> list[Any]:
    values = grid.get(key, _DEFAULTS.get(key))
    if values is None:
        raise HardalignError(f"{key}: is missing")
    if not isinstance(values, list) or not values or {type(value) for value in values} != {kind}:
        what = "numbers" if kind is int else "names"
        raise HardalignError(f"{key}: is {values!r}, not a list of {what}")
    return values


@contextmanager
def _named(key: str, separator: str = ": ") -> Iterator[None]:
    """Says under which key a wrong value stands."""
    try:
        yield
    except HardalignError as error:
        raise HardalignError(f"{key}{separator}{error}") from error
