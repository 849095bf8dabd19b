"""Functions: graphs with a name that other graphs call like ops (TensorFlow's FunctionDef).

The body is a graph of its own with `_Arg` nodes for the arguments. A call is one node whose op has the body, and the
compiler replaces the node by the body. Tensors of the graph outside that the body reads become further arguments; a
variable that it changes is an argument from the beginning. Invariant: a body holds no variable and never calls itself,
so it can be copied anywhere, and the number of nodes of all copies together is bounded.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from tfnb.errors import GraphError, InvalidArgumentError, ShapeError
from tfnb.ir.builder import GraphBuilder, replace_input
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, OURS, HostCall, Infer, Kind, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import Attrs
from tfnb.ir.step_graph.edit import EditNode
from tfnb.ir.step_graph.graph import graph_from_operations
from tfnb.ir.tensor import GraphLike, Tensor
from tfnb.types import ALL, ANY, DType, Shape, TensorSpec, unknown_shape

__all__ = ["ARG", "MAX_NODES", "REF_ARG", "RETVAL", "Function", "FunctionBuilder", "copy_into", "in_order", "owner"]

MAX_NODES = 1_000_000  # the most nodes of a function in which bodies have replaced all calls of functions


@dataclass(frozen=True, slots=True)
class ArgAttrs:
    """The attributes of an argument of a function: its number `index`, and its static `shape`."""

    index: int = 0
    shape: Shape = dataclasses.field(default=unknown_shape, metadata=OURS)


def _arg(name: str, output: str, doc: str) -> OpDef[Tensor]:
    return OpDef(
        name,
        outputs=f"output: {output}",
        types={"T": ALL if name == "_RefArg" else ANY},
        attrs=ArgAttrs,
        doc=doc,
        infer=lambda c: c.attrs.shape,
        grad=NOT_DIFFERENTIABLE,
        stateful=True,
        kind=Kind.PLACEHOLDER,
    )


ARG = _arg("_Arg", "T", "An argument of the function whose body it stands in.")
REF_ARG = _arg("_RefArg", "Ref(T)", "An argument of the function whose body it stands in: a variable.")
_ARGS = (ARG, REF_ARG)


@dataclass(frozen=True, slots=True)
class RetvalAttrs:
    """The attribute of a result of a function: its number `index`."""

    index: int = 0


def _no_caller(call: HostCall) -> Any:
    raise InvalidArgumentError(f"SetRetval {call.attrs.index} is not within [0, 0): no function is called", call.op)


RETVAL: OpDef[Operation] = OpDef(
    "_Retval",
    inputs="input: T",
    outputs="",
    types={"T": ANY},
    attrs=RetvalAttrs,
    doc="A result of the function whose body it stands in. In a graph that is no function it cannot run.",
    infer=lambda c: (),
    host=lambda call, _: _no_caller(call),
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
)


class FunctionBuilder(GraphBuilder):
    """The graph of a function's body. Tensors of the graph around it that ops inside read are captured."""

    captures = True

    def __init__(self, outside: GraphLike | None = None, by_value: bool = False) -> None:
        """Makes the graph of a body. `by_value`: operations of outside are copied into it, so nothing is captured."""
        super().__init__()
        self.outside = outside
        self.by_value = by_value
        self._copies: dict[Operation, Operation] = {}
        self.args: list[Tensor] = []
        self.captured: dict[Tensor, Tensor] = {}
        self.own_seeds: set[int] = set()  # the second seeds of random ops for which the program gives none
        if outside is not None:
            self.seed = outside.seed

    def next_seed(self) -> int:
        """As `GraphBuilder.next_seed`; each call of the function gets numbers of its own for this op."""
        self.own_seeds.add(self.version)
        return self.version

    def add_arg(self, dtype: DType, shape: Shape = unknown_shape, name: str = "arg", ref: bool = False) -> Tensor:
        """Adds an argument, with `ref` a variable. The name is changed to the form of TensorFlow's arguments."""
        name = re.sub(r"[^a-z0-9_]", "_", name.lower())
        name = name if name[:1].isalpha() else f"arg_{name}"
        attrs = ArgAttrs(len(self.args), shape)
        tensor = self.add_node(REF_ARG if ref else ARG, (), attrs, {"T": dtype}, name).outputs[0]
        self.args.append(tensor)
        return tensor

    def to_tensor(
        self, value: object, dtype: DType | None = None, ref: bool = False, name: str | None = None
    ) -> Tensor:
        """As `GraphBuilder.to_tensor`; a tensor of the graph outside is captured."""
        return self.inside(super().to_tensor(value, dtype, ref, name))

    def inside(self, t: Tensor) -> Tensor:
        """Returns the tensor inside the body: `t` itself, or the argument that captures it.

        Raises `GraphError` for a reference, and for a tensor that is not of the graph around the body."""
        if t.graph is self:
            return t
        if t.spec.ref:
            raise GraphError(f"a function cannot change the variable {t.op.name!r}; do that outside", t.op)
        if isinstance(self.outside, FunctionBuilder):
            t = self.outside.inside(t)
        if t.graph is not self.outside:
            raise GraphError(f"the tensor {t.name} is neither of the function nor of the graph around it", t.op)
        if self.by_value:
            return self._copied(t.op).outputs[t.index]
        if t not in self.captured:
            with self.control_dependencies(None):
                self.captured[t] = self.add_arg(t.dtype, t.shape, t.op.name.rpartition("/")[2])
        return self.captured[t]

    def _copied(self, op: Operation) -> Operation:
        """Returns a copy, in the body, of an operation outside and of what it depends on.

        Raises `GraphError` for state and placeholders, whose values a copy would not have.
        """
        for needed in reversed(_needed(op)):
            if needed not in self._copies:
                if needed.opdef.stateful or needed.opdef.kind in (Kind.PLACEHOLDER, Kind.VARIABLE):
                    raise GraphError(f"Cannot capture {needed.name!r}, a {needed.type}, by value", needed)
                with self.control_dependencies(None):
                    inputs = [self._copies[t.op].outputs[t.index] for t in needed.inputs]
                    name = needed.name.rpartition("/")[2]
                    self._copies[needed] = super().add_node(needed.opdef, inputs, needed.attrs, needed.types, name)
        return self._copies[op]

    def add_node(
        self, opdef: OpDef, inputs: Sequence[Tensor], attrs: Attrs, types: dict[str, Any], name: str | None = None
    ) -> Operation:
        """As `GraphBuilder.add_node`; inputs from outside are captured. Raises `GraphError` for a variable."""
        if opdef.kind is Kind.VARIABLE:
            raise GraphError("a function's body cannot hold a variable; make it outside and pass its value")
        return super().add_node(opdef, [self.inside(t) for t in inputs], attrs, types, name)


