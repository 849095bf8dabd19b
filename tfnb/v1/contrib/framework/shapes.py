"""Checks of shapes and dtypes, names of scopes, and Python functions on structures, of `tf.contrib.framework`.

Invariant: a check that the static shapes decide adds nothing to the graph.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tfnb.client.control_flow.cond import case, cond, static_value
from tfnb.client.graph.default_graph import name_scope
from tfnb.client.graph.nest import flatten, pack
from tfnb.client.logging.rank_dtype_checks import assert_scalar
from tfnb.errors import DTypeError, InvalidArgumentError, ShapeError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.default import get_default_graph, graph_of
from tfnb.ir.tensor import GraphLike, Tensor, TensorLike
from tfnb.ops.array.constants import convert_to_tensor
from tfnb.ops.array.shape_ops import IDENTITY, RESHAPE, rank, shape, size, squeeze
from tfnb.ops.control_flow.python_function import py_func as python_function
from tfnb.ops.logging.print_assert import assert_that
from tfnb.ops.math.binary import add_n
from tfnb.ops.math.compare import EQUAL, LOGICAL_OR
from tfnb.ops.math.reduce_functions import reduce_all, reduce_sum
from tfnb.types import ShapeLike, as_shape, int32
from tfnb.v1.argument_types import TensorOrVariable

__all__ = ["reduce_sum_n", "remove_squeezable_dimensions", "with_same_shape", "with_shape"]


def get_graph_from_inputs(op_input_list: Sequence[Any], graph: GraphLike | None = None) -> GraphLike:
    """Returns the graph of the tensors in `op_input_list`, or `graph`. Raises `InvalidArgumentError` if they differ."""
    found = graph_of(op_input_list)
    if graph is not None and found is not graph and any(hasattr(t, "graph") for t in op_input_list):
        raise InvalidArgumentError("the inputs are not of the given graph")
    return graph or found


def get_name_scope() -> str:
    """Returns the name of the open name scope, "" at the top."""
    return get_default_graph().scopes.name


def get_placeholders(graph: GraphBuilder) -> list[Tensor]:
    """Returns the tensors of all placeholders of a graph."""
    return [op.outputs[0] for op in graph.get_operations() if op.type == "Placeholder"]


def strip_name_scope(name: str, export_scope: str | None) -> str:
    """Returns `name` without the name scope `export_scope` at its beginning; "loc:@" and "^" before it stay."""
    return re.sub(rf"([\^]|loc:@|^){re.escape(export_scope)}[/]+(.*)", r"\1\2", name, count=1) if export_scope else name


def prepend_name_scope(name: str, import_scope: str | None) -> str:
    """Returns `name` with the name scope `import_scope` before it, behind "loc:@" or "^"."""
    return re.sub(r"([\^]|loc:@|^)(.*)", rf"\1{import_scope}/\2", name, count=1) if import_scope else name


def reduce_sum_n(tensors: Sequence[TensorLike], name: str | None = None) -> Tensor:
    """Returns the sum of all elements of all `tensors`. Raises `InvalidArgumentError` without tensors."""
    if not tensors:
        raise InvalidArgumentError("reduce_sum_n needs at least one tensor")
    with name_scope(name, "reduce_sum_n", tensors):
        sums = [reduce_sum(t) for t in tensors]
        return sums[0] if len(sums) == 1 else add_n(sums)


def remove_squeezable_dimensions(
    predictions: TensorLike, labels: TensorLike, name: str | None = None
) -> tuple[Any, Any]:
    """Returns both tensors, the one whose rank is greater by one without its last dimension, which must be 1."""
    return of_expected_ranks(predictions, labels, 0, name)


def of_expected_ranks(
    predictions: TensorLike, labels: TensorLike, expected_rank_diff: int, name: str | None = None
) -> tuple[Any, Any]:
    """Returns both tensors, one without its last dimension of 1 if the ranks then differ as expected.

    expected_rank_diff: the rank of the predictions less that of the labels. Ranks that are not known statically are
    compared in the step. `name` is the name scope.
    """
    with name_scope(name, "remove_squeezable_dimensions", [predictions, labels]):
        x, y = convert_to_tensor(predictions), convert_to_tensor(labels)
        if x.shape.ndims is not None and y.shape.ndims is not None:
            excess = x.shape.ndims - y.shape.ndims - expected_rank_diff
            return squeeze(x, [-1]) if excess == 1 else x, squeeze(y, [-1]) if excess == -1 else y
        ranks = rank(x) - rank(y) - expected_rank_diff
        return _squeezed_if(EQUAL(ranks, 1), x), _squeezed_if(EQUAL(ranks, -1), y)


def _squeezed_if(condition: Tensor, x: Tensor) -> Tensor:
    """Returns `x`, without its last dimension if the condition holds and that dimension may be 1."""
    if x.shape.ndims == 0 or (x.shape.ndims is not None and x.shape.as_list()[-1] not in (1, None)):
        return x
    return cond(condition, lambda: squeeze(x, [-1]), lambda: IDENTITY(x))


def with_same_shape(expected_tensor: TensorOrVariable, tensor: TensorOrVariable) -> TensorOrVariable:
    """Returns `tensor`, which must have the shape of `expected_tensor`; see `with_shape`."""
    static = expected_tensor.get_shape()
    return with_shape(static.as_list() if static.is_fully_defined() else shape(expected_tensor), tensor)


def with_shape(expected_shape: ShapeLike | Tensor, tensor: TensorOrVariable) -> TensorOrVariable:
    """Returns `tensor`, which must have the shape `expected_shape`, a list, a shape, or an int32 vector.

    What the static shapes do not decide is checked in each step, which fails with `InvalidArgumentError`. A tensor of
    one element becomes a scalar where that is expected. Raises `ShapeError` for static shapes that differ, `DTypeError`
    for a vector of another dtype.
    """
    actual = tensor.get_shape()
    if isinstance(expected_shape, Tensor):
        if expected_shape.dtype != int32:
            raise DTypeError(f"with_shape: the expected shape must be int32, got {expected_shape.dtype.name}")
        return _checked(expected_shape, tensor)
    wanted = as_shape(expected_shape)
    if wanted.ndims == 0 and actual.ndims != 0 and (actual.ndims is None or actual.is_compatible_with([1])):
        return RESHAPE(tensor, [])
    if not actual.is_compatible_with(wanted):
        raise ShapeError(f"{tensor.name} must have shape {wanted}, it has {actual}")
    if actual.is_fully_defined():
        return tensor
    result = _checked(convert_to_tensor([-1 if d is None else d for d in wanted.as_list()]), tensor)
    result.set_shape(wanted)
    return result


def _checked(expected: Tensor, tensor: TensorOrVariable) -> Tensor:
    actual = shape(tensor)
    same_rank = EQUAL(size(expected), rank(tensor))
    fits = cond(
        same_rank,
        lambda: reduce_all(LOGICAL_OR(EQUAL(expected, -1), EQUAL(expected, actual))),
        lambda: convert_to_tensor(False),
    )
    check = assert_that(fits, [f"Wrong shape for {tensor.name} [expected] [actual].", expected, actual])
    with tensor.graph.control_dependencies([check]):
        return IDENTITY(tensor)


def assert_scalar_int(tensor: TensorLike, name: str | None = None) -> Tensor:
    """Returns `tensor` as a tensor. Raises `DTypeError` unless it is an integer, `ShapeError` unless a scalar."""
    with name_scope(name, "assert_scalar_int", [tensor]):
        t = convert_to_tensor(tensor)
        if not t.dtype.is_integer:
            raise DTypeError(f"Expected integer type for {t.name}, received type: {t.dtype.name}")
        return assert_scalar(t)


def smart_constant_value(pred: TensorLike) -> bool | None:
    """Returns the value of the condition `pred` where it is known while the graph is built, else None."""
    return static_value(pred)


def smart_case(
    pred_fn_pairs: Mapping[Any, Callable[[], Any]] | Iterable[tuple[Any, Callable[[], Any]]],
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    name: str = "smart_case",
) -> Any:
    """Does what `tf.case` does; where a condition is known to be true, only its function is called.

    pred_fn_pairs: pairs of a condition and a function, or a dict of them. A condition that is known to be false is left
    out.
    """
    pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, Mapping) else pred_fn_pairs)
    left: list[Any] = []
    for pred, function in pairs:
        known = static_value(pred)
        if known is None:
            left.append((pred, function))
        elif known and not left:
            return function()
        elif known:
            return case(left, function, exclusive, name=name)
    if not left and default is not None:
        return default()
    return case(left, default, exclusive, name=name)


def py_func(
    func: Callable[..., Any],
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    output_types: Any = None,
    output_shapes: Any = None,
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """Does what `tf.py_func` does, for arguments and results that are structures of tensors.

    func: called with arrays in the structures of `args` and `kwargs`. output_types: the dtypes of what it returns, or a
    function of the arguments that returns them; output_shapes: their shapes, likewise. Raises `DTypeError` when `args`
    is no list.
    """
    if not isinstance(args, (list, tuple)):
        raise DTypeError(f"py_func: args must be a list, got {args!r}")
    given = (list(args), dict(kwargs or {}))
    types = output_types(*args, **given[1]) if callable(output_types) else output_types
    shapes = output_shapes(*args, **given[1]) if callable(output_shapes) else output_shapes

    def call(*arrays: Any) -> list[Any]:
        positional, named = pack(given, list(arrays))
        return flatten(func(*positional, **named))

    results = python_function(call, flatten(given), flatten(types), stateful, name)
    if shapes is not None:
        for result, static in zip(results, _shapes_of(types, shapes), strict=True):
            result.set_shape(static)
    return pack(types, results)


def _shapes_of(types: Any, shapes: Any) -> list[Any]:
    """Returns the shapes in the order of the flattened `types`; a shape may be a list itself."""
    if isinstance(types, Mapping):
        return [s for key in sorted(types) for s in _shapes_of(types[key], shapes[key])]
    if isinstance(types, (list, tuple)):
        return [s for t, inner in zip(types, shapes, strict=True) for s in _shapes_of(t, inner)]
    return [as_shape(shapes)]
