"""Exceptions for mistakes that users can correct, and checks of arguments."""

from __future__ import annotations


class HardalignError(Exception):
    """A mistake the user can correct; the command prints it on one line and exits with status 2."""


class InputError(HardalignError):
    """An error in an input file. Lines and columns (TAB-separated fields) count from 1."""

    def __init__(
        self, message: str, *, file: str, line: int | None = None, column: int | None = None
    ) -> None:
        numbers = {"line": line, "column": column}
        place = "".join(f", {name} {n}" for name, n in numbers.items() if n is not None)
        super().__init__(f"{file}{place}: {message}")
        self.file, self.line, self.column = file, line, column


class MissingPackageError(HardalignError):
    """A package that belongs to one of hardalign's extras is not installed."""

    def __init__(self, what: str, package: str | None, extra: str) -> None:
        advice = f"run {install_command(extra)}"
        super().__init__(f"{what} needs {package}, which is not installed; {advice}")


def install_command(extra: str) -> str:
    """Return the pip command that installs an extra into this installation.

    For a copy installed from a folder or file it names that place: the package index may have
    another version, or somebody else's package of the same name.
    """
    import json
    import shlex
    from importlib.metadata import PackageNotFoundError, distribution
    from pathlib import Path
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    try:
        found = json.loads(distribution("hardalign").read_text("direct_url.json") or "{}")
    except PackageNotFoundError:  # run from a source tree
        found = {"url": Path(__file__).parents[2].as_uri(), "dir_info": {"editable": True}}
    url = found.get("url", "")
    if "dir_info" in found:
        folder = Path(url2pathname(urlsplit(url).path))
        place = "." if folder == Path.cwd() else str(folder)
        option = "--editable " if found["dir_info"].get("editable") else ""
        return f"pip install {option}{shlex.quote(f'{place}[{extra}]')}"
    name = f"hardalign[{extra}]"
    return f"pip install {shlex.quote(f'{name} @ {url}' if url else name)}"


def require_int(name: str, value: object, least: int, most: int | None = None) -> None:
    """Require an int (not a bool) between least and most."""
    from numbers import Integral

    integer = isinstance(value, Integral) and not isinstance(value, bool)
    if not integer or value < least or (most is not None and value > most):  # type: ignore[operator]
        bounds = f"from {least} to {most}" if most is not None else f"at least {least}"
        raise HardalignError(f"{name} must be a whole number {bounds}, not {value!r}")


def require_type(kind: type, value: object) -> None:
    """Require an instance of a type; a string does not count as an iterable."""
    if not isinstance(value, kind) or isinstance(value, str):
        raise HardalignError(f"expected {kind.__name__}, not {value!r:.50}; see `example`")