def _needed(op: Operation) -> list[Operation]:
    """Returns `op` and the operations that it depends on, each before its inputs."""
    found = {op}
    stack = [op]
    while stack:
        new = {t.op for t in stack.pop().inputs} - found
        found |= new
        stack.extend(new)
    return sorted(found, key=lambda one: -one.id)


def owner(graph: GraphLike) -> GraphLike:
    """Returns the graph that gets the variables of `graph`: itself, or for the body of a function the graph around."""
    while isinstance(graph, FunctionBuilder) and graph.outside is not None:
        graph = graph.outside
    return graph


class Function:
    """A finished body: `args` and `results` are its tensors; `opdef` is the op that calls it.

    `gradient(function)` makes the op's gradient function when it is first needed. `captured` are the tensors of the
    graph outside that a call passes after its own arguments.
    """

    def __init__(
        self,
        name: str,
        body: FunctionBuilder,
        results: Sequence[Tensor],
        gradient: Callable[[Function], Callable[..., Any]],
        output_names: Sequence[str] | None = None,
        shapes: Callable[[Any], Any] | None = None,
        description: str = "",
    ) -> None:
        self.name = name
        self.body = body
        self.args = tuple(body.args)
        self.results = tuple(results)
        self.captured = tuple(body.captured)
        self.gradient_function: Callable[[], Function] | None = None
        self.passed: dict[
            int, int
        ] = {}  # number of a result -> number of the argument, a handle of a variable, that is returned unchanged
        # makes the function for certain shapes of arguments, if fewer dimensions are known of the arguments of this one
        self.refined: Callable[[tuple[Shape, ...]], Function] | None = None
        self.description = description
        self.noinline = False  # what the program asked for; calls are always inlined
        self._gradient = gradient
        self._shapes = shapes
        self._inferred: dict[tuple[Shape, ...], tuple[Shape, ...]] = {}
        body.finalize()
        self.nodes = sum(op.opdef.body.nodes if op.opdef.body else 1 for op in body.get_operations())
        if self.nodes > MAX_NODES:
            raise GraphError(f"the function {name!r} would be {self.nodes} nodes with all it calls; {MAX_NODES} may be")
        if output_names and len(output_names) != len(self.results):
            raise InvalidArgumentError(
                "output names must be either empty or equal in size to outputs. "
                f"output names size = {len(output_names)} outputs size = {len(self.results)}"
            )
        names = output_names or [f"output_{i}" for i in range(len(self.results))]
        self.opdef = OpDef(
            name,
            ", ".join(f"{t.op.name}: {_type_text(t)}" for t in self.args),
            ", ".join(f"{n}: {t.dtype.name}" for n, t in zip(names, self.results, strict=True)),
            description or f"Calls the function {name}.",
            infer=self._infer,
            grad=lambda op, *grads: self.gradient(op, *grads),
            stateful=any(
                op.opdef.stateful and op.opdef not in _ARGS or op.opdef.writes for op in body.get_operations()
            ),
            body=self,
        )

    @cached_property
    def gradient(self) -> Callable[..., Any]:
        """The gradient function of calls: (operation, *gradients of the results) -> gradients of the arguments."""
        return self._gradient(self)

    @cached_property
    def writes(self) -> bool:
        """Whether the body, or a function that it calls, changes a variable."""
        called = (op.opdef.body for op in self.body.get_operations() if op.opdef.body is not None)
        return any(op.opdef.writes for op in self.body.get_operations()) or any(f.writes for f in called)

    @property
    def effects(self) -> list[Operation]:
        """The operations of the body that have an effect although nothing reads them."""
        return [op for op in self.body.get_operations() if op.opdef not in _ARGS and _has_effect(op)]

    def _infer(self, c: Infer) -> tuple[Shape, ...]:
        if self._shapes is not None:
            return tuple(self._shapes(c))
        return self.result_shapes(c.shapes)

    def result_shapes(self, shapes: tuple[Shape, ...]) -> tuple[Shape, ...]:
        """Returns the shapes of the results for arguments of these shapes. Raises `ShapeError` if these do not fit."""
        if shapes not in self._inferred:
            self._inferred[shapes] = self._result_shapes(shapes)
        return self._inferred[shapes]

    def _result_shapes(self, shapes: tuple[Shape, ...]) -> tuple[Shape, ...]:
        for a, shape in zip(self.args, shapes, strict=True):
            if not a.shape.is_compatible_with(shape):
                raise ShapeError(f"{self.name}: the argument {a.op.name!r} has shape {shape}, needed {a.shape}")
        if all(a.shape == shape for a, shape in zip(self.args, shapes, strict=True)):
            return tuple(t.shape for t in self.results)
        scratch = FunctionBuilder()
        with scratch.as_default():
            args = [scratch.add_arg(a.dtype, s, ref=a.spec.ref) for a, s in zip(self.args, shapes, strict=True)]
            copies = copy_into(self, scratch, args)
        return tuple(copies[t].shape for t in self.results)

    @staticmethod
    def unique_name(name: str, body: GraphBuilder) -> str:
        """Returns `name` with eight hexadecimal digits that identify the body."""
        nodes = (f"{op.type} {[t.name for t in op.inputs]} {op.attrs!r} {op.types}" for op in body.get_operations())
        text = "\n".join(nodes)
        return f"{name}_{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _type_text(t: Tensor) -> str:
    return f"Ref({t.dtype.name})" if t.spec.ref else t.dtype.name


