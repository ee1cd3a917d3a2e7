"""``hardalign serve``: a page to try models on, and a JSON API."""

from __future__ import annotations

from typing import Annotated

import tyro

from hardalign.cli.console import note
from hardalign.cli.options import FileList, Strings, optional
from hardalign.errors import HardalignError, MissingPackageError


def serve(
    model: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[NAME=]MODEL")],
    others: Annotated[tuple[str, ...], tyro.conf.Positional, optional("[[NAME=]MODEL ...]")] = (),
    *,
    host: Annotated[str, tyro.conf.arg(metavar="HOST")] = "127.0.0.1",
    port: Annotated[int, tyro.conf.arg(metavar="N")] = 8000,
    lexicon: FileList = (),
    no_lexicon: bool = False,
    allow_origin: Annotated[Strings, tyro.conf.UseAppendAction, optional("ORIGIN")] = (),
) -> None:
    """Serve a page where models can be tried and compared, and a JSON API.

    $ hardalign serve en-g2p

    $ hardalign serve en-g2p ko=runs/ko --port 9000

    $ hardalign serve en-g2p --lexicon mine.tsv

    $ curl localhost:8000/predict -H 'Content-Type: application/json' -d '{"words": ["action"]}'

    The page shows predictions as you type, other candidates with their probabilities, and where
    each symbol came from. /docs describes the API. Interrupt it (Ctrl-C) to end it.

    Args:
        model: Folder of a trained model, or the name of a bundled one. NAME is what the page and
            the API call it, by default the last part of the folder's path.
        others: More of them, to switch between and to compare.
        host: The address to listen on. Whoever can reach it can use the models: 0.0.0.0 lets the
            whole network in.
        port: The port to listen on; 0 is any free one.
        lexicon: A file of known words, or cmudict, to look up before the lexicon that a model
            brings; answers found there are marked as known. May be given several times: the first
            that has a word decides.
        no_lexicon: Ask the models alone, also for words that a lexicon has.
        allow_origin: A site whose pages may use the API, such as https://example.org; * is any.
            May be given several times. By default only the server's own page may.
    """
    try:
        from hardalign.serve.app import create_app
        from hardalign.serve.messages import Limits
        from hardalign.serve.models import load_models
        from hardalign.serve.server import address_of, listen, make_server, run
    except ModuleNotFoundError as error:
        raise MissingPackageError("the page", error.name, "serve") from None
    if no_lexicon and lexicon:
        raise HardalignError("choose one of --lexicon and --no-lexicon")
    limits = Limits()
    models = load_models((model, *others), None if no_lexicon else lexicon)
    with listen(host, port) as listening:
        app = create_app(models, limits, listening.getsockname()[0], host, allow_origin)
        note(f"serving {', '.join(models)} at {address_of(listening)} (Ctrl-C ends it)")
        run(make_server(app, limits.seconds), listening)
