"""An unsupervised aligner of characters, in NumPy: learned from pairs alone, without a model."""

from hardalign.aligner.actions import align_actions, aligner_ids, aligner_pair, oracle_actions
from hardalign.aligner.grids import Pair
from hardalign.aligner.operations import Floats, Path, align, fit, log_likelihood

__all__ = [
    "Floats",
    "Pair",
    "Path",
    "align",
    "align_actions",
    "aligner_ids",
    "aligner_pair",
    "fit",
    "log_likelihood",
    "oracle_actions",
]
