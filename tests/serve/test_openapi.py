from __future__ import annotations

from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator
from starlette.routing import Mount

from hardalign.serve.app import create_app
from hardalign.serve.guard import Guard
from hardalign.serve.messages import Limits
from hardalign.serve.openapi import describe_api
from serve.helpers import MODELS

API = describe_api(Limits())


def assert_described(content: Any, *keys: str) -> None:
    """Hold JSON against the schema at some place of the description."""
    schema: Any = API
    for key in keys:
        schema = schema[key]
    Draft202012Validator.check_schema(schema)
    Draft202012Validator({**schema, "components": API["components"]}).validate(content)


def answer_of(path: str, method: str = "get", status: str = "200") -> tuple[str, ...]:
    content = "content", "application/json", "schema"
    return "paths", path, method, "responses", status, *content


QUESTION = "paths", "/predict", "post", "requestBody", "content", "application/json", "schema"


def test_every_route_is_described_and_no_other() -> None:
    guard = create_app(MODELS, Limits(), "localhost")
    assert isinstance(guard, Guard)
    routes = [route for route in guard.app.routes if not isinstance(route, Mount)]  # type: ignore[attr-defined]
    served = {route.path: {m.lower() for m in route.methods - {"HEAD"}} for route in routes}
    assert served == {path: set(methods) for path, methods in API["paths"].items()}


@pytest.mark.parametrize("path", ["/health", "/models", "/openapi.json"])
def test_what_is_there_is_as_described(client: httpx.Client, path: str) -> None:
    assert_described(client.get(path).json(), *answer_of(path))


def test_the_description_is_served(client: httpx.Client) -> None:
    assert client.get("/openapi.json").json() == API


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("alignments", [False, True])
def test_answers_are_as_described(client: httpx.Client, model: str, alignments: bool) -> None:
    words = ["ab\tN", "q\tV;N"] if model == "tagged" else ["ab", "q"]
    question = {"model": model, "words": words, "nbest": 2, "alignments": alignments}
    assert_described(question, *QUESTION)
    answers = client.post("/predict", json=question).json()
    assert ("alignment" in answers["answers"][0]["predictions"][0]) == alignments
    assert_described(answers, *answer_of("/predict", "post"))


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"content": b"{"}, "400"),
    ({"json": {"words": []}, "headers": {"Origin": "http://other"}}, "403"),
    ({"json": {"words": [], "model": "x"}}, "404"),
    ({"json": {"words": ["a"] * 501}}, "413"),
    ({"content": b"{}", "headers": {"Content-Type": "text/plain"}}, "415"),
    ({"json": {"words": [""]}}, "422"),
]


@pytest.mark.parametrize(("request_", "status"), REFUSED)
def test_refusals_are_as_described(
    client: httpx.Client, request_: dict[str, Any], status: str
) -> None:
    headers = {"Content-Type": "application/json"} | request_.get("headers", {})
    response = client.post("/predict", **{**request_, "headers": headers})
    assert str(response.status_code) == status
    error = API["components"]["schemas"]["Refusal"]
    Draft202012Validator(error).validate(response.json())
    assert status in API["paths"]["/predict"]["post"]["responses"]
