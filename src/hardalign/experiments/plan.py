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

A plan of several parts has a ``[[grid]]`` with the first five keys for each. Runs that are in
several parts are run once.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Any

from hardalign.config import find_size
from hardalign.corpora.load import CORPORA
from hardalign.corpora.registry import registry, unknown_corpus
from hardalign.data.formats import FORMATS
from hardalign.errors import HardalignError, InputError
from hardalign.experiments.settings import check_overrides, settings_of
from hardalign.files import check_regular
from hardalign.runs import Files, Run
from hardalign.systems import find_system

_KEYS = {"corpora": str, "systems": str, "sizes": str, "seeds": int}
_DEFAULTS: dict[str, list[Any]] = {"sizes": ["small"], "seeds": [0]}
_PARTS = ("train", "dev", "test")


def shipped_plans() -> list[str]:
    """Returns the names of the plans that come with hardalign."""
    folder = resources.files("hardalign.experiments") / "plans"
    return sorted(file.name.removesuffix(".toml") for file in folder.iterdir())


def load_plan(plan: str) -> list[Run]:
    """Returns the runs of a plan, in its order.

    Args:
        plan: The name of a shipped plan, or a TOML file.

    Raises:
        InputError: With the file and the key that is wrong.
    """
    shipped = plan in shipped_plans()
    folder = resources.files("hardalign.experiments") / "plans"
    try:
        if not shipped:
            check_regular(Path(plan))
        text = (folder / f"{plan}.toml" if shipped else Path(plan)).read_text("utf-8")
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
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"is not TOML: {error}", file=file) from error
    try:
        data = {name: _data(name, one, Path(file)) for name, one in _data_tables(content)}
        grids = content.pop("grid", None)
        if grids is None:
            grids = [content]
        elif content:
            raise HardalignError(
                f"{', '.join(content)}: belongs into a [[grid]], as there are some"
            )
        elif not isinstance(grids, list) or not all(isinstance(grid, dict) for grid in grids):
            raise HardalignError("grid: is not a list of tables; write [[grid]]")
        runs = [run for grid in grids for run in _runs(grid, data)]
    except HardalignError as error:
        raise InputError(str(error), file=file) from error
    return list({run.name: run for run in runs}.values())


def check_corpus(name: str) -> None:
    """Make sure that there is a corpus of that name, whether or not its files are here.

    Raises:
        HardalignError: If there is none.
    """
    if name not in CORPORA and name not in registry():
        raise HardalignError(unknown_corpus(name, tuple(CORPORA)))


def check_format(name: object) -> str:
    """Returns the name of a format.

    Raises:
        HardalignError: If there is none of that name.
    """
    if not isinstance(name, str) or name not in FORMATS:
        raise HardalignError(f"no format is called {name!r}; there are {', '.join(FORMATS)}")
    return name


def _data_tables(content: dict[str, Any]) -> list[tuple[str, Any]]:
    tables = content.pop("data", {})
    if not isinstance(tables, dict):
        raise HardalignError("data: is not a table; write [data.NAME]")
    return list(tables.items())


def _data(name: str, table: Any, file: Path) -> Files:
    where = f"data.{name}"
    if not isinstance(table, dict):
        raise HardalignError(f"{where}: is not a table; write [{where}]")
    if name in CORPORA or name in registry() or set(name) & set("/\\:. "):
        raise HardalignError(f"{where}: choose a name of letters and digits that no corpus has")
    if unknown := sorted(set(table) - {*_PARTS, "format"}):
        raise HardalignError(f"{where}.{unknown[0]}: there is no such key")
    if missing := [part for part in _PARTS if not isinstance(table.get(part), str)]:
        raise HardalignError(f"{where}.{missing[0]}: must name a file")
    try:
        train, dev, test = (file.parent / table[part] for part in _PARTS)
        return Files.of(train, dev, test, check_format(table.get("format", "pairs")))
    except HardalignError as error:
        raise HardalignError(f"{where}: {error}") from error


def _runs(grid: dict[str, Any], data: dict[str, Files]) -> Iterator[Run]:
    if unknown := sorted(set(grid) - {*_KEYS, "overrides"}):
        known = ", ".join([*_KEYS, "overrides"])
        raise HardalignError(f"{unknown[0]}: there is no such key; there are {known}")
    axes = [_axis(grid, key, kind) for key, kind in _KEYS.items()]
    overrides = grid.get("overrides", {})
    if not isinstance(overrides, dict):
        raise HardalignError("overrides: is not a table; write [overrides]")
    try:
        overrides = check_overrides(overrides)
    except HardalignError as error:
        raise HardalignError(f"overrides.{error}") from error
    for corpus, system, size, seed in product(*axes):
        for key, check, value in (("systems", find_system, system), ("sizes", find_size, size)):
            _named(key, check, value)
        if corpus not in data:
            _named("corpora", check_corpus, corpus)
        run = Run(corpus, system, size, seed, overrides, data.get(corpus))
        _named("overrides", settings_of, run)
        yield run


def _axis(grid: dict[str, Any], key: str, kind: type) -> list[Any]:
    values = grid.get(key, _DEFAULTS.get(key))
    if values is None:
        raise HardalignError(f"{key}: is missing")
    if not isinstance(values, list) or not values or any(type(one) is not kind for one in values):
        what = "numbers" if kind is int else "names"
        raise HardalignError(f"{key}: is {values!r}, not a list of {what}")
    return values


def _named(key: str, check: Callable[[Any], object], value: Any) -> None:
    """Check a value; say under which key a wrong one stands."""
    try:
        check(value)
    except HardalignError as error:
        raise HardalignError(f"{key}: {error}") from error
