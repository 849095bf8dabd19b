"""tf.cond: one of two branches, built of Switch and Merge (white paper, section 4.4; OSDI'16, section 3.4).

Operations created inside a branch belong to its context (`control_context.py`), so all operations of a branch that is
not taken are dead. Invariant: exactly one input of each Merge is alive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tfnb.client.control_flow.control_context import CondContext
from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.graph.nest import flatten, pack, same_structure, slice_indices
from tfnb.errors import DTypeError, GraphError, InvalidArgumentError, ShapeError
from tfnb.ir.const import constant_value
from tfnb.ir.default import get_default_graph, graph_of
from tfnb.ir.tensor import Tensor, TensorLike, is_tensor_like
from tfnb.ops.array.concat import stack
from tfnb.ops.array.shape_ops import IDENTITY
from tfnb.ops.control_flow.switch_merge import MERGE, SWITCH
from tfnb.ops.logging.print_assert import assert_that
from tfnb.ops.math.cast import cast
from tfnb.ops.math.reduce_functions import reduce_any, reduce_sum
from tfnb.types import bool_, int32, int64, scalar

__all__ = ["API", "case", "cond", "smart_cond"]


def cond(
    pred: TensorLike,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    strict: bool | str = False,
    name: str | None = None,
    fn1: Callable[[], Any] | None = None,
    fn2: Callable[[], Any] | None = None,
) -> Any:
    """Returns what `true_fn()` returns where the bool scalar `pred` is true, else what `false_fn()` returns.

    Both functions add operations to the graph and return tensors (or values, operations, or the same nested structure
    of them) of the same dtypes. Only the operations of the taken branch run. A list of one tensor is unpacked unless
    `strict`. Raises `DTypeError` for a Python bool, a function that is not callable or dtypes that differ, `ShapeError`
    for a `pred` that is not a scalar, and `InvalidArgumentError` for structures that differ or results that are None.
    """
    if isinstance(strict, str):  # the arguments of 0.x: (pred, fn1, fn2, name)
        name, strict = strict, False
    true_fn = fn1 if true_fn is None else true_fn
    false_fn = fn2 if false_fn is None else false_fn
    if not callable(true_fn) or not callable(false_fn):
        raise DTypeError("cond: true_fn and false_fn must be callable")
    if isinstance(pred, bool):
        raise DTypeError("cond: pred must not be a Python bool; use a Python `if` instead")
    graph = graph_of([pred])
    with graph.as_default(), graph.name_scope(name or "cond"):
        predicate: Tensor = graph.to_tensor(pred, bool_)
        _check_pred(predicate)
        false_output, true_output = SWITCH(predicate, predicate, name="Switch")
        pivots = IDENTITY(true_output, name="switch_t"), IDENTITY(false_output, name="switch_f")
        condition: Tensor = IDENTITY(predicate, name="pred_id")
        for op in {false_output.op, *(t.op for t in (*pivots, condition))}:
            graph.prevent_fetching(op)
        branches = CondContext(condition, pivots[0], 1), CondContext(condition, pivots[1], 0)
        for branch in branches:
            graph.add_to_collection(GraphKeys.COND_CONTEXT, branch)
        true_result, flat_true = _branch(branches[0], true_fn, "true_fn", strict)
        false_result, flat_false = _branch(branches[1], false_fn, "false_fn", strict)
        if not same_structure(true_result, false_result):
            raise DTypeError(f"cond: true_fn returned {true_result!r}, false_fn the different {false_result!r}")
        for k, is_indices in enumerate(slice_indices(true_result)):
            if is_indices and flat_true[k].dtype is not flat_false[k].dtype:
                for branch, flat in zip(branches, (flat_true, flat_false), strict=True):
                    with branch.opened():
                        flat[k] = cast(flat[k], int64)
        for a, b in zip(flat_true, flat_false, strict=True):
            if a.dtype is not b.dtype:
                kinds = f"{a.dtype.name} ({a.name}), false_fn {b.dtype.name} ({b.name})"
                raise DTypeError(f"cond: true_fn returned {kinds}")
        merged = [MERGE([b, a], name="Merge")[0] for a, b in zip(flat_true, flat_false, strict=True)]
        for t in merged:
            t.op.extra["pred"] = condition  # for gradients
        return pack(true_result, merged)


def _check_pred(pred: Tensor) -> None:
    if not pred.dtype.is_bool:
        raise DTypeError(f"cond: pred must be bool, got {pred.dtype.name}", pred.op)
    if not pred.shape.is_compatible_with(scalar):
        raise ShapeError(f"cond: pred must be a scalar, got shape {pred.shape}", pred.op)


def _branch(context: CondContext, fn: Callable[[], Any], what: str, strict: bool | str) -> tuple[Any, list[Tensor]]:
    """Returns the structure that `fn` returned, and the tensors of its leaves."""
    with context.opened():
        result = fn()
        if result is None:
            raise InvalidArgumentError(f"cond: {what} must return something")
        if not strict and isinstance(result, (list, tuple)) and len(result) == 1:
            result = result[0]
        if context.graph is not get_default_graph():
            raise GraphError(f"cond: {what} changed the default graph")
        return result, [context.result(value) for value in flatten(result)]


def static_value(pred: TensorLike) -> bool | None:
    """Returns the value of a condition if it is known while the graph is built, else None."""
    if is_tensor_like(pred):
        value = constant_value(graph_of([pred]).to_tensor(pred))
        return None if value is None else bool(value)
    if isinstance(pred, (bool, int, np.bool_, np.integer)):
        return bool(pred)
    raise DTypeError(f"a condition must be a bool or a bool tensor, got {type(pred).__name__}")


def smart_cond(
    pred: TensorLike, true_fn: Callable[[], Any], false_fn: Callable[[], Any], name: str | None = None
) -> Any:
    """Does what `cond` does. A condition that is known while the graph is built (a Python bool, a constant) adds only
    the branch that it chooses.
    """
    value = static_value(pred)
    if value is None:
        return cond(pred, true_fn, false_fn, name=name)
    return true_fn() if value else false_fn()


def case(
    pred_fn_pairs: Mapping[Any, Callable[[], Any]] | Iterable[tuple[Any, Callable[[], Any]]],
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """Returns what the function of the first true condition returns, else what `default()` returns.

    `pred_fn_pairs` are pairs (bool scalar tensor, function), or a dict of them. With `exclusive`, the step fails when
    two conditions are true. Without a `default` one condition must be true, or the step fails. Raises `DTypeError` for
    pairs of another form.
    """
    pairs: Sequence[Any] = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, Mapping) else pred_fn_pairs)
    if not pairs or not all(isinstance(p, (tuple, list)) and len(p) == 2 and callable(p[1]) for p in pairs):
        raise DTypeError("case: needed pairs of a condition and a function")
    graph = graph_of([p for p, _ in pairs])
    with graph.as_default(), graph.name_scope(name):
        checks = []
        if exclusive or default is None:
            preds = stack([graph.to_tensor(p, bool_) for p, _ in pairs])
            if default is None:
                checks.append(
                    assert_that(
                        reduce_any(preds),
                        ["Input error: None of the conditions evaluated as True and default is None.", preds],
                    )
                )
            if exclusive:
                count = reduce_sum(cast(preds, int32))
                checks.append(
                    assert_that(
                        count <= 1,
                        ["Input error: More than one condition evaluated as True but exclusive=True.", preds],
                    )
                )
        if default is None:
            (_, default), pairs = pairs[-1], pairs[:-1]
        branch = default
        for pred, fn in reversed(pairs):
            branch = _either(pred, fn, branch, strict)
        with graph.control_dependencies(checks):
            return branch()


def _either(pred: Tensor, fn: Callable[[], Any], other: Callable[[], Any], strict: bool) -> Callable[[], Any]:
    return lambda: cond(pred, fn, other, strict=strict)


API: dict[str, Any] = {
    "cond": cond,
    "case": case,
    "contrib.framework.smart_cond": smart_cond,
    "python.layers.utils.smart_cond": smart_cond,
}
