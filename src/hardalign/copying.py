"""Copying: a source position may also emit its own symbol, where both sides spell it alike.

    p(y | j) = (1 − g_j) · softmax(W f)_y + g_j · [y = x_j],      g_j = sigmoid(w · f + b)

f being tanh(S (h_i ⊕ e_j)), from which W makes the other probabilities too. Positions whose symbol
the target side does not have, such as tags, have no gate: g_j = 0 there.
"""

from __future__ import annotations

from hardalign.config import ModelConfig
from hardalign.data.vocabulary import PAD, RESERVED, Vocabulary
from hardalign.errors import HardalignError
from hardalign.systems import SYSTEMS, find_system


def copied_symbols(config: ModelConfig, vocabulary: Vocabulary) -> list[int]:
    """Returns the target number that each source number is copied to, PAD where there is none.

    Where nothing can be copied, or the model does not copy, the list is empty.

    Raises:
        HardalignError: If the model is to copy and its system cannot.
    """
    if not config.copying:
        return []
    if not find_system(config.system).can_copy:
        able = ", ".join(name for name, system in SYSTEMS.items() if system.can_copy)
        raise HardalignError(f"{config.system} cannot copy; the systems that can are {able}")
    target = {symbol: RESERVED + k for k, symbol in enumerate(vocabulary.target.letters)}
    copied = [target.get(letter, PAD) for letter in vocabulary.source.letters]
    if not any(copied):
        return []
    return [PAD] * RESERVED + copied + [PAD] * len(vocabulary.source.tags)
