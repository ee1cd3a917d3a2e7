"""What a model says to some words, as messages."""

from __future__ import annotations

from collections.abc import Sequence

from hardalign.data.formats import Example
from hardalign.data.lexicon import Lexicon
from hardalign.predictor import Prediction, Predictor
from hardalign.search import Search
from hardalign.serve.messages import AlignmentAnswer, PredictionAnswer, Stop, WordAnswer
from hardalign.text.ipa import arpabet_to_ipa, is_arpabet
from hardalign.text.known import answers_with_known


def answer_words(
    predictor: Predictor,
    search: Search,
    words: Sequence[Example],
    alignments: bool,
    lexicon: Lexicon | None = None,
) -> list[WordAnswer]:
    """Answers words of any requests together; for those of the lexicon the model is not asked."""
    known = lexicon or Lexicon(predictor.description.format)
    ipa = is_arpabet(predictor.description.vocabulary.target.letters)
    answers = answers_with_known(predictor, words, search, known, alignments=alignments)
    return [
        WordAnswer(
            source=word.text,
            tags=word.tags,
            origin=answer.origin,
            unknown=list(dict.fromkeys(answer.predictions[0].unknown)),
            predictions=[_prediction(prediction, ipa) for prediction in answer.predictions],
        )
        for word, answer in zip(words, answers, strict=True)
    ]


def _prediction(prediction: Prediction, ipa: bool) -> PredictionAnswer:
    content = prediction.to_dict()
    if ipa:
        content["ipa"] = arpabet_to_ipa(prediction.symbols)
    if alignment := content.get("alignment"):
        content["alignment"] = AlignmentAnswer(**{**alignment, "stop": Stop(**alignment["stop"])})
    return PredictionAnswer(**content)
