"""``hardalign completion``: what a shell needs to complete commands, flags and their values."""

from __future__ import annotations

from typing import Annotated, Literal

import tyro

Shell = Annotated[Literal["bash", "zsh", "fish"], tyro.conf.Positional]


def completion(shell: Annotated[Shell, tyro.conf.arg(metavar="SHELL")]) -> None:
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

    tyro.extras.subcommand_cli_from_dict(
        {name: command(name) for name in COMMANDS},
        prog="hardalign",
        args=["--tyro-print-completion", shell],
        config=CONFIG,
    )
