"""Options shared by several commands: their types, metavars and help texts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional

import tyro
from tyro.conf import Positional, UseAppendAction

from hardalign.cli.console import cores, note
from hardalign.data.formats import FORMATS, Example, Format, as_read_by, changed
from hardalign.data.reading import Skipped, read_examples
from hardalign.errors import HardalignError

FormatName = Literal["pairs", "lexicon", "spaced", "sigmorphon", "news"]


def arg(metavar: str, help: str | None = None) -> Any:
    """Describe an option by its metavar, and by its help unless that is in the docstring."""
    return tyro.conf.arg(metavar=metavar, help=help)


def optional(metavar: str, help: str | None = None, **settings: Any) -> Any:
    """Describe an option as ``arg`` does; its default, if shown, is part of the help."""
    return tyro.conf.arg(metavar=metavar, help=help, help_behavior_hint="", **settings)


# Optional[X], not X | None, for which tyro imports typeguard, a tenth of a second.
if TYPE_CHECKING:
    Strings = tuple[str, ...]
else:
    Strings = tuple  # tyro imports typeguard for tuple[str, ...]
Text = Annotated[Optional[str], optional("TEXT")]
Number = Annotated[Optional[int], optional("N")]
Count = Annotated[Optional[int], optional("K")]
Share = Annotated[Optional[float], optional("P")]
Temperature = Annotated[Optional[float], optional("T")]
Folder = Annotated[Path, arg("DIR")]
OptionalFolder = Annotated[Optional[Path], optional("DIR")]
OutputFile = Annotated[Optional[Path], optional("FILE")]
OptionalModel = Annotated[Optional[str], optional("MODEL")]
OptionalFile = Annotated[Optional[str], optional("FILE")]
FileList = Annotated[Strings, UseAppendAction, optional("FILE")]
Model = Annotated[
    str, Positional, arg("MODEL", "Folder of a trained model, or the name of a bundled one.")
]
PairFile = Annotated[
    str, Positional, arg("FILE", "File with sources and targets; - is standard input.")
]
Beam = Annotated[
    Optional[int],
    optional("N", "Beam width. (default: 1, greedy search)"),
]
Threads = Annotated[
    Optional[int],
    optional("N", "Number of threads. (default: one per core)"),
]
Json = Annotated[bool, tyro.conf.arg(help="Print one JSON object.")]
Output = Annotated[
    Optional[Path],
    optional("FILE", "Write to this file, whole or not at all, instead of standard output (-)."),
]
DataDir = Annotated[
    Optional[Path],
    optional("DIR", "Folder with your own copies of corpora. (default: $HARDALIGN_DATA)"),
]
Language = Annotated[
    Optional[str],
    optional(
        "TEXT",
        "Language of all words, for a multilingual model such as g2p: de, German or deu.",
    ),
]
Lexicons = Annotated[
    Strings,
    UseAppendAction,
    optional(
        "FILE",
        "File of known words, or cmudict, to look up before the model's own lexicon (en-g2p has "
        "cmudict); the model predicts all other words, and ranks the pronunciations of known "
        "ones. Can be repeated: the first that has a word decides.",
    ),
]
NoLexicon = Annotated[bool, tyro.conf.arg(help="Use the model alone, even for words in a lexicon.")]


def lexicons(
    files: tuple[str, ...], no_lexicon: bool, option: str = "--lexicon"
) -> tuple[str, ...] | None:
    """Return the lexicons for ``load``; None means the model alone."""
    if no_lexicon and files:
        raise HardalignError(f"choose one of {option} and --no-lexicon")
    return None if no_lexicon else files


def threads(given: int | None) -> int:
    """Return the number of threads to use, by default one per core."""
    if given is not None and given < 1:
        raise HardalignError(f"--threads must be at least 1, not {given}")
    return given or cores()


@dataclass(frozen=True)
class FileOptions:
    """How the file is read, if not as the model was trained."""

    format: Annotated[
        Optional[FormatName],
        optional(
            f"{{{','.join(FORMATS)}}}",
            "pairs: source TAB target, each character a symbol; "
            "lexicon: word TAB P H O N E S; spaced: s o u r c e TAB t a r g e t; "
            "sigmorphon: lemma TAB form TAB TAG;TAG; "
            "news: NEWS shared-task XML. (default: pairs, or as the model was trained)",
        ),
    ] = None
    columns: Annotated[
        Optional[str],
        optional(
            "TEXT",
            "Names of the TAB-separated columns in order: source, target, tags or - (skipped); "
            "e.g. target,source or source,target,-",
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
    """Unicode normal form of text, applied before it is split into symbols. (default: NFC)"""
    source_case: Annotated[Optional[Literal["keep", "lower"]], optional("{keep,lower}")] = None
    """lower: convert sources to lower case. (default: keep)"""
    max_length: Number = None
    """Maximum number of symbols in a source or target; more are an error. (default: 1000)"""

    def resolve(self, default: Format) -> Format:
        """Return the named format or ``default``, with the other options applied.

        A named format keeps the normal form and case of ``default``.
        """
        layout = default if self.format is None else as_read_by(default, FORMATS[self.format])
        given = {name: value for name, value in vars(self).items() if value is not None}
        return changed(layout, {k: v for k, v in given.items() if k not in NOT_OF_A_FORMAT})


NOT_OF_A_FORMAT = ("format", "allow_empty")


@dataclass(frozen=True)
class PairOptions(FileOptions):
    """How the file is read, if not as the model was trained."""

    allow_empty: bool = False
    """Allow empty targets."""

    def read(self, file: str, default: Format) -> Iterator[Example]:
        """Yield the examples of an evaluation file; at its end, note what was skipped."""
        skipped, layout = Skipped(), self.resolve(default)
        yield from read_examples(
            file, layout, "evaluation", allow_empty=self.allow_empty, skipped=skipped
        )
        note(skipped.report(file, "passed over"))
