"""What the cells of `tf.contrib.rnn` share: linear maps and normalisations, whose variables the open scope has.

Invariant: a function creates its variables in the first step of a cell, and shares them in all later steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfnb.client.variables.initializers import Constant
from tfnb.client.variables.scope import get_variable, variable_scope
from tfnb.errors import ShapeError
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.concat import concat, split
from tfnb.ops.nn.bias_dropout_moments import batch_normalization, moments
from tfnb.types import DTypeLike

__all__ = ["normalized", "row_shards", "split_gates"]


def normalized(x: Tensor, scope: str, gain: float, shift: float) -> Tensor:
    """Returns the layer normalisation of (batch, units), with variables "gamma" and "beta" in `scope`."""
    with variable_scope(scope):
        n = x.shape.as_list()[-1:]
        gamma = get_variable("gamma", n, x.dtype, Constant(gain))
        beta = get_variable("beta", n, x.dtype, Constant(shift))
        mean, variance = moments(x, [1], keep_dims=True)
        return batch_normalization(x, mean, variance, beta, gamma, 1e-12)


def row_shards(name: str, shape: Sequence[int], dtype: DTypeLike, shards: int) -> Any:
    """Returns a matrix of variables name_0, name_1, ... one below the other, as equal in size as can be."""
    if shards > shape[0]:
        raise ShapeError(f"{name}: {shape[0]} rows cannot be cut into {shards} parts")
    sizes = [shape[0] // shards + (i < shape[0] % shards) for i in range(shards)]
    parts = [get_variable(f"{name}_{i}", [n, *shape[1:]], dtype) for i, n in enumerate(sizes)]
    return parts[0] if shards == 1 else concat(parts, 0)


def split_gates(x: Tensor, count: int) -> list[Any]:
    """Returns `count` equal parts of the columns of (batch, count * units)."""
    return list(split(x, count, 1))
