"""The API in OpenAPI's words. Written by hand; the tests hold it against the real answers."""

from __future__ import annotations

from typing import Any

from hardalign.alignment import KINDS
from hardalign.serve.limits import Limits
from hardalign.version import __version__

Schema = dict[str, Any]


def describe_api(limits: Limits) -> Schema:
    """The OpenAPI description of a server with some limits."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "hardalign",
            "version": __version__,
            "description": "Strings to strings, character by character, with true alignments.",
        },
        "paths": {
            "/": {"get": _get("The page", "text/html", {"type": "string"})},
            "/health": {"get": _get("Whether the server works", "application/json", HEALTH)},
            "/models": {"get": _get("The models and the limits", "application/json", MODELS)},
            "/openapi.json": {
                "get": _get("This description", "application/json", {"type": "object"})
            },
            "/predict": {"post": _predict(limits)},
        },
        "components": {"schemas": {"Alignment": ALIGNMENT, "Error": ERROR}},
    }


def _get(summary: str, media_type: str, schema: Schema) -> Schema:
    content = {media_type: {"schema": schema}}
    return {"summary": summary, "responses": {"200": {"description": summary, "content": content}}}


def _predict(limits: Limits) -> Schema:
    refusals = {
        "400": "The body is not JSON",
        "403": "The request comes from a page of another site",
        "404": "No model has that name",
        "413": f"Too much: a body of more than {limits.body} bytes, more than {limits.words} words "
        f"({limits.aligned} with alignments), or a word of more than {limits.symbols} symbols",
        "415": "The content type is not application/json",
        "422": "Something in the body is wrong, such as a word without symbols",
        "503": f"Too busy, or not done within {limits.seconds:g} seconds: try again later",
    }
    error = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    return {
        "summary": "Predict words",
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": _question(limits)}},
        },
        "responses": {
            "200": {
                "description": "An answer to each word, in the order of the words",
                "content": {"application/json": {"schema": ANSWERS}},
            },
            **{
                status: {"description": text, "content": error} for status, text in refusals.items()
            },
        },
    }


def _question(limits: Limits) -> Schema:
    width = {"type": "integer", "minimum": 1, "maximum": limits.beam}
    word = {"type": "string", "minLength": 1}
    return {
        "type": "object",
        "required": ["words"],
        "additionalProperties": False,
        "properties": {
            "words": {
                "description": "Words; for a model with tags, each is lemma<TAB>TAG;TAG",
                "type": "array",
                "items": word,
                "maxItems": limits.words,
            },
            "model": {"description": "Default: the first model", "type": "string"},
            "nbest": {"description": "How many strings for each word; default: 1", **width},
            "beam": {
                "description": "Width of the beam; default: 1 (greedy), with nbest at least 5",
                **width,
            },
            "alignments": {
                "description": f"Add alignments; then at most {limits.aligned} words",
                "type": "boolean",
                "default": False,
            },
        },
    }


def _object(**properties: Schema) -> Schema:
    """An object with just these properties, all there."""
    return {
        "type": "object",
        "required": list(properties),
        "additionalProperties": False,
        "properties": properties,
    }


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


TEXT, WHOLE = {"type": "string"}, {"type": "integer", "minimum": 0}
WEIGHT: Schema = {"type": "number", "minimum": 0, "maximum": 1}
KIND: Schema = {"enum": list(KINDS)}

ERROR = _object(error={"type": "string", "description": "What is wrong, and the limit, if any"})
HEALTH = _object(status={"const": "ok"}, version=TEXT, waiting=WHOLE)
MODELS = _object(
    models=_list(
        _object(
            name=TEXT,
            system=TEXT,
            summary=TEXT,
            alignment=KIND,
            score={"type": "string", "description": "What log_prob is"},
            exact={"type": "boolean", "description": "Whether that is log p(y | x) exactly"},
            source_separator={"type": "string", "description": "Empty: each character a symbol"},
            target_separator=TEXT,
            tag_separator=TEXT,
            tags=_list(TEXT),
        )
    ),
    limits=_object(
        body=WHOLE,
        words=WHOLE,
        aligned=WHOLE,
        symbols=WHOLE,
        beam=WHOLE,
        seconds={"type": "number"},
        waiting=WHOLE,
    ),
)
ALIGNMENT = _object(
    source=_list(TEXT),
    target=_list(TEXT),
    tags=_list(TEXT),
    system=TEXT,
    kind=KIND,
    pairs=_list({"type": "array", "items": WHOLE, "minItems": 2, "maxItems": 2}),
    weights={
        "description": "A row for each target symbol, a number for each source symbol",
        **_list(_list(WEIGHT)),
    },
    begin=_list(WEIGHT),
    tag_weights=_list(_list(WEIGHT)),
    end=_list(WEIGHT),
    stop={
        "description": "Where the model looked when it stopped",
        **_object(begin=WEIGHT, tags=_list(WEIGHT), source=_list(WEIGHT), end=WEIGHT),
    },
    entropy=_list({"type": "number", "minimum": 0}),
)
_PREDICTION = _object(
    text=TEXT,
    symbols=_list(TEXT),
    log_prob={"type": "number", "description": "Natural logarithm"},
    finished={"type": "boolean", "description": "False where the length limit cut it off"},
)
_PREDICTION["properties"]["alignment"] = {"$ref": "#/components/schemas/Alignment"}
ANSWERS = _object(
    model=TEXT,
    answers=_list(
        _object(
            source=TEXT,
            tags=_list(TEXT),
            unknown={"description": "Symbols never seen in training", **_list(TEXT)},
            predictions={"description": "Best first", **_list(_PREDICTION)},
        )
    ),
)
