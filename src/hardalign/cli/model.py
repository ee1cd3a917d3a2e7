"""Commands for a trained model: ``info``, ``plot``, ``export`` and ``serve``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from json import loads
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, UseAppendAction

from hardalign.cli import options as opt
from hardalign.cli.console import note, say
from hardalign.cli.remarks import CUT_OFF
from hardalign.errors import HardalignError, MissingPackageError
from hardalign.model_folder import (
    BUNDLED,
    METRICS,
    WEIGHTS,
    bundled_folder,
    describe_bundled,
    find_model,
    load_folder,
    member_folders,
    read_description,
    read_languages,
    read_tensors,
)
from hardalign.predictor import Predictor, load
from hardalign.search import Search
from hardalign.systems import SYSTEMS, outside_systems


def info(model: Positional[opt.OptionalModel] = None) -> None:
    """Describe a trained model, or list the systems and the models that come with hardalign.

    $ hardalign info runs/g2p

    Args:
        model: Folder of a trained model, or the name of a bundled one.
            (default: list systems and bundled models)
    """
    if model is None:
        for name, system in (SYSTEMS | outside_systems()).items():
            print(f"{name:<20}{system.paper}  {system.summary}")
        print("\nmodels that come with hardalign:")
        for name in BUNDLED:
            figures = describe_bundled(name)
            print(
                f"{name:<20}   {figures['task']}, {figures['language']}: {figures['summary']}; "
                f"WER {figures['wer']:.1f} on {figures['words']:,} held-out words"
            )
        return

    predictor, folder = load(model), find_model(model)
    description = predictor.description
    ensemble = member_folders(folder, description.members) if description.members > 1 else []
    notes = [read_tensors(path / WEIGHTS)[1] for path in ensemble or [folder]]
    epochs = [str(beside.get("epoch", "unknown")) for beside in notes]
    sizes, system = description.model, predictor.system
    source, target = description.vocabulary.source, description.vocabulary.target
    paper = "not in the paper" if system.paper == "–" else f"{system.paper} in the paper"
    columns = ", ".join(description.format.columns)
    rows = {
        "system": f"{sizes.system} ({paper}): {system.summary}",
        "parameters": f"{predictor.parameters:,}",
        "sizes": _spelled({k: v for k, v in sizes.to_dict().items() if k != "system"}),
        "source": f"{len(source.letters)} letters: {_some(source.letters)}",
        "tags": f"{len(source.tags)}: {_some(source.tags)}",
        "target": f"{len(target.letters)} letters: {_some(target.letters)}",
        "format": f"{description.format.name}: {columns}; {description.format.treatment}",
        "data": _spelled(description.data.to_dict()),
        "training": _spelled(description.training.to_dict()),
        "weights": f"of epoch {', '.join(epochs)}",
        "temperature": f"{description.temperature:g}",
    }
    if languages := read_languages(folder):
        named = (f"{own[-1]} ({tag}, {own[0]})" for tag, own in languages.items())
        rows["languages"] = f"{len(languages)}: {', '.join(named)}"
    if len(predictor.lexicon):
        rows["lexicon"] = f"{len(predictor.lexicon):,} known words, looked up first"
    if model in BUNDLED and folder == bundled_folder(model):
        figures = describe_bundled(model)
        rows["measured"] = f"WER {figures['wer']:.1f} on {figures['words']:,} held-out words"
        rows["licence"] = re.sub(r"[*`]|\]\([^)]*\)|\[", "", figures["licence"])
    if ensemble:
        systems = [read_description(path).model.system for path in ensemble]
        rows["members"] = f"{len(ensemble)}: {', '.join(systems)}"
    if description.start is not None:
        rows["began with"] = description.start
    for name, text in rows.items():
        say(f"{name:<12}{text}")


def _spelled(values: Mapping[str, object]) -> str:
    """Format names and values on one line: ``seed 0, train (file words.tsv, examples 90)``."""
    return ", ".join(
        f"{name} ({_spelled(value)})" if isinstance(value, dict) else f"{name} {value}"
        for name, value in values.items()
    )


def _some(symbols: tuple[str, ...]) -> str:
    """Return the first symbols, as many as fit on a line."""
    shown = " ".join(symbols[:60])
    return shown if len(symbols) <= 60 else f"{shown} …"


def plot(
    model: opt.Model,
    source: Annotated[opt.Text, Positional, opt.optional("SOURCE")] = None,
    target: Annotated[opt.Text, Positional, opt.optional("TARGET")] = None,
    *,
    tags: opt.Text = None,
    beside: opt.OptionalModel = None,
    output: opt.OutputFile = None,
) -> None:
    """Draw the alignment of a pair, or the training curves of a model.

    $ hardalign plot runs/g2p action
    $ hardalign plot runs/g2p action "AE K SH AH N" --output action.svg
    $ hardalign plot runs/soft action --beside runs/hard --output action.pdf
    $ hardalign plot runs/g2p

    Rows are target symbols, columns source symbols, ⊢ and ⊣ are begin and end. The title says what
    the weights are: the posterior of the alignment, attention weights, or one path. Without a
    source, the loss, accuracy and learning rate of the training run are plotted.

    Args:
        source: The source string.
        target: The target string; without it, the model's prediction.
        tags: The tags of the source, as the model's format writes them: V;PST
        beside: Another model, whose alignment is drawn on the right (in the terminal, below).
            Without a target, each model's own prediction is drawn.
        output: Write a picture (.svg, .png or .pdf) instead of drawing in the terminal; needs
            matplotlib, from the extra plot.
    """
    if source is None:
        if beside is not None or tags is not None or output is not None:
            raise HardalignError("--beside, --tags and --output need a source to draw")
        _plot_run(model)
        return
    question = source if tags is None else f"{source}\t{tags}"
    texts, alignments = [], []
    for predictor in [load(folder) for folder in (model, beside) if folder]:
        if "tags" in predictor.description.format.columns and "\t" not in question:
            raise HardalignError("the model reads tags with each source; give them with --tags")
        text = target
        if text is None:  # not by a call, which would repeat the warnings of `align`
            ((best,),) = predictor.answers([predictor.example(question)], Search())
            text = best.text
            if not best.finished:
                note(f"the prediction was {CUT_OFF}: the row ⊣ is the cut, not a predicted end")
        texts.append(text)
        alignments.append(predictor.align(question, text))
    if output is not None:
        first, *others = alignments
        first.plot(output, beside=others[0] if others else None)
        return
    for text, alignment in zip(texts, alignments, strict=True):
        say(f"{question} → {text}  ({alignment.title})")
        print(alignment)


def _plot_run(model: str) -> None:
    """Print the training curves of a model folder or of a run of ``reproduce``."""
    from hardalign.plot import curve_text

    path = find_model(model) / METRICS
    if not path.is_file():
        raise HardalignError(f"{model}: no {METRICS} here; name a source to draw an alignment")
    epochs: list[dict[str, Any]] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            epochs.append(dict(loads(line)))
        except (ValueError, TypeError):
            raise HardalignError(f"{path}, line {number}: this is not a JSON object") from None
    print(curve_text(epochs))


def export(model: opt.Model, file: Annotated[Path, Positional, opt.arg("FILE.onnx")]) -> None:
    """Export a model to ONNX, to predict on a phone, in a browser or from C++.

    $ hardalign export runs/g2p g2p.onnx

    There are two graphs, in separate files, which any ONNX runtime can run. FILE.onnx is the
    encoder: its inputs are source, lengths and tags (how many symbols are tags). FILE.step.onnx is
    one decoding step: from the encoder's outputs and the last symbol (previous) it computes
    log_probs and alpha of the next symbol, and the state of the next step (next_h for h, next_c for
    c and so on). Batch sizes and lengths are dynamic. The symbol numbers and the format are in
    FILE.json, and in the metadata of both graphs. docs/examples in the repository has programs that
    predict with them. The system must have no input feeding: hard, soft, hard-sampled, hard-prior,
    hard-hmm or hard-monotonic.

    Args:
        file: File for the encoder; the others are written beside it. Needs the extra onnx.
    """
    try:
        from hardalign.systems.export import export_onnx, step_file
    except ModuleNotFoundError as error:
        raise MissingPackageError("the export", error.name, "onnx") from None
    tensors, description = load_folder(find_model(model))
    export_onnx(tensors, description, file)
    note(f"the encoder is {file}, the step {step_file(file)}")
    if description.model.copying:
        note("the exported model reads unseen letters as unknown; hardalign itself can copy them")


def serve(
    model: Annotated[str, Positional, opt.arg("[NAME=]MODEL")],
    others: Annotated[tuple[str, ...], Positional, opt.optional("[[NAME=]MODEL ...]")] = (),
    *,
    host: Annotated[str, opt.arg("HOST")] = "127.0.0.1",
    port: Annotated[int, opt.arg("N")] = 8000,
    language: opt.Language = None,
    lexicon: opt.Lexicons = (),
    no_lexicon: opt.NoLexicon = False,
    allow_origin: Annotated[opt.Strings, UseAppendAction, opt.optional("ORIGIN")] = (),
) -> None:
    """Serve a web page to try and compare models, and a JSON API.

    $ hardalign serve en-g2p
    $ hardalign serve en-g2p ko=runs/ko --port 9000
    $ hardalign serve en-g2p --lexicon mine.tsv
    $ hardalign serve g2p --language de
    $ curl localhost:8000/predict -H 'Content-Type: application/json' -d '{"words": ["action"]}'

    The page shows predictions as you type, other candidates with their probabilities, and where
    each symbol came from. /docs describes the API. Ctrl-C stops it.

    Args:
        model: Folder of a trained model, or the name of a bundled one. NAME is what the page and
            the API call it, by default the last part of the folder's path.
        others: More models, to switch between and compare.
        host: Address to listen on. Anyone who can reach it can use the models: 0.0.0.0 admits the
            whole network.
        port: Port to listen on; 0 picks a free one.
        allow_origin: Site whose pages may use the API (CORS), such as https://example.org; * is
            any. Can be repeated. (default: only the server's own page)
    """
    try:
        from hardalign.serve.app import create_app
        from hardalign.serve.messages import Limits
        from hardalign.serve.server import address_of, listen, make_server, run
    except ModuleNotFoundError as error:
        raise MissingPackageError("the page", error.name, "serve") from None
    limits = Limits()
    models = load_models((model, *others), opt.lexicons(lexicon, no_lexicon), language)
    with listen(host, port) as listening:
        app = create_app(models, limits, listening.getsockname()[0], host, allow_origin)
        note(f"serving {', '.join(models)} at {address_of(listening)} (Ctrl-C ends it)")
        run(make_server(app, limits.seconds), listening)


def load_models(
    models: Iterable[str], lexicons: Sequence[str] | None = (), language: str | None = None
) -> dict[str, Predictor]:
    """Load models given as ``MODEL`` or ``NAME=MODEL``, all with the same options.

    The default name is the last part of the path, with as many more as make it unique.
    """
    pairs = [_split(model) for model in models]
    # Not resolve(), which follows links: a link's own name is the one that was chosen.
    paths = [Path(os.path.abspath(model)).parts for _, model in pairs]  # noqa: PTH100
    unnamed = [path for path, (name, _) in zip(paths, pairs, strict=True) if not name]
    named: dict[str, Predictor] = {}
    for path, (chosen, model) in zip(paths, pairs, strict=True):
        name = chosen or _shortest(path, unnamed)
        if name in named:
            raise HardalignError(f"{model}: another model is called {name!r}; name it NAME={model}")
        try:
            named[name] = load(model, language=language, lexicon=lexicons)
        except HardalignError as error:
            if len(pairs) == 1 or not lexicons:
                raise
            load(model, language=language, lexicon=None)  # raises if the model itself is at fault
            raise HardalignError(
                f"the lexicon does not fit the model {name}: {error}; serve it without this one"
            ) from error
    return named


def _split(text: str) -> tuple[str, str]:
    """Split ``NAME=MODEL``; the path of a folder may itself contain an equals sign."""
    name, equals, model = text.partition("=")
    if not equals or os.sep in name or Path(text).exists():
        return "", text
    if not name.strip() or not model:
        raise HardalignError(f"{text}: should be NAME=MODEL, with a name and a model")
    return name.strip(), model


def _shortest(path: tuple[str, ...], paths: list[tuple[str, ...]]) -> str:
    """Return the shortest end of a path that no other path has."""
    lengths = range(1, len(path))
    unique = (n for n in lengths if [one[-n:] for one in paths].count(path[-n:]) == 1)
    # A path may be given twice, and a file name need not be text, which JSON requires.
    return "/".join(path[-next(unique, 1) :]).encode("utf-8", "replace").decode()
