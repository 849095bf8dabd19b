"""Types of arguments that the parts of TensorFlow 1 share, beside those of `tfnb.client.argument_types`.

Invariant: an alias is as wide as what the functions accept, and None is never part of it.
"""

from __future__ import annotations

from typing import TypeAlias

from tfnb.client.variables.variable import Variable
from tfnb.ir.tensor import Tensor

__all__ = ["TensorOrVariable"]

# What has a dtype, a static shape and operators: a tensor, or a variable in its place.
TensorOrVariable: TypeAlias = Tensor | Variable
