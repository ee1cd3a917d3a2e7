"""The API described for machines, as OpenAPI 3.1; the schemas come from ``messages``."""

from __future__ import annotations

from typing import Any

from hardalign.serve.limits import Limits
from hardalign.serve.messages import Answers, Health, Models, Refusal, Request, schemas
from hardalign.version import __version__

Schema = dict[str, Any]


def describe_api(limits: Limits) -> Schema:
    """Returns the OpenAPI description of a server with some limits."""
    references, components = schemas([Request, Answers, Models, Health, Refusal])
    request, answers, models, health, refusal = references
    text: Schema = {"type": "string"}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "hardalign",
            "version": __version__,
            "description": "Strings to strings, character by character, with true alignments.",
        },
        "paths": {
            "/": {"get": _get("The page", "text/html", text)},
            "/docs": {"get": _get("This API, to be read", "text/html", text)},
            "/health": {"get": _get("Whether the server works", "application/json", health)},
            "/models": {"get": _get("The models and the limits", "application/json", models)},
            "/openapi.json": {
                "get": _get("This API, for machines", "application/json", {"type": "object"})
            },
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


def _get(summary: str, media_type: str, schema: Schema) -> Schema:
    content = {media_type: {"schema": schema}}
    return {"summary": summary, "responses": {"200": {"description": summary, "content": content}}}


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
