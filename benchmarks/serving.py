"""A server of models in its own process, for benchmarks and screenshots."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def served(models: list[str], python: str = sys.executable) -> Iterator[str]:
    """The address of a server of these models, run by this Python or another one."""
    start = "from hardalign.cli.main import main; main()"
    command = [python, "-c", start, "serve", *models, "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"http://\S+", line)
        if found is None:
            sys.exit(line + process.stderr.read())
        try:
            yield found[0]
        finally:
            process.terminate()
