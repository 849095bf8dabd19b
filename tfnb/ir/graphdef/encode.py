"""Graphs as GraphDef messages.

Node names, inputs ("x", "x:1", "^x"), attributes and devices are TensorFlow's. Invariant: a graph of standard ops
loads in TensorFlow; attributes that are objects of this process are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from tfnb.errors import GraphError
from tfnb.ir.graphdef.attrs import encode_attrs, encode_value, output_places
from tfnb.ir.graphdef.loop_constants import Copy, LoopConstants, Written
from tfnb.ir.graphdef.message_types import FunctionDef, FunctionDefLibrary, GraphDef, NodeDef, Versions
from tfnb.ir.opdef import Kind, OpDef
from tfnb.ir.protos import proto
from tfnb.ir.tensor import Tensor

__all__ = ["PRODUCER", "as_graph_def", "encode_function", "input_name", "node_def"]

_TOO_LARGE = 2 << 30  # bytes; protocol buffers are smaller
PRODUCER = 27  # the version of GraphDef that TensorFlow 1.12 writes


class WrittenGraph(Protocol):
    """A graph, as far as it is written to a GraphDef."""

    @property
    def graph_def_versions(self) -> Versions: ...

    def get_operations(self) -> Sequence[Written]:
        """Returns all operations, in the order in which they were added."""


class WrittenFunction(Protocol):
    """A function (`ir/function.py`), as far as it is written to a FunctionDef."""

    @property
    def name(self) -> str: ...
    @property
    def opdef(self) -> OpDef: ...
    @property
    def args(self) -> Sequence[Tensor]: ...
    @property
    def results(self) -> Sequence[Tensor]: ...
    @property
    def description(self) -> str: ...
    @property
    def noinline(self) -> bool: ...
    @property
    def body(self) -> WrittenGraph: ...
    @property
    def gradient_function(self) -> Callable[[], WrittenFunction] | None: ...


def input_name(tensor: Tensor) -> str:
    """Returns the name of a tensor in NodeDefs, in which the first output has no number."""
    return tensor.op.name if tensor.index == 0 else f"{tensor.op.name}:{tensor.index}"


def node_def(op: Written, add_shapes: bool = False, into: NodeDef | None = None) -> NodeDef:
    """Returns the NodeDef of an operation; it is written into the empty message `into` if that is given.

    With `add_shapes` its attribute "_output_shapes" holds the static shapes.
    """
    node: NodeDef = proto("node_def").NodeDef() if into is None else into
    node.name, node.op, node.device = op.name, op.type, op.device
    node.input.extend(input_name(t) for t in op.inputs)
    node.input.extend(f"^{c.name}" for c in op.control_inputs)
    encode_attrs(op.opdef, op.types, op.attrs, node.attr)
    if op.colocation:
        encode_value("s", True, op.colocation, node.attr["_class"])
    if op.gradient_type is not None:
        encode_value("s", False, op.gradient_type, node.attr["_gradient_op_type"])
    if add_shapes and op.specs:
        shapes = [s.shape for s in op.specs]
        encode_value("shape", True, shapes, node.attr["_output_shapes"])
    return node


def new_versions() -> Versions:
    """Returns the VersionDef message of a new graph."""
    versions: Versions = proto("versions").VersionDef(producer=PRODUCER)
    return versions


def as_graph_def(graph: WrittenGraph, from_version: int | None = None, add_shapes: bool = False) -> GraphDef:
    """Returns the GraphDef of a graph: all operations, or those added since `graph.version` was `from_version`.

    Raises `GraphError` if the constants have 2 GB or more, which no message can have.
    """
    message: GraphDef = proto("graph").GraphDef()
    message.versions.CopyFrom(graph.graph_def_versions)
    operations = graph.get_operations()
    constant_attrs: list[Any] = [op.attrs for op in operations[from_version or 0 :] if op.opdef.kind is Kind.CONST]
    size = sum(attrs.value.nbytes for attrs in constant_attrs)
    if size >= _TOO_LARGE:
        raise GraphError(f"GraphDef cannot be larger than 2GB. Its constants have {size} bytes; feed large arrays")
    constants = LoopConstants(operations)
    for op in operations[from_version or 0 :]:
        copies = constants.copies(op)
        for name, source, pivot in copies.values():
            if pivot is not None:
                copy = node_def(source, add_shapes, message.node.add())
                copy.name, copy.input[:] = name, [f"^{pivot.name}"]
        node = node_def(op, add_shapes, message.node.add())
        _of_loop(node, copies, constants.pivot(op))
    library = encode_library(graph)
    if library.function:
        message.library.CopyFrom(library)
    return message


def _of_loop(node: NodeDef, copies: Mapping[str, Copy], pivot: Written | None) -> None:
    """Makes a node read the copies of constants that are in its loop, and a constant wait for its loop's pivot."""
    if copies:
        parts = [text.partition(":") for text in node.input]
        node.input[:] = [(copies[name][0] if name in copies else name) + colon + rest for name, colon, rest in parts]
    if pivot is not None:
        node.input.append(f"^{pivot.name}")


