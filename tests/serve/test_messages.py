from __future__ import annotations

from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator
from starlette.routing import Route

from hardalign.serve.app import create_app
from hardalign.serve.messages import REFUSALS, Limits, describe_api
from serve.helpers import MODELS

API = describe_api()


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
    routes = create_app(MODELS, Limits()).routes
    served = {
        route.path: {method.lower() for method in (route.methods or set()) - {"HEAD"}}
        for route in routes
        if isinstance(route, Route) and not route.path.startswith("/page/")
    }
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
    ({"json": {"words": []}, "headers": {"Host": "evil.example"}}, "421"),
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
    for path in ("/predict", "/text"):
        assert status in API["paths"][path]["post"]["responses"]


def test_a_text_is_answered_as_described(client: httpx.Client) -> None:
    answer = client.post("/text", json={"text": "ab, 12\n(dcb)"}).json()
    assert_described(answer, *answer_of("/text", "post"))
    first, second = (MODELS["hard"](word).text for word in ("ab", "dcb"))
    assert answer["text"] == f"{first}, 12\n({second})"
    assert [(word["text"], word["origin"]) for word in answer["words"]] == [
        ("ab", "model"),
        ("dcb", "model"),
    ]


def test_a_text_without_words_stays(client: httpx.Client) -> None:
    answer = client.post("/text", json={"text": " 12 €\n"}).json()
    assert (answer["text"], answer["words"]) == (" 12 €\n", [])


def test_every_field_and_status_is_described() -> None:
    for name, schema in API["components"]["schemas"].items():
        for key, field in schema["properties"].items():
            assert "description" in field, (name, key)
    assert set(REFUSALS) == set(API["paths"]["/predict"]["post"]["responses"]) - {"200"}
