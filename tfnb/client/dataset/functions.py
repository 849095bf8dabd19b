"""Functions of data set elements, each traced once into a graph of its own (`tf.data`; OSDI'16, section 4.2).

The user's function is called with placeholders in a new graph. Tensors of the outer graph that it uses become captured
inputs, which are read when the data set is created; variables are read and changed for each element, and queues are
used for each. Invariant: no node of the function enters the user's graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

from tfnb.client.dataset.element_spec import ElementSpec
from tfnb.client.dataset.elements import parts, wire_dtype, wire_shape, wired
from tfnb.client.variables.reads import ImplicitRead
from tfnb.errors import GraphError, InvalidArgumentError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.default import get_default_graph
from tfnb.ir.opdef import Kind, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.operation_keys import READ
from tfnb.ir.record import Attrs
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.placeholder import PLACEHOLDER
from tfnb.ops.dataset.definition import GraphFunction
from tfnb.types import DType

__all__ = ["Traced", "call_with", "trace"]


class FunctionGraph(GraphBuilder):
    """A graph in which tensors of an outer graph can be used: each becomes a captured input, a placeholder."""

    captures = True

    def __init__(self, outer: GraphBuilder) -> None:
        super().__init__()
        self.outer = outer
        self.seed = outer.seed
        self.captured: dict[Tensor, Tensor] = {}  # tensor of the outer graph -> placeholder of this graph
        self._variables: dict[Operation, Operation] = {}  # variable outside -> the node of this graph with its state

    def to_tensor(
        self, value: object, dtype: DType | None = None, ref: bool = False, name: str | None = None
    ) -> Tensor:
        """Converts like `GraphBuilder.to_tensor`, but replaces a tensor of the outer graph by the placeholder that
        stands for it.
        """
        return self.capture(super().to_tensor(value, dtype, ref, name))

    def capture(self, t: Tensor) -> Tensor:
        """Returns the placeholder that stands for `t` in this graph, or `t` itself if it belongs to this graph.

        For a variable it is a node with the same state, and for the value of one a node that reads it again. Raises
        `GraphError` for another reference.
        """
        if t.graph is self:
            return t
        if READ in t.op.extra:
            with self.as_default():
                return cast(ImplicitRead, t.op.extra[READ]).again()
        if t.spec.ref:
            return self._variable(t.op).outputs[t.index]
        placeholder = self.captured.get(t)
        if placeholder is None:
            with self.control_dependencies(None):
                placeholder = PLACEHOLDER(dtype=t.dtype, shape=t.shape, name="captured", graph=self)
            self.captured[t] = placeholder
        return placeholder

    def _variable(self, op: Operation) -> Operation:
        if op.opdef.kind is not Kind.VARIABLE:
            raise GraphError(f"a function of elements cannot use the reference that {op.name!r} returns", op)
        if op not in self._variables:
            attrs = replace(op.attrs, shared_name=op.attrs.shared_name or op.name)
            with self.control_dependencies(None):
                self._variables[op] = super().add_node(op.opdef, (), attrs, op.types, op.name.rpartition("/")[2])
        return self._variables[op]

    def add_node(
        self, opdef: OpDef, inputs: Sequence[Tensor], attrs: Attrs, types: dict[str, Any], name: str | None = None
    ) -> Operation:
        """Creates an operation like `GraphBuilder.add_node`, from inputs of which some may belong to the outer
        graph.
        """
        return super().add_node(opdef, [self.capture(t) for t in inputs], attrs, types, name)


class Traced:
    """A traced function.

    `function` is the value of the node's attribute, `captured` are the tensors of the outer graph that it uses, and
    `result` is the structure that `finish` returned (see `trace`).
    """

    def __init__(self, function: GraphFunction, captured: list[Tensor], result: object) -> None:
        self.function = function
        self.captured = captured
        self.result: Any = result


def call_with(fn: Callable[..., Any], element: object) -> Any:
    """Calls `fn` with an element; the items of a tuple become its arguments, a named tuple is one argument."""
    return fn(*element) if type(element) is tuple else fn(element)


def trace(fn: Callable[..., Any], spec: ElementSpec, finish: Callable[[Any], Any], what: str) -> Traced:
    """Traces `fn` as a graph from the components of an element to the components of `finish(its result)`.

    `spec` describes the argument, `what` names the transformation in messages and node names. Raises
    `InvalidArgumentError` when `fn` returns None.
    """
    outer = get_default_graph()
    graph = FunctionGraph(outer)
    with graph.as_default(), graph.name_scope(outer.unique_name(what)):
        args = [
            PLACEHOLDER(dtype=wire_dtype(d), shape=wire_shape(d, s), name=f"arg{i}", graph=graph)
            for i, (d, s) in enumerate(zip(spec.flat_types, spec.shapes, strict=True))
        ]
        returned = call_with(fn, spec.unwired(args))
        if returned is None:
            raise InvalidArgumentError(f"{what}: the function returned None; it must give tensors")
        result = finish(returned)
        outputs = tuple(graph.to_tensor(wired(t)) for t in parts(result))
    function = GraphFunction((*args, *graph.captured.values()), outputs)
    return Traced(function, list(graph.captured), result)
