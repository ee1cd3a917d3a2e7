from __future__ import annotations

import errno
import os
import pty
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from hardalign import __version__
from hardalign.cli import main as cli_main
from hardalign.cli.main import COMMANDS
from hardalign.errors import HardalignError
from hardalign.systems import SYSTEMS
from helpers import Command, assert_complains


def test_help_lists_the_commands(command: Command) -> None:
    for arguments in ((), ("--help",), ("-h",)):
        result = command(*arguments)
        assert result.code == 0
        assert all(f"  {name} " in result.out for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_shows_an_example(name: str, command: Command) -> None:
    result = command(name, "--help")
    assert result.code == 0
    assert f"hardalign {name}" in result.out.partition("$")[2]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fills_its_lines(name: str, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line ends where the next word has no room, or where a paragraph or an entry ends.

    Examples stay in one line, to be copied.
    """
    monkeypatch.setenv("COLUMNS", "80")
    lines = command(name, "--help").out.splitlines()
    assert all(len(line) <= 80 for line in lines if not line.startswith(("usage: ", "$ ")))
    rows = [line[1:-1].rstrip() for line in lines if line.startswith("│")]
    for row, following in pairwise(rows):
        text = following.lstrip()
        column = len(following) - len(text)
        entry = text.split(":")[0] in SYSTEMS  # a list in the help of --system
        if column >= 10 and len(row) > column and not set("{}") & set(row) and not entry:
            alone = row.strip().startswith("--") and "  " not in row.strip()
            assert alone or len(row) + len(text.split()[0]) >= 77, (row, following)


@pytest.mark.parametrize(
    ("arguments", "unwanted"),
    [
        (["train", "--help"], {"torch"}),
        # typeguard, which tyro asks of unions and generics, imports asyncio and unittest.mock.
        (
            ["predict", "en-g2p"],
            {"torch", "typeguard", "asyncio", "rich", "email", "hardalign.systems.input_feeding"},
        ),
    ],
)
def test_what_a_command_does_not_wait_for(arguments: list[str], unwanted: set[str]) -> None:
    code = (
        f"import sys; sys.argv = {['hardalign', *arguments]}\n"
        "from hardalign.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(*sys.modules)"
    )
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, input="action\n")
    assert "hardalign.cli.main" in result.stdout
    assert not unwanted & set(result.stdout.splitlines()[-1].split())


def test_version(command: Command) -> None:
    assert command("--version").out == f"hardalign {__version__}\n"


@pytest.mark.parametrize("name", ["predict", "score"])
def test_help_names_the_systems_whose_scores_are_not_exact(name: str) -> None:
    words = (cli_main.command(name).__doc__ or "").split()
    for system, row in SYSTEMS.items():
        assert (row.score == "exact") == (system not in words), system


def test_wrong_usage(command: Command, pairs: Path) -> None:
    assert_complains(command("trian"), "'trian'", "train")
    wrong = command("train", pairs, "--out", "x", "--no-such-flag")
    assert_complains(wrong, "--no-such-flag", "train --help")
    assert_complains(command("predict"), "MODEL")
    assert_complains(command("predict", "en-g2p", "--beam"), "Expected 1 value;")
    assert_complains(command("predict", "en-g2p", "--nbest", "x"), "--nbest: invalid INT 'x'")
    wrong = command("score", "en-g2p", "--format", "nope")
    assert_complains(wrong, "'lexicon', 'news', 'pairs', 'sigmorphon', 'spaced';")
    assert_complains(command("analyze", "en-g2p", pairs, "--threshold", "x"), "--threshold")
    assert_complains(command("score", "en-g2p", "--threads", 0), "--threads")


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        (("train", "--epcohs", "3"), "did you mean --epochs?"),
        (("train", "--dropout", "0.3"), "did you mean --set dropout=…?"),
        (("train", "--copy"), "did you mean --set copying=…?"),
        (("train", "--allow-empty"), "did you mean --set allow_empty=…?"),
        (("score", "en-g2p", "--max-len", "3"), "did you mean --max-length?"),
        (("predict", "en-g2p", "--model", "x"), "--model, x; see hardalign predict --help"),
    ],
)
def test_an_unknown_option_is_answered_with_the_one_that_is_meant(
    line: tuple[str, ...], meant: str, command: Command
) -> None:
    assert_complains(command(*line), line[-1], meant, f"hardalign {line[0]} --help")


def test_advice_names_options_as_they_are_typed(command: Command, tmp_path: Path) -> None:
    (tmp_path / "gap.tsv").write_text("cat\tcat\ndog\t\n")
    (tmp_path / "long.tsv").write_text("cat\tcat\n")
    for name, options, typed in (("gap", (), "allow_empty=true"), ("long", (2,), "max_length=N")):
        limit = [f"--set=max_length={n}" for n in options]
        file, out = tmp_path / f"{name}.tsv", tmp_path / "model"
        assert_complains(command("train", file, "--out", out, *limit), f"with --set {typed}")
        limit = [f"--max-length={n}" for n in options]
        option = typed.partition("=")[0].replace("_", "-")
        assert_complains(command("score", "en-g2p", file, *limit), f"with --{option}")


def test_missing_model(command: Command, tmp_path: Path) -> None:
    for name in ("predict", "evaluate", "info"):
        assert_complains(command(name, tmp_path / "none"), tmp_path / "none", "no such model")


LONG = "x" * 300
"""No file system takes such a name."""


@pytest.mark.parametrize(
    "line",
    [
        ("info", LONG),
        ("predict", LONG),
        ("serve", LONG),
        ("export", "en-g2p", f"{LONG}/a.onnx"),
        ("reproduce", "smoke", "--dry-run", "--out", LONG),
        ("corpora", "fetch", "g2p/NETtalk", "--data-dir", LONG),
    ],
)
def test_what_cannot_be_looked_at_is_named(line: tuple[str, ...], command: Command) -> None:
    assert_complains(command(*line), f"hardalign: {LONG}", "File name too long")


def shell(line: str, model: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of bash in which $H is the command and $M a model."""
    environment = {**os.environ, "H": f"{sys.executable} -m hardalign", "M": str(model)}
    return subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, env=environment, timeout=120
    )


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("echo ab | $H predict $M > /dev/full", "No space left"),
        ("$H info $M > /dev/full", "No space left"),
        ("echo ab | $H predict $M >&-", "standard output is closed"),
        ("$H info $M >&-", "standard output is closed"),
    ],
)
def test_output_that_cannot_be_written(line: str, words: str, model: Path) -> None:
    result = shell(line, model)
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("hardalign: cannot write the output: ")
    assert words in result.stderr


