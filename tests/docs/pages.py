"""The documents as tests see them: what a reader is told to type, and what it should print."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "docs" / "_build"
PAGES = [
    ROOT / "README.md",
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if not page.is_relative_to(BUILT)),
]
_FENCE = re.compile(r"^```([^`\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Command:
    """A line of a ``console`` block that begins with ``$``, and the lines below it."""

    text: str
    output: str

    @property
    def fails(self) -> bool:
        """Whether the page shows it for its error, alone on a line."""
        return self.output.startswith("hardalign: ") and "\n" not in self.output


@dataclass(frozen=True)
class Snippet:
    """A ``python`` block that a reader might run."""

    code: str


Block = Command | Snippet


def name_of(page: Path) -> str:
    """The path of a page in the repository."""
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> Iterator[Block]:
    """What a page says to do, in order."""
    for language, body in _FENCE.findall(page.read_text("utf-8")):
        if language == "console":
            yield from _commands(body)
        elif language == "python":
            yield Snippet(body)


def _commands(body: str) -> Iterator[Command]:
    """A backslash at the end of a line continues the command on the next one."""
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        text, _, output = re.sub(r"\\\n\s*", "", part).partition("\n")
        yield Command(text, output.strip("\n"))