def _has_effect(op: Operation) -> bool:
    if op.opdef.writes or (op.opdef.stateful and not op.outputs):
        return True
    return op.opdef.stateful and not any(t.consumers() for t in op.outputs)


class NodeMaker(Protocol):
    """An object to which nodes can be added: a graph under construction, or a pass's edit."""

    def add_node(
        self, opdef: OpDef, inputs: Sequence[Tensor], attrs: Attrs, types: dict[str, Any], name: str | None = None
    ) -> Operation | EditNode:
        """Adds a node."""


def copy_into(
    function: Function, target: NodeMaker, args: Sequence[Tensor], frame: str = "", call_number: int = 0
) -> dict[Tensor, Tensor]:
    """Copies a body's nodes into `target`, a builder or a pass's edit, with `args` in place of its arguments.

    Returns the table from the body's tensors to their copies. `frame` is put in front of the names of loops' frames.
    `call_number` is added to the seeds of random ops for which the program gives none.
    """
    if len(args) != len(function.args):
        raise InvalidArgumentError(f"{function.name} takes {len(function.args)} arguments, got {len(args)}")
    table = dict(zip(function.args, args, strict=True))
    copies: dict[Operation, Operation | EditNode] = {}
    open_inputs: list[tuple[Operation | EditNode, int, Tensor]] = []
    for op in in_order(function.body.get_operations()):
        if op.opdef in _ARGS:
            continue
        inputs_so_far = [table.get(t) for t in op.inputs]
        placeholder = next((t for t in inputs_so_far if t is not None), None)
        attrs = op.attrs
        if frame and hasattr(attrs, "frame_name"):
            attrs = dataclasses.replace(attrs, frame_name=f"{frame}/{attrs.frame_name}")
        if call_number and getattr(attrs, "seed2", None) in function.body.own_seeds:
            attrs = dataclasses.replace(attrs, seed2=attrs.seed2 + call_number)
        inputs: list[Any] = [placeholder if t is None else t for t in inputs_so_far]
        node = target.add_node(op.opdef, inputs, attrs, op.types, op.name.rpartition("/")[2].lstrip("_"))
        if None in inputs_so_far:  # the Merge of a loop, which reads a NextIteration that comes later
            node.specs[0] = TensorSpec(op.specs[0].dtype, op.specs[0].shape, op.specs[0].ref)
            open_inputs.extend((node, i, op.inputs[i]) for i, t in enumerate(inputs_so_far) if t is None)
        node.origin = op.origin
        if op.device:
            node.device = op.device
        copies[op] = node
        table.update(zip(op.outputs, node.outputs, strict=True))
    for op, node in copies.items():
        _wait_for(node, [copies[c] for c in op.control_inputs if c in copies])
    for merge, index, source in open_inputs:
        if isinstance(merge, Operation):
            replace_input(merge, index, table[source])
        else:
            merge.replace_input(index, table[source])
    return table


def in_order(ops: Sequence[Operation]) -> list[Operation]:
    """Returns the operations of a body, each after its inputs.

    The order of adding is not enough, because an operation that was redefined may read later ones.
    """
    by_id = {op.id: op for op in ops}
    return [by_id[i] for i in graph_from_operations(ops).order]


def _wait_for(node: Operation | EditNode, before: Sequence[Operation | EditNode]) -> None:
    if isinstance(node, Operation):
        operations: list[Any] = [*node.control_inputs, *before]
        node.control_inputs = list(dict.fromkeys(operations))
    else:
        node.control = tuple(dict.fromkeys([*node.control, *(b.id for b in before)]))