def test_streams_that_others_close(model: Path) -> None:
    # Messages must not get into the data.
    result = shell("echo aq | $H predict $M 2>&-", model)
    assert (result.returncode, result.stdout.count("\n")) == (0, 1)
    assert result.stdout.startswith("aq\t")
    result = shell("yes ab | head -100000 | $H predict $M | head -1; exit ${PIPESTATUS[2]}", model)
    assert (result.returncode, result.stderr) == (141, "")
    assert result.stdout.startswith("ab\t")


def test_as_a_module_in_any_locale(model: Path) -> None:
    result = shell("echo aé | LC_ALL=C $H predict $M", model)
    assert result.returncode == 0
    assert result.stdout.startswith("aé\t")
    assert shell("$H --version", model).stdout == f"hardalign {__version__}\n"


@pytest.mark.parametrize(
    ("stream", "status"), [("stdin", 2), ("stdout", 2), ("stderr", 0)], ids=str
)
def test_closed_streams(stream: str, status: int, tmp_path: Path) -> None:
    """As a shell closes them by <&- and >&-: no traceback, and remarks never among the data."""
    number = ["stdin", "stdout", "stderr"].index(stream)
    words = tmp_path / "words"
    words.write_text("ä\n")
    code = (
        f"import os, sys; os.close({number}); os.execv(sys.executable, [sys.executable, '-m', "
        "'hardalign', 'predict', 'en-g2p', sys.argv[1]])"
    )
    file = "-" if stream == "stdin" else words
    result = subprocess.run([sys.executable, "-c", code, file], capture_output=True, text=True)
    assert result.returncode == status
    assert "Traceback" not in result.stderr
    if stream == "stderr":
        assert result.stdout.startswith("ä\t")
        assert result.stdout.count("\n") == 1
    else:
        assert result.stderr.startswith("hardalign: ")
        assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [("info", "interrupted"), ("train", "interrupted; training goes on with --resume")],
)
def test_interrupts(
    name: str, message: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli_main, "_dispatch", interrupt)
    result = command(name)
    assert (result.code, result.err) == (130, f"hardalign: {message}\n")


