"""The linear map of cells: tensors side by side, times a kernel, plus a bias, with variables of the open scope.

TensorFlow has it as `_linear` and `_Linear` in internal modules, from which cells of the time import it. Invariant: the
variables are "kernel" and "bias" of the open scope, so a scope that is opened again to reuse them shares them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from tfnb.client.argument_types import InitializerLike
from tfnb.client.variables.initializers import Constant
from tfnb.client.variables.scope import ScopeLike, get_variable, variable_scope
from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import concat
from tfnb.ops.linalg.matmul import matmul
from tfnb.ops.nn.bias_dropout_moments import bias_add

__all__ = ["API", "LinearMap", "Parts", "linear_map"]

Parts = TensorLike | Sequence[Any]


class LinearMap:
    """The map of tensors [batch, n] to [batch, output_size], whose variables are made here, from the shapes of `args`.

    bias: whether a bias is added. `bias_initializer` is 0 by default, `kernel_initializer` that of the open scope.
    Raises `ShapeError` if an argument is no matrix or its number of columns is unknown.
    """

    names = "kernel", "bias"

    def __init__(
        self,
        args: Parts,
        output_size: int,
        build_bias: bool,
        bias_initializer: InitializerLike | None = None,
        kernel_initializer: InitializerLike | None = None,
    ) -> None:
        parts = _parts(args)
        columns = [_columns(part, parts) for part in parts]
        kernel, bias = self.names
        dtype = parts[0].dtype
        self._kernel = get_variable(kernel, [sum(columns), output_size], dtype, kernel_initializer)
        first = Constant(0.0) if bias_initializer is None else bias_initializer
        self._bias = get_variable(bias, [output_size], dtype, first) if build_bias else None

    def __call__(self, args: Parts) -> Tensor:
        """Returns the map of `args`, which have as many columns as those given before."""
        parts = _parts(args)
        y = matmul(parts[0] if len(parts) == 1 else concat(parts, 1), self._kernel)
        return y if self._bias is None else bias_add(y, self._bias)


def linear_map(
    args: Parts,
    output_size: int,
    bias: bool = True,
    bias_initializer: InitializerLike | float | None = None,
    kernel_initializer: InitializerLike | ScopeLike | None = None,
    *,
    bias_start: float | None = None,
    scope: ScopeLike | None = None,
) -> Tensor:
    """Returns the linear map [batch, output_size] of tensors [batch, n], with variables of the open scope.

    Up to 1.1 the fourth argument was `bias_start`, a number, and the fifth one the `scope` of the variables; these are
    taken too. Raises `ShapeError` if an argument is no matrix or its number of columns is unknown.
    """
    if isinstance(bias_initializer, (int, float)):
        bias_initializer, bias_start = None, bias_initializer
    if isinstance(kernel_initializer, str) or hasattr(kernel_initializer, "reuse_variables"):
        kernel_initializer, scope = None, kernel_initializer
    if bias_start is not None:
        bias_initializer = Constant(bias_start)
    with nullcontext() if scope is None else variable_scope(scope):
        return LinearMap(args, output_size, bias, bias_initializer, kernel_initializer)(args)


def _parts(args: Parts) -> list[Any]:
    parts = list(args) if isinstance(args, (list, tuple)) else [args]
    if not parts or parts[0] is None:
        raise InvalidArgumentError("`args` must be specified: a linear map needs one tensor at least")
    return parts


def _columns(part: Tensor, parts: Sequence[Any]) -> int:
    if part.shape.ndims != 2:
        raise ShapeError(f"linear is expecting 2D arguments: {[p.shape for p in parts]}")
    columns = part.shape.as_list()[1]
    if columns is None:
        raise ShapeError(f"linear expects shape[1] to be provided for shape {part.shape}, but saw None")
    return int(columns)


_CONTRIB = "contrib.rnn.python.ops.core_rnn_cell"
_PLACES = _CONTRIB, f"{_CONTRIB}_impl", "python.ops.rnn_cell_impl"
API = {
    **{f"{place}._linear": linear_map for place in (*_PLACES, "python.ops.rnn_cell", "models.rnn.rnn_cell")},
    **{f"{place}._Linear": LinearMap for place in _PLACES},
}
