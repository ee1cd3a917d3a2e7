"""Run a notebook's code cells in one process and store their output.

python tools/notebook.py docs/notebooks/first-steps.ipynb
"""

from __future__ import annotations

import ast
import io
import json
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

Output = dict[str, Any]


def run_cell(code: str, variables: dict[str, Any]) -> list[Output]:
    """Run a cell; return its printed text and its last value as notebooks store them."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with redirect_stdout(printed):
        exec(compile(tree, "<cell>", "exec"), variables)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), variables)
    outputs: list[Output] = []
    if text := printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": lines(text)})
    if value is not None:
        drawn = getattr(value, "_repr_html_", None)
        data = {"text/plain": lines(str(value) if drawn else repr(value))}
        if drawn:
            data["text/html"] = lines(drawn())
        outputs.append({"data": data, "metadata": {}, "output_type": "display_data"})
    return outputs


def lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def main() -> None:
    path = Path(sys.argv[1])
    notebook = json.loads(path.read_text("utf-8"))
    variables: dict[str, Any] = {}
    for number, cell in enumerate(code_cells(notebook), start=1):
        cell["outputs"] = run_cell("".join(cell["source"]), variables)
        cell["execution_count"] = number
    text = json.dumps(notebook, ensure_ascii=False, indent=1)
    path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
