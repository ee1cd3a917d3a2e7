"""What the model says to some words, as JSON can hold it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Any

from hardalign.data.example import Example
from hardalign.decoding import Search
from hardalign.predictor import Predictor

Answer = dict[str, Any]


def answer_words(
    predictor: Predictor, search: Search, words: Sequence[Example], aligned: Sequence[bool]
) -> list[Answer]:
    """Answer words of any requests together.

    Args:
        predictor: Who answers.
        search: What to look for.
        words: All with at least one symbol.
        aligned: Which of them want alignments with their answers.
    """
    found = list(predictor.answers(words, search))
    answers: list[Answer] = [
        {
            "source": word.text,
            "tags": word.tags,
            "unknown": list(dict.fromkeys(_unknown(predictor, word))),
            "predictions": [prediction.to_dict() for prediction in strings],
        }
        for word, strings in zip(words, found, strict=True)
    ]
    wanted = predictor.align_answers(compress(zip(words, found, strict=True), aligned))
    for answer, (_, alignments) in zip(compress(answers, aligned), wanted, strict=True):
        for entry, alignment in zip(answer["predictions"], alignments, strict=True):
            entry["alignment"] = alignment.to_dict()
    return answers


def _unknown(predictor: Predictor, word: Example) -> list[str]:
    return predictor.description.vocabulary.source.unknown(word.source, word.tags)
