"""Graphs as GraphDef messages.

Node names, inputs ("x", "x:1", "^x"), attributes and devices are TensorFlow's. Invariant: a graph of standard ops
loads in TensorFlow; attributes that are objects of this process are left out. The functions that attributes hold, as
those of tf.data, become functions of the library, which are named by their content: equal ones are written once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from tfnb.errors import GraphError
from tfnb.ir.graph_function import GraphFunction
from tfnb.ir.graphdef.attrs import encode_attrs, encode_value, function_attributes, output_places
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
    for name, function in _held_functions(op):
        node.attr[name].func.name = encode_graph_function(function, op).signature.name
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
    """Returns the FunctionDefLibrary of the functions that a graph calls or holds, and of those that these need.

    Raises `GraphError` when two different functions have one name.
    """
    library: FunctionDefLibrary = proto("function").FunctionDefLibrary()
    seen: dict[str, WrittenFunction] = {}
    held: set[str] = set()
    stack: list[Written] = [*reversed(graph.get_operations())]
    while stack:
        op = stack.pop()
        for _, graph_function in _held_functions(op):
            message = encode_graph_function(graph_function, op)
            if message.signature.name not in held:
                held.add(message.signature.name)
                library.function.append(message)
                stack.extend(reversed(_operations_of(graph_function, op)))
        function = op.opdef.body
        while function is not None and seen.get(function.name) is not function:
            message = encode_function(function)
            if function.name in seen:
                if message != encode_function(seen[function.name]):
                    raise GraphError(f"two different functions of the graph have the name {function.name!r}")
                break
            seen[function.name] = function
            library.function.append(message)
            stack.extend(function.body.get_operations())
            other = None if function.gradient_function is None else function.gradient_function()
            if other is not None:
                library.gradient.add(function_name=function.name, gradient_func=other.name)
            function = other
    return library


def _held_functions(op: Written) -> Iterator[tuple[str, GraphFunction]]:
    """Yields the attributes of an operation that hold functions, with these."""
    for name in sorted(function_attributes(op.attrs.__class__)):
        function = getattr(op.attrs, name)
        if function is not None:
            yield name, function


def _operations_of(function: GraphFunction, holder: Written) -> list[Any]:
    """Returns the operations of a function without its arguments, in the order in which they were added.

    A function that is a part of its holder's own graph has those that its results need, another one has all.
    """
    args = {t.op for t in function.inputs}
    operations = [op for t in (*function.outputs, *function.inputs)[:1] for op in t.graph.get_operations()]
    if holder in operations:
        needed: set[Any] = set()
        stack = [t.op for t in function.outputs]
        while stack:
            op = stack.pop()
            if op not in needed:
                needed.add(op)
                stack.extend((*(t.op for t in op.inputs), *op.control_inputs))
        operations = [op for op in operations if op in needed]
    return [op for op in operations if op not in args]


def encode_graph_function(function: GraphFunction, holder: Written) -> FunctionDef:
    """Returns the FunctionDef of a function that an attribute of the operation `holder` holds."""
    message: FunctionDef = proto("function").FunctionDef()
    operations = _operations_of(function, holder)
    prefix = "arg"
    while any(op.name.startswith(prefix) for op in operations):
        prefix = f"an_{prefix}"
    args = {t.op: f"{prefix}_{i}" for i, t in enumerate(function.inputs)}
    message.signature.is_stateful = any(op.opdef.stateful for op in operations)
    for t in function.inputs:
        message.signature.input_arg.add(name=args[t.op], type=t.dtype.enum)
    for i, t in enumerate(function.outputs):
        message.signature.output_arg.add(name=f"output_{i}", type=t.dtype.enum)
        message.ret[f"output_{i}"] = _inner_name(t, args)
    _write_body(message, operations, args)
    content: Any = message
    content = content.SerializeToString(deterministic=True)
    message.signature.name = f"function_{hashlib.sha1(content).hexdigest()[:16]}"
    return message


def encode_function(function: WrittenFunction) -> FunctionDef:
    """Returns the FunctionDef of a function."""
    message: FunctionDef = proto("function").FunctionDef()
    args = {t.op: t.op.name for t in function.args}
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
    _write_body(message, function.body.get_operations(), args)
    return message


def _write_body(message: FunctionDef, operations: Sequence[Any], args: Mapping[Any, str]) -> None:
    """Writes the nodes of a function, whose arguments have the names in `args`."""
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


def _inner_name(t: Tensor, args: Mapping[Any, str]) -> str:
    op = t.op
    if op in args:
        return args[op]
    for name, (start, count) in output_places(op.opdef, op.types).items():
        if start <= t.index < start + count:
            return f"{op.name}:{name}:{t.index - start}"
    raise GraphError(f"{t.name} is no output of its operation", op)
