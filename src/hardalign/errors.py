"""The errors that users meet: each says what is wrong, where, and what to do."""

from __future__ import annotations


class HardalignError(Exception):
    """A problem the user can mend. The command line prints it on one line and exits with 2."""


class InputError(HardalignError):
    """Something wrong in an input file, with the place where it is.

    ``line`` and ``column`` count from 1. ``column`` is the TAB-separated field, not the character.
    """

    def __init__(
        self, message: str, *, file: str, line: int | None = None, column: int | None = None
    ) -> None:
        numbers = {"line": line, "column": column}
        place = "".join(f", {name} {n}" for name, n in numbers.items() if n is not None)
        super().__init__(f"{file}{place}: {message}")
        self.file, self.line, self.column = file, line, column


class MissingPackageError(HardalignError):
    """Something that an extra of hardalign would bring is not installed."""

    def __init__(self, what: str, package: str | None, extra: str) -> None:
        advice = f"run {install_command(extra)}"
        super().__init__(f"{what} needs {package}, which is not installed; {advice}")


def install_command(extra: str) -> str:
    """Return the command that adds an extra to this copy of hardalign, however it was installed.

    A copy from a clone or a file is extended from there: the package index may have another
    version, or a stranger's package of this name.
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
