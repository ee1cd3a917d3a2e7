"""What is worth trying, said at the end of a training."""

from __future__ import annotations

from hardalign.config import ModelConfig
from hardalign.data.vocabulary import Vocabulary
from hardalign.model_folder import Description
from hardalign.systems import find_system

FEW_PAIRS = 1000
"""Below this, training says what is worth trying."""
MANY_UNSEEN = 0.02
"""Of the development sources; if more have unknown letters, training says what may help."""


def on_unseen(model: ModelConfig, vocabulary: Vocabulary) -> str:
    """Returns what may help where sources have unknown letters; empty if it is done already."""
    if vocabulary.source.tags:  # in inflection most letters stay
        can_copy = find_system(model.system).model.can_copy_oov and not model.copying
        return "a model that copies (copy) can write them" if can_copy else ""
    return "" if model.rare_dropout else "rare dropout (0.2) teaches how such words are read"


def on_few(description: Description, pairs: int) -> str:
    """Returns what is worth trying with so few pairs; empty if all of it is done already."""
    advice = []
    if description.members == 1:
        advice.append("an ensemble (members 5) is right more often")
    if description.vocabulary.source.tags:
        if not description.training.invent and not description.model.known_forms:
            advice.append("invented examples (invent 1500) teach how tags change a word")
    elif not description.model.symbol_dropout:
        advice.append(
            "more dropout (dropout 0.4, state dropout 0.4, symbol dropout 0.2) and patience (2) "
            "keep a model from learning words by heart"
        )
    marked = any(
        len(one) > 1 and not one.isascii() for one in description.vocabulary.target.letters
    )
    if marked and not description.format.target_parts:
        advice.append("target symbols in characters (target parts) share what is learned of them")
    if pairs >= FEW_PAIRS or not advice:
        return ""
    return f"there are only {pairs} training pairs: {', and '.join(advice)}"
