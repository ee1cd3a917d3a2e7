"""The results of many runs in one small file, kept with the documents: a line of JSON per run.

No weights; which items a run had right is kept as bits, so that runs can still be compared item by
item.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from hardalign.errors import InputError
from hardalign.files import write_bytes
from hardalign.runs import Result, Run


def read_record(path: Path) -> list[Result]:
    """Returns the results of a file's runs; what a row does not know is 0 or empty.

    Raises:
        InputError: If a line is damaged.
    """
    results = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        try:
            results.append(_result(json.loads(line)))
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"is not a result: {error!r}", file=str(path), line=number) from error
    return results


def add_to_record(path: Path, results: Iterable[Result]) -> None:
    """Add results to a file, or put them in the place of those of the same runs."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    rows = {_result(row).run.name: row for row in map(json.loads, lines)}
    rows |= {result.run.name: _row(result) for result in results}
    text = "".join(json.dumps(rows[name]) + "\n" for name in sorted(rows))
    write_bytes(path, text.encode())


def _row(result: Result) -> dict[str, Any]:
    return {
        **result.run.to_dict(),
        "metrics": {name: round(value, 6) for name, value in result.metrics.items()},
        "epochs": result.epochs,
        "seconds": round(result.seconds),
        "parameters": result.parameters,
        "items": result.sources,
        "correct": base64.b64encode(np.packbits(result.correct).tobytes()).decode(),
        "sources_sha256": result.sources_sha256,
        "version": result.version,
    }


def _result(row: dict[str, Any]) -> Result:
    metrics = {"wer": 100 - row["metrics"]["acc"], **row["metrics"]}
    packed = np.frombuffer(base64.b64decode(row.get("correct", "")), dtype=np.uint8)
    return Result(
        Run(row["corpus"], row["system"], row["size"], row["seed"], row.get("overrides", {})),
        metrics,
        parameters=row.get("parameters", 0),
        epochs=row.get("epochs", 0),
        seconds=row.get("seconds", 0.0),
        sources=row.get("items", 0),
        correct=np.unpackbits(packed)[: row.get("items", 0)].tolist(),
        sources_sha256=row.get("sources_sha256", ""),
        version=row["version"],
    )
