"""Pronounce a newspaper paragraph in four languages and list the mistakes.

    python benchmarks/texts.py

Reads docs/data/texts.toml, with the paragraphs and the mistakes that a reader found in their
pronunciations, and writes docs/evidence/texts.md. Stops if a mistake is no longer made.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
import tomllib
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import hardalign
from hardalign.text.ipa import parts_to_ipa
from hardalign.text.numbers import Numbers
from hardalign.text.running import TextReport, Word, pronounce_text

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "evidence" / "texts.md"
TEXTS: dict[str, dict[str, Any]] = tomllib.loads((DOCS / "data/texts.toml").read_text("utf-8"))
RUNS = 20
PROCESS = """
import re, runpy, sys
try:
    runpy.run_module("hardalign", run_name="__main__")
finally:
    print(*re.findall(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read()), file=sys.stderr)
"""
"""The command, then its peak memory in kB; that of ``wait4`` starts at the parent's."""
HEAD = f"""# A newspaper paragraph in four languages

Dates, money, clock times, abbreviations, names and elisions: each paragraph was pronounced by one
command and then checked word by word against dictionary standards by a language model in the role
of a strict phonetician. The mistakes it found are listed below each text; no native speaker has
checked the list. Texts and mistakes are in `docs/data/texts.toml`, and `benchmarks/texts.py` writes
this page.

The first reading also found mistakes in the text rules, since fixed: *XXIe* and *siglo XIX* were
read as words, *1.ª* and *2.º* as *uno.ª* and *dos.º*, *US$3 millones* as *tres dólares millones*,
*€250 million* as *million euro*, and *2,400* with a pause after *thousand*. The remaining mistakes
come from dictionaries, models, capitals read as words, and pronouncing words one by one.

Words are counted after expanding numbers, and mistakes as often as they occur. "Words a second" is
for one thread and a loaded model, the median of {RUNS} runs, with the dictionary and for the model
alone. "Process" is the whole command, from start to end, and "memory" its peak. Measured on two
cores during a training run.

| language | words | known | mistakes | words a second | model alone | process | memory |
|---|---|---|---|---|---|---|---|
"""


class Reading(NamedTuple):
    """A language's part of the page; ``figures`` begins its row in the table."""

    figures: str
    section: str


def load(language: str, **options: Any) -> hardalign.Predictor:
    """Loads the model of a paragraph."""
    model = TEXTS[language]["model"]
    return hardalign.load(model, language=language if model == "g2p" else None, **options)


def command(language: str) -> list[str]:
    """Returns the command that pronounces a paragraph."""
    model = TEXTS[language]["model"]
    options = {"g2p": ["--language", language], "en-g2p": ["--ipa"]}.get(model, [])
    return ["hardalign", "predict", model, *options, "--text", "--numbers", language]


def read(language: str) -> Reading:
    """Pronounces a paragraph and lists its mistakes."""
    entry, report, numbers = TEXTS[language], TextReport(), Numbers(language)
    ipa, given = entry["model"] == "en-g2p", entry["text"].strip().splitlines()
    lines = list(pronounce_text(load(language), given, numbers=numbers, ipa=ipa, report=report))

    def sounds(word: Word) -> str:
        return parts_to_ipa([p.symbols for p in word.predictions]) if ipa else "".join(word.symbols)

    said = Counter((word.text.lower(), sounds(word)) for line in lines for word in line.words)
    mistakes, rows = 0, ""
    for one in entry["mistakes"]:
        times = one.get("times", 1)
        mistakes += times
        if said[one["word"].lower(), one["said"]] < times:
            sys.exit(f"{language}: {one['word']} is no longer said {one['said']}")
        word = one["word"] + (f" × {times}" if times > 1 else "")
        rows += f"| {word} | {one['said']} | {one['right']} | {one['why']} |\n"
    spoken = "\n\n".join(
        # For reading, without the braces and blanks of symbols.
        numbers.expand(text) + "\n" + re.sub("{.*?}", lambda m: m[0][1:-1].replace(" ", ""), answer)
        for text, answer in zip(given, (line.text for line in lines), strict=True)
    )
    remarks = [one for one in report.remarks() if " read as words: " not in one]
    remarks.append(f"{report.expanded.total()} read as words: {', '.join(report.expanded)}")
    listed = "".join(f"- {one}\n" for one in remarks)
    section = (
        f"\n## {entry['name']}: {mistakes} of {report.words} words\n\n"
        f"`{' '.join(command(language))}`\n\n```text\n" + "\n".join(given) + "\n```\n\n"
        f"Remarks:\n\n{listed}\nOutput:\n\n```text\n{spoken}\n```\n\n"
        f"{entry['notes']}\n\n| word | said | should be | why |\n|---|---|---|---|\n{rows}"
    )
    known = f"{report.known} ({report.known / report.words:.0%})"
    return Reading(f"| {entry['name']} | {report.words} | {known} | {mistakes} |", section)


def measured(language: str) -> str:
    """Returns the rest of a row: words a second, and a process's seconds and peak memory."""
    cells, lines = [], TEXTS[language]["text"].strip().splitlines()
    for options in ({}, {"lexicon": None}):
        predictor, numbers, seconds = load(language, **options), Numbers(language), []
        for _ in range(RUNS):
            start, report = time.perf_counter(), TextReport()
            list(pronounce_text(predictor, lines, numbers=numbers, report=report))
            seconds.append(time.perf_counter() - start)
        cells.append(f"{report.words / median(seconds):,.0f}")
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", PROCESS, *command(language)[1:], "--threads", "1"],
        input="\n".join(lines),
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    whole, peak = time.perf_counter() - start, int(done.stderr.split()[-1])
    return f" {' | '.join(cells)} | {whole:.1f} s | {peak / 1024:.0f} MB |\n"


def main() -> None:
    """Measures and writes the page."""
    readings = {language: read(language) for language in TEXTS}
    table = "".join(one.figures + measured(language) for language, one in readings.items())
    sections = "".join(one.section for one in readings.values())
    PAGE.write_text(HEAD + table + sections, "utf-8")


if __name__ == "__main__":
    main()
