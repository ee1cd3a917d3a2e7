"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional

import tyro

from hardalign.cli.console import cores, note
from hardalign.data.formats import FORMATS, Example, Format, as_read_by, changed
from hardalign.data.reading import Skipped, read_examples
from hardalign.errors import HardalignError

FormatName = Literal["pairs", "lexicon", "spaced", "sigmorphon", "news"]


def optional(metavar: str, **settings: Any) -> Any:
    """Describes an option that may be left out: its help alone says what happens then."""
    return tyro.conf.arg(metavar=metavar, help_behavior_hint="", **settings)


# Optional[X], not X | None: tyro imports typeguard, a tenth of a second, to look at the latter.
Text = Annotated[Optional[str], optional("TEXT")]
Number = Annotated[Optional[int], optional("N")]
Count = Annotated[Optional[int], optional("K")]
Share = Annotated[Optional[float], optional("P")]
Temperature = Annotated[Optional[float], optional("T")]
Folder = Annotated[Path, tyro.conf.arg(metavar="DIR")]
OptionalFolder = Annotated[Optional[Path], optional("DIR")]
CorpusName = Annotated[Optional[str], optional("NAME")]
OutputFile = Annotated[Optional[Path], optional("FILE")]
if TYPE_CHECKING:
    Strings = tuple[str, ...]
else:
    Strings = tuple  # of what, tyro would need typeguard to see
FileList = Annotated[Strings, tyro.conf.UseAppendAction, optional("FILE")]
OptionalModel = Annotated[Optional[str], optional("MODEL")]
OptionalFile = Annotated[Optional[str], optional("FILE")]
Model = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="MODEL")]
File = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]


def threads_or_cores(threads: int | None) -> int:
    """Returns how many threads to use: as many as there are cores, if nothing is said."""
    if threads is not None and threads < 1:
        raise HardalignError(f"--threads must be at least 1, not {threads}")
    return threads or cores()


def file_or_stdout(output: Path | None) -> Path | None:
    """Returns where to write: None is standard output, which may also be called ``-``."""
    return None if output == Path("-") else output


@dataclass(frozen=True)
class FileOptions:
    """How files are read. What is not given is as the format (or the model) has it."""

    format: Annotated[
        Optional[FormatName],
        optional(
            f"{{{','.join(FORMATS)}}}",
            help="pairs: source TAB target, each character a symbol; "
            "lexicon: word TAB P H O N E S; spaced: s o u r c e TAB t a r g e t; "
            "sigmorphon: lemma TAB form TAB TAG;TAG; "
            "news: NEWS shared-task XML. (default: pairs, or as the model was trained)",
        ),
    ] = None
    columns: Annotated[
        Optional[str],
        optional(
            "TEXT",
            help="Names of the TAB-separated columns in order, of source, target, tags and - "
            "(passed over); e.g. target,source or source,target,-",
        ),
    ] = None
    source_separator: Text = None
    """What separates source symbols; '' makes each character a symbol."""
    target_separator: Text = None
    """What separates target symbols; '' makes each character a symbol."""
    tag_separator: Text = None
    """What separates tags. (default: ;)"""
    normalization: Annotated[
        Optional[Literal["NFC", "NFD", "NFKC", "NFKD", "none"]],
        optional("{NFC,NFD,NFKC,NFKD,none}"),
    ] = None
    """Unicode normal form that text is brought to before it is cut. (default: NFC)"""
    source_case: Annotated[Optional[Literal["keep", "lower"]], optional("{keep,lower}")] = None
    """lower: capitals of a source are read as small letters. (default: keep)"""
    max_length: Number = None
    """Most symbols a source or target may have; longer ones are an error. (default: 1000)"""

    def resolve(self, default: Format) -> Format:
        """Returns the format that is meant: a named one or ``default``, with single changes.

        Which letters are the same, by normal form and case, a name does not change.
        """
        layout = default if self.format is None else as_read_by(default, FORMATS[self.format])
        return changed(layout, self.settings)

    @property
    def settings(self) -> dict[str, Any]:
        """Returns what is given besides a format's name."""
        return {
            name: value
            for name, value in vars(self).items()
            if value is not None and name not in ("format", "allow_empty")
        }


@dataclass(frozen=True)
class PairOptions(FileOptions):
    """How files of sources and targets are read."""

    allow_empty: bool = False
    """Allow empty targets."""

    def read(self, file: str, default: Format) -> Iterator[Example]:
        """Gives the examples of a file to evaluate on, and tells of its blank lines at the end."""
        skipped, layout = Skipped(), self.resolve(default)
        yield from read_examples(
            file, layout, "evaluation", allow_empty=self.allow_empty, skipped=skipped
        )
        note(skipped.report(file, "passed over"))
