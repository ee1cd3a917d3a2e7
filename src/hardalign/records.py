"""JSON in files, and records that are kept in it and say so when they come back damaged."""

from __future__ import annotations

import json
import math
from collections.abc import Collection
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, TypeVar

from hardalign.errors import HardalignError
from hardalign.files import read_bytes, write_bytes

JSON_LIMIT = 1 << 26
"""Bytes of the largest JSON file that is read."""
JSON_DEPTH = 50
"""How deep lists and objects may be nested in it."""

Record = TypeVar("Record")


def write_json(path: Path, value: Any) -> None:
    """Write a value as readable JSON, whole or not at all."""
    write_bytes(path, json_bytes(value))


def json_bytes(value: Any) -> bytes:
    """Returns a value as readable JSON; file names that are not UTF-8 survive in it."""
    text = json.dumps(value, ensure_ascii=False, indent=2) + "\n"
    return text.encode(errors="surrogatepass")


def read_json(path: Path) -> Any:
    """Read JSON.

    Raises:
        HardalignError: If the file is missing, is not JSON, or is larger than ``JSON_LIMIT``.
    """
    return parse_json(read_bytes(path, JSON_LIMIT), path)


def parse_json(content: str | bytes, path: Path) -> Any:
    """Returns the value of JSON that was read from ``path``, or says that it has none."""
    try:
        value = json.loads(content)
        if not _is_deep(value, JSON_DEPTH):
            return value
    except ValueError as error:
        raise HardalignError(f"{path}: cannot be read as JSON: {error}") from error
    except RecursionError:
        pass
    raise HardalignError(f"{path}: cannot be read as JSON: it is nested too deeply")


def build_record(
    kind: type[Record],
    values: object,
    what: str,
    *,
    optional: Collection[str] | None = None,
    extra: bool = False,
) -> Record:
    """Builds a dataclass from the object that JSON holds of it.

    Args:
        kind: The dataclass; its annotations say of which types the values must be.
        values: What was read, with records inside it built already.
        what: It is called so in messages.
        optional: Fields that may be missing. Default: those that have a default.
        extra: Whether to pass over keys that it has no field for, as other versions may write.

    Raises:
        HardalignError: If the values are damaged.
    """
    types = {field.name: str(field.type) for field in fields(kind)}  # type: ignore[arg-type]
    if optional is None:
        optional = {
            field.name
            for field in fields(kind)  # type: ignore[arg-type]
            if not field.default is field.default_factory is MISSING
        }
    if not isinstance(values, dict):
        raise HardalignError(f"{what} must have {', '.join(types)}; found {values!r:.100}")
    if missing := types.keys() - values.keys() - set(optional):
        raise HardalignError(f"{what} has no {min(missing)}")
    if not extra and (unknown := values.keys() - types.keys()):
        raise HardalignError(f"{what} has an unknown entry {min(unknown)!r:.100}")
    own = {name: value for name, value in values.items() if name in types}
    for name, value in own.items():
        if not _is_of_type(value, types[name]):
            raise HardalignError(
                f"{what} has a strange {name}: {value!r:.100} is not of type {types[name]}"
            )
        if types[name].startswith("tuple["):
            own[name] = tuple(value)
    return kind(**own)


def _is_of_type(value: object, annotation: str) -> bool:
    """Tells whether a value from JSON is of the type that a field of a record is annotated with."""
    if annotation.endswith(" | None"):
        return value is None or _is_of_type(value, annotation.removesuffix(" | None"))
    if annotation == "Any":
        return True
    if annotation == "float":
        return type(value) in (int, float) and abs(value) < math.inf  # type: ignore[arg-type]
    if annotation.startswith(("list[", "tuple[")):
        part = annotation.partition("[")[2].removesuffix("]").removesuffix(", ...")
        return isinstance(value, list) and all(_is_of_type(one, part) for one in value)
    if annotation.startswith("dict["):
        part = annotation.removeprefix("dict[str, ").removesuffix("]")
        return isinstance(value, dict) and all(_is_of_type(one, part) for one in value.values())
    return type(value).__name__ == annotation


def _is_deep(value: Any, levels: int) -> bool:
    """Whether there are lists or objects below so many levels of them."""
    children = value.values() if isinstance(value, dict) else value
    if not isinstance(value, (dict, list)):
        return False
    return levels == 0 or any(_is_deep(child, levels - 1) for child in children)
