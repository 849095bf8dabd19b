"""Graphs as texts: their structure, their layers and the number of parameters.

Invariant: a node is told once; where it is read again stands a mark.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.placeholder import placeholder
from tfnb.types import DTypeLike, ShapeLike, float32
from tfnb.v1.contrib.specs.networks import create_net

__all__ = ["tf_parameter_summary", "tf_print", "tf_spec_structure", "tf_structure"]

SHORT_NAMES_SRC = (
    "BiasAdd biasadd Const _ Conv2D conv MatMul dot Placeholder _ Sigmoid sig Variable var VariableV2 var"
).split()
SHORT_NAMES = dict(zip(SHORT_NAMES_SRC[::2], SHORT_NAMES_SRC[1::2], strict=True))


def _op_and_shape(x: Tensor | Operation) -> tuple[Any, Any]:
    """Returns the operation of a tensor or an operation, and the static shape of the tensor."""
    if isinstance(x, Tensor):
        return x.op, None if x.shape.ndims is None else x.shape.as_list()
    return x, ""


def tf_structure(x: Tensor | Operation, include_shapes: bool = False, finished: set[Any] | None = None) -> str:
    """Returns the operations that a tensor or an operation `x` depends on, in postfix order.

    include_shapes: with the static shapes. finished: the operations that were told before.
    """
    told = set() if finished is None else finished
    op, shape = _op_and_shape(x)
    if op in told:
        return " <>"
    told.add(op)
    text = "".join(tf_structure(t, include_shapes, told) for t in op.inputs)
    text += f" {shape or []}" if include_shapes else ""
    return text if op.type == "Identity" else f"{text} {SHORT_NAMES.get(op.type, op.type.lower())}"


def tf_print(
    x: Tensor | Operation, depth: int = 0, finished: set[Any] | None = None, printer: Callable[[str], Any] = print
) -> None:
    """Prints the operations that `x` depends on as a tree, whose root is indented `depth` times."""
    told = set() if finished is None else finished
    op, shape = _op_and_shape(x)
    op = op.inputs[0].op if op.type == "Identity" else op
    space = "  " * depth
    if op in told:
        printer(f"{space}<{op.name}> {op.type} {shape}")
        return
    told.add(op)
    printer(f"{space}{op.name} {op.type} {shape}")
    for t in op.inputs:
        tf_print(t, depth + 1, told, printer)


def tf_num_params(x: Tensor | Operation) -> int:
    """Returns the number of elements of all variables that `x` depends on, each as often as it is read."""
    op, _ = _op_and_shape(x)
    if op.type in ("Variable", "VariableV2"):
        return int(op.outputs[0].shape.num_elements() or 0)
    return sum(tf_num_params(t) for t in op.inputs)


def tf_left_split(op: Operation) -> tuple[Any, list[Any]]:
    """Returns (the first input of an operation, or None, the other inputs)."""
    inputs = list(op.inputs)
    if not inputs:
        return None, []
    return (inputs[1], inputs[2:]) if op.type == "Concat" else (inputs[0], inputs[1:])


def tf_parameter_iter(x: Tensor | Operation | None) -> Iterator[tuple[str, int, Any]]:
    """Yields (name, number of parameters, shape) along the first inputs, from `x` back."""
    while x is not None:
        op, shape = _op_and_shape(x)
        x, others = tf_left_split(op)
        yield op.name, sum(tf_num_params(t) for t in others), shape


def _by_scope(rows: Iterable[tuple[str, int, Any]]) -> list[tuple[str, int, Any]]:
    """Returns one row for successive rows of the same outer scope."""
    result: list[tuple[str, int, Any]] = []
    for name, total, shape in rows:
        outer = re.sub("/.*", "", name)
        if result and result[-1][0] == outer:
            result[-1] = (outer, result[-1][1] + total, result[-1][2])
        else:
            result.append((outer, total, shape))
    return result


def tf_parameter_summary(x: Tensor | Operation, printer: Callable[[str], Any] = print, combine: bool = True) -> None:
    """Prints the numbers of parameters of the layers before `x`; `combine` joins those of an outer scope."""
    rows = list(tf_parameter_iter(x))
    for name, total, shape in reversed(_by_scope(rows) if combine else rows):
        printer(f"{total:10d} {name:<20s} {shape}")


def _net(spec: str, inputs: TensorLike | None, input_shape: ShapeLike, input_type: DTypeLike) -> Any:
    return create_net(spec, placeholder(input_type, input_shape) if inputs is None else inputs)


def tf_spec_structure(
    spec: str, inputs: TensorLike | None = None, input_shape: ShapeLike = None, input_type: DTypeLike = float32
) -> str:
    """Returns `tf_structure` of the network of a text, for `inputs`, or a placeholder of a shape and a dtype."""
    return tf_structure(_net(spec, inputs, input_shape, input_type)).strip()


def tf_spec_summary(
    spec: str, inputs: TensorLike | None = None, input_shape: ShapeLike = None, input_type: DTypeLike = float32
) -> None:
    """Prints `tf_parameter_summary` of the network of a text; see `tf_spec_structure`."""
    tf_parameter_summary(_net(spec, inputs, input_shape, input_type))


def tf_spec_print(
    spec: str, inputs: TensorLike | None = None, input_shape: ShapeLike = None, input_type: DTypeLike = float32
) -> None:
    """Prints `tf_print` of the network of a text; see `tf_spec_structure`."""
    tf_print(_net(spec, inputs, input_shape, input_type))
