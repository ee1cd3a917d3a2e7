"""The ``hardalign`` command. Commands import torch only once they run."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn

import tyro

from hardalign.cli.align import align
from hardalign.cli.analyze import analyze
from hardalign.cli.completion import completion
from hardalign.cli.corpora import corpora
from hardalign.cli.evaluate import evaluate
from hardalign.cli.export import export
from hardalign.cli.info import info
from hardalign.cli.plot import plot
from hardalign.cli.predict import predict
from hardalign.cli.reproduce import reproduce
from hardalign.cli.score import score
from hardalign.cli.serve import serve
from hardalign.cli.train import train
from hardalign.cli.tune import tune
from hardalign.errors import HardalignError
from hardalign.version import __version__

COMMANDS: dict[str, Callable[..., Any]] = {
    "train": train,
    "predict": predict,
    "evaluate": evaluate,
    "score": score,
    "align": align,
    "plot": plot,
    "analyze": analyze,
    "info": info,
    "corpora": corpora,
    "reproduce": reproduce,
    "tune": tune,
    "serve": serve,
    "export": export,
    "completion": completion,
}


def main() -> None:
    """Run a command; exit with 2 and one line of explanation where the input is at fault."""
    signal.signal(signal.SIGTERM, _terminated)
    # The locale must not decide whether a script can be printed.
    for stream, errors in ((sys.stdout, "surrogateescape"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=errors, newline="\n")
    try:
        _dispatch(sys.argv[1:])
        sys.stdout.flush()
    except HardalignError as error:
        print(f"hardalign: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("hardalign: interrupted; training goes on with --resume", file=sys.stderr)
        sys.exit(128 + signal.SIGINT)
    except BrokenPipeError:
        # The reader has had enough, as `head` does; Python would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(128 + signal.SIGPIPE)


def _dispatch(arguments: list[str]) -> None:
    name, *rest = arguments or ["--help"]
    if name in ("-h", "--help"):
        print(_help())
    elif name == "--version":
        print(f"hardalign {__version__}")
    elif name in COMMANDS:
        config = (tyro.conf.FlagCreatePairsOff, tyro.conf.OmitArgPrefixes)
        tyro.cli(COMMANDS[name], prog=f"hardalign {name}", args=rest, config=config)
    else:
        known = ", ".join(COMMANDS)
        raise HardalignError(f"no command is called {name!r}; there are {known}")


def _help() -> str:
    """The commands, each with the first line of its own help."""
    lines = [
        "usage: hardalign COMMAND ...",
        "",
        "Turns strings into strings, character by character: words into pronunciations, names",
        "into another script, lemmas into inflected forms.",
        "",
    ]
    for name, command in COMMANDS.items():
        summary = (command.__doc__ or "").partition("\n")[0]
        lines.append(f"  {name:<12}{summary}")
    return "\n".join([*lines, "", "hardalign COMMAND --help explains a command, with examples."])


def _terminated(_signal: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(128 + signal.SIGTERM)
