"""The systems, each defined once over array operations that exist in NumPy, torch and ONNX.

``table`` lists them, ``model`` says what a system is, ``attention``, ``input_feeding`` and
``monotonic`` define them, ``lattice`` holds all alignments of a pair, and ``ops`` the engines.
"""

from hardalign.config import DEFAULT_SYSTEM
from hardalign.systems.table import SCORES, SYSTEMS, System, find_system, outside_systems

__all__ = ["DEFAULT_SYSTEM", "SCORES", "SYSTEMS", "System", "find_system", "outside_systems"]
