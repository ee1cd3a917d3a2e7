"""Plans: which runs a grid has, written down in TOML.

    systems = ["soft", "hard"]
    corpora = ["conll2017/danish", "conll2017/turkish"]
    sizes = ["small"]                # if not given: small
    seeds = [0, 1, 2]                # if not given: 0

    [overrides]                      # any setting of the model or the training
    epochs = 20

A plan of several parts has a ``[[grid]]`` with these keys for each. Runs that are in several parts
are run once.
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
from hardalign.errors import HardalignError, InputError
from hardalign.experiments.runs import Run
from hardalign.experiments.settings import check_overrides, settings_of
from hardalign.systems import find_system

_KEYS = {"corpora": str, "systems": str, "sizes": str, "seeds": int}
_DEFAULTS: dict[str, list[Any]] = {"sizes": ["small"], "seeds": [0]}


def shipped_plans() -> list[str]:
    """The names of the plans that come with hardalign."""
    folder = resources.files("hardalign.experiments") / "plans"
    return sorted(file.name.removesuffix(".toml") for file in folder.iterdir())


def load_plan(plan: str) -> list[Run]:
    """The runs of a plan, in its order.

    Args:
        plan: The name of a shipped plan, or a TOML file.

    Raises:
        InputError: With the file and the key that is wrong.
    """
    if plan in shipped_plans():
        text = (resources.files("hardalign.experiments") / "plans" / f"{plan}.toml").read_text(
            "utf-8"
        )
        return parse_plan(text, plan)
    try:
        text = Path(plan).read_text("utf-8")
    except FileNotFoundError as error:
        raise HardalignError(
            f"{plan}: no such plan; give a TOML file or one of {', '.join(shipped_plans())}"
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise HardalignError(f"{plan}: cannot be read: {error}") from error
    return parse_plan(text, plan)


def parse_plan(text: str, file: str) -> list[Run]:
    """The runs of a plan's text; ``file`` is for messages."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"is not TOML: {error}", file=file) from error
    grids = content.pop("grid", None)
    if grids is None:
        grids = [content]
    elif content:
        raise InputError(
            f"{', '.join(content)}: belongs into a [[grid]], as there are some", file=file
        )
    elif not isinstance(grids, list) or not all(isinstance(grid, dict) for grid in grids):
        raise InputError("grid: is not a list of tables; write [[grid]]", file=file)
    runs = [run for grid in grids for run in _runs(grid, file)]
    return list({run.name: run for run in runs}.values())


def _runs(grid: dict[str, Any], file: str) -> Iterator[Run]:
    if unknown := sorted(set(grid) - {*_KEYS, "overrides"}):
        known = ", ".join([*_KEYS, "overrides"])
        raise InputError(f"{unknown[0]}: there is no such key; there are {known}", file=file)
    axes = [_axis(grid, key, kind, file) for key, kind in _KEYS.items()]
    overrides = grid.get("overrides", {})
    if not isinstance(overrides, dict):
        raise InputError("overrides: is not a table; write [overrides]", file=file)
    try:
        overrides = check_overrides(overrides)
    except HardalignError as error:
        raise InputError(f"overrides.{error}", file=file) from error
    for corpus, system, size, seed in product(*axes):
        run = Run(corpus, system, size, seed, overrides)
        try:
            settings_of(run)
        except HardalignError as error:
            raise InputError(f"overrides: {error}", file=file) from error
        yield run


def _axis(grid: dict[str, Any], key: str, kind: type, file: str) -> list[Any]:
    values = grid.get(key, _DEFAULTS.get(key))
    if values is None:
        raise InputError(f"{key}: is missing", file=file)
    if not isinstance(values, list) or not values or any(type(one) is not kind for one in values):
        what = "numbers" if kind is int else "names"
        raise InputError(f"{key}: is {values!r}, not a list of {what}", file=file)
    try:
        for value in values:
            _CHECKS[key](value)
    except HardalignError as error:
        raise InputError(f"{key}: {error}", file=file) from error
    return values


def check_corpus(name: str) -> None:
    """Make sure that there is a corpus of that name, whether or not its files are here.

    Raises:
        HardalignError: If there is none.
    """
    if name not in CORPORA and name not in registry():
        raise HardalignError(unknown_corpus(name, tuple(CORPORA)))


_CHECKS: dict[str, Callable[[Any], object]] = {
    "corpora": check_corpus,
    "systems": find_system,
    "sizes": find_size,
    "seeds": int,
}
