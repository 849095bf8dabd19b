"""Scalar expressions, the arithmetic of one element of a tensor: expressions, primitives, and their value by NumPy.

The package itself has the names with which expressions are written: `from tfnb.ir import scalar as s`, `s.tanh(x)`.
"""

from tfnb.ir.scalar.expression import *  # noqa: F403
from tfnb.ir.scalar.primitives import *  # noqa: F403
