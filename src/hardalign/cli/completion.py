"""``hardalign completion``: what a shell needs to complete commands, flags and their values."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, is_dataclass
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import tyro

Commands = dict[str, Callable[..., Any]]


def completion(
    shell: Annotated[
        Literal["bash", "zsh", "fish"], tyro.conf.Positional, tyro.conf.arg(metavar="SHELL")
    ],
) -> None:
    """Print a script by which your shell completes commands, flags, values and file names.

    $ source <(hardalign completion bash)

    $ hardalign completion fish > ~/.config/fish/completions/hardalign.fish

    Put the first line into ~/.bashrc to have it in every terminal; with zsh for bash it belongs
    into ~/.zshrc, after compinit.

    Args:
        shell: The shell you use: bash, zsh or fish.
    """
    from hardalign.cli.main import COMMANDS  # not above: it imports this module

    print({"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](COMMANDS), end="")


@dataclass(frozen=True)
class Argument:
    """A flag or a positional argument of a command."""

    flag: str
    """With its dashes; empty for a positional argument."""
    choices: list[str]
    """All values it may have, where they can be listed."""
    is_switch: bool
    """Whether it is a flag without a value."""


def arguments(command: Callable[..., Any]) -> Iterator[Argument]:
    """What a command takes, by its signature, as tyro reads it."""
    hints = get_type_hints(command, include_extras=True)
    for name in inspect.signature(command).parameters:
        hint = hints[name]
        if isinstance(hint, type) and is_dataclass(hint):  # options that several commands share
            yield from arguments(hint)
        else:
            positional = tyro.conf.Positional in getattr(hint, "__metadata__", ())
            flag = "" if positional else "--" + name.replace("_", "-")
            yield Argument(flag, _choices(hint), hint is bool)


def _choices(hint: Any) -> list[str]:
    """The values of a literal type, or those that the help shows in braces."""
    if get_origin(hint) is Literal:
        return list(get_args(hint))
    for mark in getattr(hint, "__metadata__", ()):
        shown: str = getattr(mark, "metavar", None) or ""
        if shown.startswith("{"):
            return shown.strip("{}").split(",")
    return [value for part in get_args(hint) for value in _choices(part)]


def _cases(commands: Commands) -> str:
    """What may come next, by command, word before and word: the same lines in bash and zsh."""
    cases = {'" "*': [*commands, "--help", "--version"]}  # no command yet
    for name, command in commands.items():
        taken = list(arguments(command))
        for one in taken:
            if one.flag and one.choices:
                cases[f'"{name} {one.flag} "*'] = one.choices
        cases[f'"{name} "*" -"*'] = [*(one.flag for one in taken if one.flag), "--help"]
        for one in taken:
            if not one.flag and one.choices:
                cases[f'"{name} "*'] = one.choices
    lines = (f"    {when}) choices='{' '.join(words)}' ;;" for when, words in cases.items())
    return "\n".join(lines)


def _bash(commands: Commands) -> str:
    return f"""\
_hardalign() {{
  local choices= command= before=${{COMP_WORDS[COMP_CWORD-1]}} word=${{COMP_WORDS[COMP_CWORD]}}
  [[ $COMP_CWORD == 1 ]] || command=${{COMP_WORDS[1]}}
  case "$command $before $word" in
{_cases(commands)}
  esac
  COMPREPLY=($(compgen -W "$choices" -- "$word"))
}}
complete -o default -F _hardalign hardalign
"""


def _zsh(commands: Commands) -> str:
    return f"""\
#compdef hardalign
_hardalign() {{
  local choices= command= before=$words[CURRENT-1] word=$words[CURRENT]
  [[ $CURRENT == 2 ]] || command=$words[2]
  case "$command $before $word" in
{_cases(commands)}
  esac
  if [[ -n $choices ]]; then compadd -- ${{=choices}}; else _files; fi
}}
compdef _hardalign hardalign
"""


def _fish(commands: Commands) -> str:
    lines = []
    for name, command in commands.items():
        summary = shlex.quote((command.__doc__ or "").partition("\n")[0])
        lines.append(f"-n __fish_use_subcommand -f -a {name} -d {summary}")
        for one in arguments(command):
            values = f" -f -a '{' '.join(one.choices)}'" if one.choices else ""
            flag = f" -l {one.flag[2:]}{'' if one.is_switch else ' -r'}" if one.flag else ""
            if flag or values:
                lines.append(f"-n '__fish_seen_subcommand_from {name}'{flag}{values}")
    return "".join(f"complete -c hardalign {line}\n" for line in lines)
