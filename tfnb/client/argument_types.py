"""Types of arguments that many public functions share: initialisers, devices, sizes of windows, names of collections.

Invariant: an alias is as wide as what the functions accept, and None is never part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, TypeAlias

from tfnb.client.graph.device_spec import DeviceSpec
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor, TensorLike

__all__ = [
    "Activation",
    "CollectionNames",
    "Constraint",
    "DeviceLike",
    "FilePath",
    "InitializerLike",
    "Partitioner",
    "Regularizer",
    "ScalarLike",
    "VariableCollections",
    "WindowSize",
]

# The value of a new variable: a function `(shape, dtype=..., partition_info=None)`, its class, or the value itself.
InitializerLike: TypeAlias = Callable[..., Any] | TensorLike
# A penalty on a weight; None stands for no penalty.
Regularizer: TypeAlias = Callable[[Any], Tensor | None]
# A function that an optimizer applies to the new value of a variable.
Constraint: TypeAlias = Callable[[Any], Tensor]
# An elementwise function, as `tf.nn.relu`.
Activation: TypeAlias = Callable[[Any], Any]
# (shape=..., dtype=...) -> the number of parts along each dimension.
Partitioner: TypeAlias = Callable[..., Sequence[int]]
# A (partial) device, or a function of an operation that returns one.
DeviceLike: TypeAlias = str | DeviceSpec | Callable[[Operation], Any]
# A number, or a scalar tensor.
ScalarLike: TypeAlias = float | Tensor
# The sizes, strides or rates of a window: one for all spatial dimensions, or one for each.
WindowSize: TypeAlias = int | Sequence[int]
# One collection of a graph or several.
CollectionNames: TypeAlias = str | Iterable[str]
# Collections for all variables of a layer, or a dict of them by the name of the variable.
VariableCollections: TypeAlias = CollectionNames | Mapping[str, CollectionNames]
# The name of a file or of a folder.
FilePath: TypeAlias = str | PathLike[str]
