"""The API described for machines, as OpenAPI 3.1; the schemas come from ``messages``."""

from __future__ import annotations

from typing import Any

import msgspec

from hardalign.serve.messages import Answers, Health, Limits, Models, Refusal, Request
from hardalign.version import __version__

Schema = dict[str, Any]


def describe_api(limits: Limits) -> Schema:
    """Returns the OpenAPI description of a server with some limits."""
    (request, answers, models, health, refusal), components = msgspec.json.schema_components(
        [Request, Answers, Models, Health, Refusal], ref_template="#/components/schemas/{name}"
    )
    page = {"text/html": {"schema": {"type": "string"}}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "hardalign",
            "version": __version__,
            "description": "Strings to strings, character by character, with true alignments.",
        },
        "paths": {
            "/": _get("The page", page),
            "/docs": _get("This API, to be read", page),
            "/health": _get("Whether the server works", _json(health)),
            "/models": _get("The models and the limits", _json(models)),
            "/openapi.json": _get("This API, for machines", _json({"type": "object"})),
            "/predict": {
                "post": {
                    "summary": "Predict words",
                    "requestBody": {"required": True, "content": _json(request)},
                    "responses": {
                        "200": {
                            "description": "An answer to each word, in the order of the words",
                            "content": _json(answers),
                        },
                        **{
                            status: {"description": reason, "content": _json(refusal)}
                            for status, reason in _refusals(limits).items()
                        },
                    },
                }
            },
        },
        "components": {"schemas": components},
    }


def _json(schema: Schema) -> Schema:
    return {"application/json": {"schema": schema}}


def _get(summary: str, content: Schema) -> Schema:
    response = {"description": summary, "content": content}
    return {"get": {"summary": summary, "responses": {"200": response}}}


def _refusals(limits: Limits) -> dict[str, str]:
    return {
        "400": "The body is not JSON",
        "403": "The request comes from a page of another site",
        "404": "No model has that name",
        "413": f"Too much: a body of more than {limits.body} bytes, more than {limits.words} "
        f"words, a word of more than {limits.symbols} symbols, or more work than {limits.work} "
        "(symbols times the width of the beam; see Limits)",
        "415": "The content type is not application/json",
        "422": "Something in the body is wrong, such as a word without symbols",
        "503": f"Too busy: more work than {limits.waiting} would wait, or "
        f"there was no answer within {limits.seconds:g} seconds; try again later",
    }
