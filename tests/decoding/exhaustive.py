"""All strings up to a length with their probabilities, by plain recursion over single actions."""

from __future__ import annotations

import torch
from hardalign.networks.rows import Rows
from torch import Tensor

from hardalign.data.encoding import Encoded
from hardalign.data.vocabulary import BEGIN, END
from hardalign.networks.batch import collate
from hardalign.networks.transducer import Transducer

String = tuple[int, ...]


@torch.inference_mode()
def distribution(model: Transducer, pair: Encoded, longest: int) -> dict[String, Tensor]:
    """log p(y | x) of every string of at most ``longest`` letters, all its paths summed."""
    found: dict[String, Tensor] = {}

    def visit(state: Rows, previous: int, string: String, score: Tensor) -> None:
        step = model.step(state, torch.tensor([previous]))
        for number, log_prob in enumerate(step.log_probs[0], start=END):
            total = score + log_prob
            if number == END:
                before = found.get(string, torch.tensor(-torch.inf))
                found[string] = torch.logaddexp(before.to(total), total)
            elif number == model.silent:
                if log_prob > -torch.inf:
                    visit(step.state, number, string, total)
            elif len(string) < longest:
                visit(step.state, number, (*string, number), total)

    batch = collate([Encoded(pair.source, pair.tags, [])])
    visit(model.begin(batch), BEGIN, (), torch.zeros((), dtype=torch.float64))
    return found
