"""Options of a model, which do nothing where its vocabulary has no use for them.

Copying: a source position may also emit its own symbol, where both sides spell it alike,

    p(y | j) = (1 − g_j) · softmax(W f)_y + g_j · [y = x_j],      g_j = sigmoid(w · f + b),

f being tanh(S (h_i ⊕ e_j)), from which W makes the other probabilities too. Positions whose symbol
the target side does not have, such as tags, have no gate: g_j = 0 there. Letters out of both
vocabularies are read as unknown, and can be written only by copying them.

Tags beside the word: the encoder and attention see begin, letters and end only. The decoder reads
the sum of the tags' embeddings at every step, together with the symbol before.
"""

from __future__ import annotations

from hardalign.config import ModelConfig
from hardalign.data.formats import Format
from hardalign.data.vocabulary import PAD, RESERVED, Indexer, Vocabulary
from hardalign.errors import HardalignError
from hardalign.systems.model import Model
from hardalign.systems.table import SYSTEMS, find_system


def check_options(config: ModelConfig) -> type[Model]:
    """Returns the class of a model's system, and refuses options that it cannot have.

    Raises:
        HardalignError: If there is such an option, or no system of that name.
    """
    model = find_system(config.system).model
    for wanted, able, what in (
        (config.copying, "can_copy", "cannot copy"),
        (config.tags == "beside", "can_set_tags_beside", "cannot have tags beside the word"),
    ):
        if wanted and not getattr(model, able):
            others = ", ".join(name for name, row in SYSTEMS.items() if getattr(row.model, able))
            raise HardalignError(f"{config.system} {what}; the systems that can are {others}")
    return model


def copied_symbols(config: ModelConfig, vocabulary: Vocabulary) -> list[int]:
    """Returns the target number that each source number is copied to, PAD where there is none.

    Where nothing can be copied, or the model does not copy, the list is empty.
    """
    if not config.copying:
        return []
    target = vocabulary.target.letter_numbers
    copied = [target.get(letter, PAD) for letter in vocabulary.source.letters]
    if not any(copied):
        return []
    return [PAD] * RESERVED + copied + [PAD] * len(vocabulary.source.tags)


def tags_beside(config: ModelConfig, vocabulary: Vocabulary) -> int:
    """Returns how many tags there are beside words; 0 where they are symbols among the others."""
    return len(vocabulary.source.tags) if config.tags == "beside" else 0


def indexer(config: ModelConfig, vocabulary: Vocabulary, layout: Format) -> Indexer:
    """Returns how a model numbers what it reads and writes."""
    can_copy = find_system(config.system).model.can_copy_oov
    copies = can_copy and bool(copied_symbols(config, vocabulary))
    return Indexer(vocabulary, layout.writes if copies else None)
