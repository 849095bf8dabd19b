"""Functions of data set elements, traced once into a graph of their own (`tf.data`; OSDI'16, section 4.2).

The user's function is called with placeholders in a new graph; tensors of the outer graph that it uses become
captured inputs, read when the data set is made. Invariant: the function's nodes never enter the user's graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfnb.client.dataset.elements import parts, unwired, wire_dtype, wire_shape, wired
from tfnb.client.graph.nest import pack
from tfnb.errors import InvalidArgumentError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.default import get_default_graph
from tfnb.ir.opdef import OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.placeholder import PLACEHOLDER
from tfnb.ops.dataset.dataset_ops import GraphFunction
from tfnb.types import DType, Shape

__all__ = ["Traced", "call_with", "trace"]


class FunctionGraph(GraphBuilder):
    """A graph that takes tensors of an outer graph as captured inputs."""

    def __init__(self, outer: GraphBuilder) -> None:
        super().__init__()
        self.outer = outer
        self.seed = outer.seed
        self.captured: dict[Tensor, Tensor] = {}  # outside -> placeholder inside

    def to_tensor(self, value: TensorLike, dtype: DType | None = None, ref: bool = False) -> Tensor:
        """As `GraphBuilder.to_tensor`; a tensor of the outer graph comes in through a placeholder."""
        return self.capture(super().to_tensor(value, dtype, ref))

    def capture(self, t: Tensor) -> Tensor:
        """The tensor as seen from inside."""
        if t.graph is self:
            return t
        found = self.captured.get(t)
        if found is None:
            with self.control_dependencies(None):
                found = PLACEHOLDER(dtype=t.dtype, shape=t.shape, name="captured", graph=self)
            self.captured[t] = found
        return found

    def create_op(
        self, opdef: OpDef, inputs: Sequence[Tensor], attrs: Any, types: dict[str, Any], name: str | None = None
    ) -> Operation:
        return super().create_op(opdef, [self.capture(t) for t in inputs], attrs, types, name)


class Traced:
    """A traced function: `function` for the node's attribute, `captured` outer tensors, `result` the structure."""

    def __init__(self, function: GraphFunction, captured: list[Tensor], result: Any) -> None:
        self.function = function
        self.captured = captured
        self.result = result


def call_with(fn: Callable[..., Any], element: Any) -> Any:
    """Calls `fn` with an element: a tuple's parts are arguments."""
    return fn(*element) if isinstance(element, tuple) else fn(element)


def trace(
    fn: Callable[..., Any],
    structure: Any,
    dtypes: Sequence[Any],
    shapes: Sequence[Shape],
    finish: Callable[[Any], Any],
    what: str,
) -> Traced:
    """`fn` as a graph from an element of that structure to the components of `finish(its result)`.

    Raises `InvalidArgumentError` when it returns nothing.
    """
    outer = get_default_graph()
    graph = FunctionGraph(outer)
    with graph.as_default(), graph.name_scope(outer.unique_name(what)):
        args = [
            PLACEHOLDER(dtype=wire_dtype(d), shape=wire_shape(d, s), name=f"arg{i}", graph=graph)
            for i, (d, s) in enumerate(zip(dtypes, shapes, strict=True))
        ]
        given = [unwired(d, s, x) for d, s, x in zip(dtypes, shapes, args, strict=True)]
        found = call_with(fn, pack(structure, given))
        if found is None:
            raise InvalidArgumentError(f"{what}: the function returned None; it must give tensors")
        result = finish(found)
        outputs = tuple(graph.to_tensor(wired(t)) for t in parts(result))
    function = GraphFunction((*args, *graph.captured.values()), outputs)
    return Traced(function, list(graph.captured), result)