def test_little_is_imported_before_interrupts_are_caught() -> None:
    """Ctrl-C is a traceback until ``start`` runs, however long the imports before it take."""
    code = (
        f"import os, sys; sys.path.insert(0, {str(Path(cli_main.__file__).parents[2])!r}); "
        "before = set(sys.modules); import hardalign.cli; print(*set(sys.modules) - before)\n"
        "class Interrupt:\n"
        "    def find_spec(self, *_): raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupt()); hardalign.cli.start()"
    )
    result = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True)
    imported = {name.partition(".")[0] for name in result.stdout.split()}
    assert imported <= {"hardalign", "__future__"}
    assert (result.returncode, result.stderr) == (130, "hardalign: interrupted\n")


@pytest.mark.parametrize(
    ("name", "status", "said"), [("SIGTERM", 143, ""), ("SIGINT", 130, "hardalign: interrupted\n")]
)
def test_a_signal_where_exceptions_are_ignored_is_not_lost(
    name: str, status: int, said: str
) -> None:
    code = f"""
import os, signal, time, weakref
from hardalign.cli import main as module

def dispatch(_):
    short = {{*()}}
    reference = weakref.ref(short, lambda _: os.kill(os.getpid(), signal.{name}))
    del short
    time.sleep(60)

module._dispatch = dispatch
module.main()
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (status, said)


def test_messages_are_one_line(command: Command) -> None:
    """Whatever they quote."""
    assert_complains(command("two\nlines\u2028\x1b[31m"), "two")
    assert_complains(command("info", "two\nlines\u2028\x1b[31m"), r"two\nlines\u2028\x1b[31m")


@pytest.mark.parametrize("columns", ["1", "5", "12"])
def test_help_in_narrow_terminals(columns: str, model: Path) -> None:
    for line in ("$H predict --help", "$H --help"):
        result = shell(f"COLUMNS={columns} timeout 60 {line}", model)
        assert result.returncode == 0
        assert "predict" in result.stdout


def test_messages_that_cannot_be_written_are_lost_and_nothing_else(model: Path) -> None:
    result = shell("echo aq | $H predict $M 2>/dev/full", model)
    assert result.returncode == 0
    assert result.stdout.startswith("aq\t")
    assert shell("$H predict none 2>/dev/full", model).returncode == 2


@pytest.mark.parametrize(
    "error",
    [FileNotFoundError(errno.ENOENT, "No such file"), HardalignError("a.tsv: no such file")],
)
def test_a_folder_that_is_gone(
    error: Exception, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise error

    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    monkeypatch.setattr(cli_main, "_dispatch", fail)
    assert_complains(command("info"), "the working folder no longer exists")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError(), "not enough memory"),
        (OSError(errno.EMFILE, "Too many open files", "x"), "too many open files"),
        (OSError(errno.EIO, "I/O error", "name"), "name: I/O error"),
    ],
)
def test_what_the_machine_lacks_is_told(
    error: Exception, words: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise error

    monkeypatch.setattr(cli_main, "_dispatch", fail)
    assert_complains(command("info"), words)


def test_a_terminal_shows_control_characters_and_a_file_keeps_them(
    model: Path, tmp_path: Path
) -> None:
    words = tmp_path / "words"
    words.write_bytes(b"a\x1b[2Jb\n")
    command = [sys.executable, "-m", "hardalign", "predict", model, words]
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                shown += os.read(ours, 1 << 16)
            except OSError:  # the other end is closed
                break
    os.close(ours)
    assert process.returncode == 0
    assert rb"a\x1b[2Jb" in shown
    assert b"\x1b" not in shown
    assert subprocess.check_output(command, stderr=subprocess.DEVNULL).startswith(b"a\x1b[2Jb")