def encode_library(graph: WrittenGraph) -> FunctionDefLibrary:
    """Returns the FunctionDefLibrary of the functions that a graph calls, and of those that these call.

    Raises `GraphError` when two different functions have one name.
    """
    library: FunctionDefLibrary = proto("function").FunctionDefLibrary()
    seen: dict[str, WrittenFunction] = {}
    stack = [op.opdef.body for op in reversed(graph.get_operations()) if op.opdef.body is not None]
    while stack:
        function = stack.pop()
        if seen.get(function.name) is function:
            continue
        message = encode_function(function)
        if function.name in seen:
            if message != encode_function(seen[function.name]):
                raise GraphError(f"two different functions of the graph have the name {function.name!r}")
            continue
        seen[function.name] = function
        library.function.append(message)
        stack.extend(op.opdef.body for op in function.body.get_operations() if op.opdef.body is not None)
        if function.gradient_function is not None:
            other = function.gradient_function()
            library.gradient.add(function_name=function.name, gradient_func=other.name)
            stack.append(other)
    return library


def encode_function(function: WrittenFunction) -> FunctionDef:
    """Returns the FunctionDef of a function."""
    message: FunctionDef = proto("function").FunctionDef()
    args = {t.op for t in function.args}
    signature = message.signature
    signature.name = function.name
    signature.is_stateful = function.opdef.stateful
    if function.description:
        signature.description = function.description
    if function.noinline:
        message.attr["_noinline"].b = True
    for t in function.args:
        signature.input_arg.add(name=t.op.name, type=t.dtype.enum, is_ref=t.spec.ref)
    for a, t in zip(function.opdef.output_args, function.results, strict=True):
        signature.output_arg.add(name=a.name, type=t.dtype.enum)
        message.ret[a.name] = _inner_name(t, args)
    operations = function.body.get_operations()
    constants = LoopConstants(operations)
    for op in operations:
        if op in args:
            continue
        copies = constants.copies(op)
        for name, source, pivot in copies.values():
            if pivot is not None:
                copy = node_def(source, into=message.node_def.add())
                copy.name, copy.input[:] = name, [f"^{pivot.name}"]
        node = node_def(op, into=message.node_def.add())
        control = [c.name for c in op.control_inputs if c not in args]
        node.input[:] = [_inner_name(t, args) for t in op.inputs] + [f"^{c}" for c in control]
        _of_loop(node, copies, constants.pivot(op))
    return message


def _inner_name(t: Tensor, args: set[Any]) -> str:
    op = t.op
    if op in args:
        return str(op.name)
    for name, (start, count) in output_places(op.opdef, op.types).items():
        if start <= t.index < start + count:
            return f"{op.name}:{name}:{t.index - start}"
    raise GraphError(f"{t.name} is no output of its operation", op)
