"""The primitives of control flow, `tf.control_flow_ops`, to build branches and loops by hand (white paper, section
4.4).

Invariant: `tf.cond` and `tf.while_loop` are built of the same operations.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, overload

from tfnb.client.control_flow.cond import case, cond
from tfnb.client.control_flow.while_loop import while_loop
from tfnb.client.variables.variable import group, tuple_
from tfnb.errors import InvalidArgumentError
from tfnb.ir.default import graph_of
from tfnb.ir.indexed import IndexedSlices
from tfnb.ir.tensor import Tensor, TensorLike, is_tensor_like
from tfnb.ops.array.shape_ops import IDENTITY
from tfnb.ops.control_flow.switch_merge import (
    CONTROL_TRIGGER,
    ENTER,
    EXIT,
    LOOP_COND,
    MERGE,
    NEXT_ITERATION,
    NO_OP,
    REF_ENTER,
    REF_EXIT,
    REF_MERGE,
    REF_NEXT_ITERATION,
    REF_SWITCH,
    SWITCH,
)
from tfnb.types import DTypeLike, as_dtype

__all__ = ["API", "enter", "exit_", "merge", "next_iteration", "switch", "with_dependencies"]


@overload
def with_dependencies(  # type: ignore[overload-overlap]  # indexed slices can be used as a tensor, and stay what they are
    dependencies: Iterable[Any], output_tensor: IndexedSlices, name: str | None = None
) -> IndexedSlices: ...
@overload
def with_dependencies(dependencies: Iterable[Any], output_tensor: TensorLike, name: str | None = None) -> Tensor: ...
def with_dependencies(
    dependencies: Iterable[Any], output_tensor: TensorLike, name: str | None = None
) -> Tensor | IndexedSlices:
    """Returns `output_tensor`, which is available only after `dependencies` (tensors, operations) have run.

    The node that waits is on the device of `output_tensor`.
    """
    graph = graph_of([output_tensor])
    value = output_tensor.values if isinstance(output_tensor, IndexedSlices) else output_tensor
    if not is_tensor_like(value):
        value = graph.to_tensor(value)
    scoped = graph.name_scope(name or "control_dependency")
    with graph.as_default(), scoped as scope, graph.colocate_with(value), graph.control_dependencies(dependencies):
        waiting = IDENTITY(value, name=scope)
    if isinstance(output_tensor, IndexedSlices):
        return IndexedSlices(waiting, output_tensor.indices, output_tensor.dense_shape)
    return waiting


def switch(
    data: TensorLike, pred: TensorLike, dtype: DTypeLike | None = None, name: str | None = None
) -> tuple[Any, Any]:
    """Returns `data` twice: alive where the bool scalar `pred` is false, and alive where it is true; the other is
    dead. Each part of `tf.IndexedSlices` is switched.
    """
    graph = graph_of([data, pred])
    if isinstance(data, IndexedSlices):
        with graph.as_default(), graph.name_scope(name or "Switch"):
            parts = (data.values, data.indices, data.dense_shape)
            pairs = [(None, None) if part is None else switch(part, pred) for part in parts]
        first, second = (IndexedSlices(*side) for side in zip(*pairs, strict=True))
        return first, second
    value = graph.to_tensor(data, None if dtype is None else as_dtype(dtype))
    false_output, true_output = (REF_SWITCH if value.spec.ref else SWITCH)(value, pred, name=name)
    return false_output, true_output


def merge(inputs: Iterable[Any], name: str | None = None) -> tuple[Any, Any]:
    """Returns (the one of `inputs` that is not dead, its number as an int32 scalar).

    If all are `tf.IndexedSlices`, their parts are merged. Raises `InvalidArgumentError` if only some of them have a
    dense shape.
    """
    given = list(inputs)
    if not all(isinstance(one, IndexedSlices) for one in given):
        output, index = MERGE(given, name=name)
        return output, index
    shapes = [one.dense_shape for one in given]
    if any(shape is None for shape in shapes) and any(shape is not None for shape in shapes):
        raise InvalidArgumentError("merge: either all IndexedSlices must have a dense_shape, or none of them")
    values, index = MERGE([one.values for one in given], name=name)
    indices, _ = MERGE([one.indices for one in given])
    shape = None if shapes[0] is None else MERGE(shapes)[0]
    return IndexedSlices(values, indices, shape), index


def enter(
    data: TensorLike, frame_name: str, is_constant: bool = False, parallel_iterations: int = 10, name: str | None = None
) -> Tensor:
    """Returns `data` inside the loop `frame_name`: in its first iteration, or, with `is_constant`, in all
    iterations.
    """
    return ENTER(
        data, frame_name=frame_name, is_constant=is_constant, parallel_iterations=parallel_iterations, name=name
    )


def exit_(data: TensorLike, name: str | None = None) -> Tensor:
    """Returns the value that `data` has in the loop's last iteration, outside the loop."""
    return EXIT(data, name=name)


def next_iteration(data: TensorLike, name: str | None = None) -> Tensor:
    """Returns `data` in the next iteration of the loop."""
    return NEXT_ITERATION(data, name=name)


def loop_cond(pred: TensorLike, name: str | None = None) -> Tensor:
    """Returns the bool scalar `pred` as the value that decides whether the loop continues."""
    return LOOP_COND(pred, name=name)


_NAMES: dict[str, Any] = {
    "case": case,
    "cond": cond,
    "while_loop": while_loop,
    "group": group,
    "tuple": tuple_,
    "with_dependencies": with_dependencies,
    "switch": switch,
    "merge": merge,
    "enter": enter,
    "exit": exit_,
    "next_iteration": next_iteration,
    "loop_cond": loop_cond,
    "control_trigger": CONTROL_TRIGGER,
    "no_op": NO_OP,
    "ref_switch": REF_SWITCH,
    "ref_merge": REF_MERGE,
    "ref_enter": REF_ENTER,
    "ref_exit": REF_EXIT,
    "ref_next_iteration": REF_NEXT_ITERATION,
}
API: dict[str, Any] = {f"control_flow_ops.{name}": value for name, value in _NAMES.items()}
API["with_dependencies"] = with_dependencies
