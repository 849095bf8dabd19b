"""What all operations on data sets (`tf.data`) share: attributes, functions of elements and the form of an op.

A data set node describes a data set by a `Source` made of its inputs' sources, and returns that description as a
variant scalar. A function of elements is a graph of its own, which each session compiles once. All these operations
run on the host. Invariant: building a data set reads no data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.graph_function import GraphFunction
from tfnb.ir.opdef import LOCAL, NOT_DIFFERENTIABLE, HostCall, OpDef
from tfnb.ir.record import record
from tfnb.ir.tensor import Tensor
from tfnb.ops.dataset import sources as s
from tfnb.ops.dataset import transforms as t
from tfnb.ops.state.handles import make_handle, resource_of
from tfnb.types import ALL, ANY, DType, Shape, scalar

__all__ = [
    "DatasetAttrs",
    "FunctionAttrs",
    "GraphFunction",
    "PredicateAttrs",
    "SkipCount",
    "SkippingAttrs",
    "dataset_op",
    "element_function",
    "function_of",
    "int_of",
    "source_of",
    "text_of",
]


@record
class DatasetAttrs:
    """`output_types` and `output_shapes` are the dtypes and static shapes of the components of an element."""

    output_types: tuple[DType, ...] = ()
    output_shapes: tuple[Shape, ...] = ()


@record
class FunctionAttrs:
    """The attributes of `DatasetAttrs`, and `f`, the function that is applied to each element."""

    output_types: tuple[DType, ...] = ()
    output_shapes: tuple[Shape, ...] = ()
    f: GraphFunction | None = field(default=None, repr=False, metadata=LOCAL)


@record
class PredicateAttrs:
    """The attributes of `DatasetAttrs`; `predicate`: a function that returns whether to keep an element."""

    output_types: tuple[DType, ...] = ()
    output_shapes: tuple[Shape, ...] = ()
    predicate: GraphFunction | None = field(default=None, repr=False, metadata=LOCAL)


class SkipCount:
    """Counts the damaged records or failed elements that a data set has skipped, over all iterations."""

    def __init__(self) -> None:
        self.total = 0

    def add(self, n: int) -> None:
        """Adds `n` skipped records to the total."""
        self.total += n


@record
class SkippingAttrs:
    """The attributes of `DatasetAttrs`; `skip_corrupt`: skip damaged records; `skipped`: counts what is skipped."""

    output_types: tuple[DType, ...] = ()
    output_shapes: tuple[Shape, ...] = ()
    skip_corrupt: bool = field(default=False, metadata=LOCAL)
    skipped: SkipCount | None = field(default=None, repr=False, metadata=LOCAL)


def source_of(x: np.ndarray, call: HostCall) -> s.Source:
    """Returns the source of a data set's variant scalar."""
    return resource_of(x, s.Source, call.op)


def element_function(call: HostCall, captured: Sequence[np.ndarray]) -> t.Function:
    """Returns the attribute `f` of the node as a function from an element's components to the result's components."""
    return function_of(call, call.attrs.f, captured)


def function_of(call: HostCall, f: GraphFunction | None, captured: Sequence[np.ndarray]) -> t.Function:
    """Returns a graph function with its captured values, as a Python function from arrays to arrays.

    Raises `InvalidArgumentError` when the function belongs to another process.
    """
    if f is None or call.resources is None:
        raise InvalidArgumentError(f"{call.op.type}: its function is not in this process", call.op)
    run = call.resources.function(f.outputs, f.inputs)
    # A seeded random op of the function repeats its numbers whenever an iterator is initialised again.
    call.resources.random.restart(op.name for t in f.outputs[:1] for op in t.graph.get_operations())
    if len(f.inputs) < len(captured):
        raise InvalidArgumentError(
            f"{call.op.type}: {len(captured)} captured values for a function of {len(f.inputs)} arguments", call.op
        )
    kinds = [x.dtype.np for x in f.inputs[: len(f.inputs) - len(captured)]]

    def apply(*element: object) -> Sequence[Any]:
        values = [np.asarray(x, d) for x, d in zip(element, kinds, strict=True)]
        return run(*values, *captured)

    return apply


def int_of(x: np.ndarray) -> int:
    """Returns a scalar array as a Python integer."""
    return int(x.item())


def text_of(x: np.ndarray) -> str:
    """Returns a string scalar as Python text."""
    return bytes(x.item()).decode()


def dataset_op(
    name: str,
    inputs: str,
    make: Callable[..., s.Source],
    doc: str,
    attrs: type = DatasetAttrs,
    values: str = "",
    defaults: Mapping[str, Any] | None = None,
) -> OpDef[Tensor]:
    """Returns the definition of an operation whose output is a data set, a variant scalar.

    `make` computes the source from the call and the input arrays. `values` names the type variable of an input that
    may have any dtype of data; inputs such as `[Targuments]` are lists of any dtypes. defaults: see `OpDef`.
    """
    return OpDef(
        name,
        inputs,
        "handle: variant",
        doc + "\n\nhandle: the data set, a scalar. Host only.",
        types=dict.fromkeys(re.findall(r"\[(T\w+)\]", inputs), ANY) | ({values: ALL} if values else {}),
        attrs=attrs,
        defaults={"metadata": None, **(defaults or {})},  # texts for the profiler of TensorFlow 2
        infer=lambda c: scalar,
        host=lambda call, *arrays: make_handle(make(call, *arrays)),
        grad=NOT_DIFFERENTIABLE,
        stateful=True,
    )
