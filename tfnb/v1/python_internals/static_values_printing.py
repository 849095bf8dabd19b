"""Functions of late 1.x programs: static values, dimensions, printing, Python functions, gradients passed through.

Invariant: what a function adds are ordinary operations; switches of behaviour that graphs do not have are not here.
"""

from __future__ import annotations

import datetime
import io
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

import numpy as np

from tfnb.client.control_flow.map_fold_scan import map_fn
from tfnb.client.graph.nest import flatten, pack
from tfnb.client.variables.variable import Variable
from tfnb.errors import DTypeError, InvalidArgumentError, UnimplementedError
from tfnb.ir.const import constant_value
from tfnb.ir.default import get_default_graph, graph_of
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor, TensorLike, is_tensor_like
from tfnb.ops import CATALOG
from tfnb.ops.array.batch_functions import places
from tfnb.ops.array.concat import CONCAT_V2
from tfnb.ops.array.constants import range_
from tfnb.ops.array.gather import gather as rows_of
from tfnb.ops.array.shape_ops import EXPAND_DIMS, SHAPE
from tfnb.ops.control_flow.python_function import py_func
from tfnb.ops.logging.print_assert import PRINT_V2
from tfnb.ops.strings.unicode import string_format
from tfnb.types import Dimension, ShapeLike, as_shape, int32
from tfnb.v1.python_internals.behaviour_switches import custom_gradient

__all__ = ["API"]


def get_static_value(tensor: TensorLike, partial: bool = False) -> np.ndarray | None:
    """Returns the value of a tensor that constants alone determine, as an array; None for any other.

    With `partial`, the value of tensors that are packed along their first axis is an array of objects: their values,
    and None for those that are not known.
    """
    if not isinstance(tensor, Tensor):
        return np.asarray(tensor)
    value = constant_value(tensor)
    if value is not None:
        return value.copy()  # the caller's own, which he may change
    if not partial or tensor.op.type != "Pack" or tensor.op.attrs.axis != 0:
        return None
    parts = np.empty(len(tensor.op.inputs), object)
    for i, part in enumerate(tensor.op.inputs):
        parts[i] = get_static_value(part, partial=True)
    return parts


def dimension_value(dimension: Dimension | int | None) -> int | None:
    """Returns the number of a dimension, or None if it is not known."""
    return dimension.value if isinstance(dimension, Dimension) else dimension


def dimension_at_index(shape: ShapeLike, index: int) -> Dimension:
    """Returns the dimension of a shape with the number `index`, unknown if the rank is. Raises `IndexError`."""
    known = as_shape(shape)
    return Dimension(None) if known.sizes is None else Dimension(dimension_value(known.sizes[index]))


def always() -> bool:
    """Returns True: here variables are read where they are used, as TensorFlow's resource variables are."""
    return True


def never() -> bool:
    """Returns False: conditionals and loops are Switch and Merge here, not functions."""
    return False


@contextmanager
def init_scope() -> Iterator[None]:
    """A context in which operations wait for nothing, and belong to no branch or loop around it."""
    with get_default_graph().control_dependencies(None):
        yield


