"""``hardalign completion``: what a shell needs to complete commands, flags and their values."""

from __future__ import annotations

import contextlib
import io
from typing import Annotated, Literal

import tyro


def completion(
    shell: Annotated[
        Literal["bash", "zsh", "fish"], tyro.conf.Positional, tyro.conf.arg(metavar="SHELL")
    ],
) -> None:
    """Print a script by which your shell completes commands, flags and values.

    $ hardalign completion bash > ~/.local/share/bash-completion/completions/hardalign

    $ hardalign completion zsh > ~/.zfunc/_hardalign

    $ hardalign completion fish > ~/.config/fish/completions/hardalign.fish

    A new terminal completes then; with zsh, if ~/.zfunc is in your fpath.

    Args:
        shell: The shell you use: bash, zsh or fish.
    """
    from hardalign.cli.main import COMMANDS, command
    from hardalign.cli.parsing import CONFIG

    script = io.StringIO()
    with contextlib.redirect_stdout(script), contextlib.suppress(SystemExit):
        tyro.extras.subcommand_cli_from_dict(
            {name: command(name) for name in COMMANDS},
            prog="hardalign",
            args=["--tyro-print-completion", shell],
            config=CONFIG,
        )
    for line in script.getvalue().splitlines():
        # A shell would take the second line of a description for one more completion.
        print(line.replace(r"\n", " ") if line.startswith("COMPLETION_SPEC = ") else line)
