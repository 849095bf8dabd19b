"""Types of arguments that many functions and layers of Keras share: tensors, identifiers, masks, data.

Invariant: an alias is as wide as what the functions accept, and None is never part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from tfnb.client.argument_types import ScalarLike
from tfnb.client.variables.variable import Variable
from tfnb.ir.sparse import SparseTensor
from tfnb.ir.tensor import Tensor, TensorLike

__all__ = ["DenseOrSparse", "Hyper", "Identifier", "LayerInputs", "Masks", "TrainingFlag"]

# What has a dtype and a static shape: a tensor, dense or sparse, or a variable.
DenseOrSparse: TypeAlias = Tensor | Variable | SparseTensor
# What a layer is called with: a tensor, an array or a number, or a list or a dictionary of them.
LayerInputs: TypeAlias = TensorLike | SparseTensor | Mapping[str, Any]
# The name of an initialiser, a regulariser, an activation or the like, its configuration, or the object or function.
Identifier: TypeAlias = str | Mapping[str, Any] | Callable[..., Any]
# Whether a layer is called for training: a flag or number, or a boolean scalar tensor.
TrainingFlag: TypeAlias = int | Tensor
# The mask of a tensor, or those of several, each a tensor or None.
Masks: TypeAlias = Tensor | list[Any]
# A hyperparameter of an optimizer: a number, a scalar tensor, a schedule, or a function that returns one.
Hyper: TypeAlias = ScalarLike | Callable[..., Any]