def grad_pass_through(f: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates `f(x)`, a function of one tensor, whose gradient shall be that of the identity."""

    def with_gradient(x: TensorLike) -> Any:
        return f(x), lambda dy: dy

    return custom_gradient(with_gradient)


class _Array(np.ndarray):
    """An array that has the method `numpy` of TensorFlow's eager tensors."""

    def numpy(self) -> Any:
        """Returns the values as a plain array; for shape () the scalar, or bytes."""
        return np.asarray(self)[()]


def py_function(func: Callable[..., Any], inp: Sequence[Any], Tout: object, name: str | None = None) -> Any:
    """Adds a node that calls a Python function on arrays, which also have the method `numpy()`.

    Tout: a dtype, or a list of dtypes, of the values that `func` returns. It may not return tensors, because operations
    run in sessions here, and no gradient flows through it. Raises `UnimplementedError` at run time for tensors.
    """

    def call(*arrays: Any) -> Any:
        result = func(*(np.asarray(a, object if isinstance(a, bytes) else None).view(_Array) for a in arrays))
        for value in result if isinstance(result, (list, tuple)) else [result]:
            if is_tensor_like(value):
                raise UnimplementedError("py_function: the function returned a tensor; needed arrays or numbers")
        return result

    return py_func(call, inp, Tout, name=name)


def numpy_function(func: Callable[..., Any], inp: Sequence[Any], Tout: object, name: str | None = None) -> Any:
    """Adds a node that calls a Python function on NumPy arrays: `tf.py_func` under its later name."""
    return py_func(func, inp, Tout, name=name)


def _stream(stream: object) -> str:
    if stream in (sys.stderr, sys.stdout):
        return "stderr" if stream is sys.stderr else "stdout"
    if isinstance(stream, str):
        return stream
    level = getattr(stream, "__name__", "")
    if level not in ("info", "warning", "error"):
        raise InvalidArgumentError(f"tf.print: unknown output_stream {stream!r}; needed sys.stderr or sys.stdout")
    return f"log({level})"


def print_values(
    *inputs: object,
    output_stream: Callable[..., Any] | TextIO | str = "stderr",
    summarize: int = 3,
    sep: str = " ",
    end: str = "\n",
    name: str | None = None,
) -> Operation:
    """Adds a node that prints values when it runs: tensors, and anything else as Python prints it.

    output_stream: sys.stderr, sys.stdout, a function of `tf.logging`, or "file://" and a path. summarize: the number of
    elements shown at either end of a dimension, -1 for all. Raises `InvalidArgumentError` for another stream.
    """
    tensors = [x for x in inputs if is_tensor_like(x)]
    graph = graph_of(tensors)
    texts = io.StringIO()
    mark = "{}"
    while any(not is_tensor_like(x) and mark in str(x) for x in (*inputs, sep)):
        mark = f"{{{mark}}}"
    for i, x in enumerate(inputs):
        texts.write((sep if i else "") + (mark if is_tensor_like(x) else str(x)))
    with graph.as_default(), graph.name_scope(name or "print"):
        text = string_format(texts.getvalue(), tensors, mark, summarize) if tensors else texts.getvalue()
        return PRINT_V2(graph.to_tensor(text), output_stream=_stream(output_stream), end=end)


def vectorized_map(fn: Callable[..., Any], elems: object) -> Any:
    """Returns the results of `fn` for the elements of `elems`, unstacked along the first dimension, stacked again.

    It is `tf.map_fn`, with dtypes that `fn` itself determines; it is called once more for that.
    """
    graph = graph_of(flatten(elems))
    with graph.as_default(), graph.name_scope("vectorized_map"):
        tensors = pack(elems, [graph.to_tensor(x) for x in flatten(elems)])
        one = fn(pack(elems, [x[0] for x in flatten(tensors)]))  # its dtypes count; its operations are not run
        count = SHAPE(flatten(tensors)[0], out_type=int32)[0]
        # by number, not by TensorArray, whose gradient within `fn` would be the sum over the elements so far
        return map_fn(
            lambda i: fn(pack(elems, [rows_of(x, i) for x in flatten(tensors)])),
            range_(count),
            pack(one, [graph.to_tensor(x).dtype for x in flatten(one)]),
        )


def batch_scatter_update(
    ref: Variable, indices: TensorLike, updates: TensorLike, use_locking: bool = True, name: str | None = None
) -> Tensor:
    """Assigns rows within each element of a batch: ref[b..., indices[b..., i], ...] = updates[b..., i, ...].

    indices: int32 or int64, of known rank, whose last dimension counts the rows. Returns the variable's new value.
    Raises `DTypeError` unless `ref` is a variable.
    """
    if not isinstance(ref, Variable):
        raise DTypeError(f"batch_scatter_update: needed a variable, got {type(ref).__name__}")
    graph = graph_of((ref, indices, updates))
    with graph.as_default(), graph.name_scope(name or "batch_scatter_update"):
        variable, at = ref.__tensor__(as_ref=True), graph.to_tensor(indices)
        rank = at.shape.ndims
        if rank is None or rank < 1:
            raise InvalidArgumentError(f"batch_scatter_update: indices need a known rank >= 1, got shape {at.shape}")
        parts = [EXPAND_DIMS(p, np.int32(-1)) for p in (*places(ref.value(), at, rank - 1), at)]
        index = CONCAT_V2(parts, np.int32(-1)) if rank > 1 else parts[0]
        return CATALOG["ScatterNdUpdate"](variable, index, updates, use_locking=use_locking)


def timestamp(name: str | None = None) -> Tensor:
    """Returns the seconds since 1970 at which the node runs, a float64 scalar."""
    return CATALOG["Timestamp"](name=name)


def forward_compatible(year: int, month: int, day: int) -> bool:
    """Returns whether graphs may use operations that came by a date: those of TensorFlow 1.15, October 2019."""
    return datetime.date(year, month, day) < datetime.date(2019, 10, 14)


API: dict[str, Any] = {
    "get_static_value": get_static_value,
    "dimension_value": dimension_value,
    "dimension_at_index": dimension_at_index,
    "compat.dimension_value": dimension_value,
    "compat.dimension_at_index": dimension_at_index,
    "compat.forward_compatible": forward_compatible,
    "resource_variables_enabled": always,
    "control_flow_v2_enabled": never,
    "init_scope": init_scope,
    "grad_pass_through": grad_pass_through,
    "py_function": py_function,
    "numpy_function": numpy_function,
    "print": print_values,
    "vectorized_map": vectorized_map,
    "batch_scatter_update": batch_scatter_update,
    "timestamp": timestamp,
}
