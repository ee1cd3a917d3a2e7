from __future__ import annotations

import json

import numpy as np

from hardalign.alignment import Alignment
from hardalign.prediction import NOTHING, Prediction

PREDICTION = Prediction("ab", "x y", ("x", "y"), -0.5, True, np.full((3, 4), 0.25))


def test_as_json() -> None:
    content = json.loads(json.dumps(PREDICTION.to_dict()))
    assert content == {"text": "x y", "symbols": ["x", "y"], "log_prob": -0.5, "finished": True}


def test_an_alignment_is_part_of_it_where_there_is_one() -> None:
    alignment = Alignment(("a", "b"), ("x", "y"), (), np.eye(4)[[1, 2, 3]], "posterior", "hard")
    aligned = Prediction(**{**vars(PREDICTION), "alignment": alignment})
    content = json.loads(json.dumps(aligned.to_dict()))
    assert content["alignment"]["pairs"] == [[0, 0], [1, 1]]
    assert {key: content[key] for key in PREDICTION.to_dict()} == json.loads(
        json.dumps(PREDICTION.to_dict())
    )


def test_prints_as_its_text() -> None:
    assert str(PREDICTION) == "x y"
    assert f"{NOTHING}" == ""
    assert NOTHING.finished
    assert NOTHING.log_prob == 0.0
