"""Types of arguments that the parts of TensorFlow 1 share, beside those of `tfnb.client.argument_types`.

Invariant: an alias is as wide as what the functions accept, and None is never part of it.
"""

from __future__ import annotations

from typing import TypeAlias

from tfnb.client.argument_types import WindowSize
from tfnb.client.variables.variable import Variable
from tfnb.ir.tensor import Tensor
from tfnb.types import Shape

__all__ = ["TensorOrVariable", "WindowLike"]

# What has a dtype, a static shape and operators: a tensor, or a variable in its place.
TensorOrVariable: TypeAlias = Tensor | Variable
# The sizes, strides or rates of a window; the layers of tf.contrib also take a shape.
WindowLike: TypeAlias = WindowSize | Shape
