"""Reading NodeDefs: names, inputs and attributes are checked before a graph sees them.

Invariant: a `ParsedNode` names an op of the catalogue, has attributes of the declared kinds, as many inputs as its
signature asks for, and inputs that exist in the file. The memory of all nodes together is proportional to the size of
the file.
"""

from __future__ import annotations

import dataclasses
import heapq
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfnb.errors import DTypeError, GraphError, OpError, ResourceExhaustedError
from tfnb.ir.device_spec import DeviceSpec
from tfnb.ir.graphdef.attrs import decode_attrs, numbers_of, type_lists_of
from tfnb.ir.graphdef.message_types import NodeDef
from tfnb.ir.graphdef.tensor_proto import MAX_REPEATED, decode_dtype, repeated_bytes
from tfnb.ir.opdef import Kind, OpDef

__all__ = [
    "MAX_OUTPUTS",
    "MAX_OUTPUTS_IN_ALL",
    "Link",
    "ParsedNode",
    "blamed",
    "in_order",
    "parse_link",
    "parse_nodes",
]

MAX_OUTPUTS = 1 << 16  # the most outputs of one node, since a small file could otherwise ask for billions of tensors
# The most outputs of all nodes of a graph together: a fixed number, and a few for each node.
MAX_OUTPUTS_IN_ALL, OUTPUTS_PER_NODE = 1 << 18, 4

_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*\Z")
_PLACED_WITH = "loc:@"  # other texts among a node's classes mean nothing, as in TensorFlow
_INPUT = re.compile(r"(\^?)([^:^]+)(?::(\d{1,9}))?\Z")


@dataclass(frozen=True, slots=True)
class Link:
    """An input: output `port` of the node `name`, or a control input (`port` is -1)."""

    name: str
    port: int

    def __str__(self) -> str:
        return f"^{self.name}" if self.port < 0 else f"{self.name}:{self.port}"


@dataclass(frozen=True, slots=True)
class ParsedNode:
    """A node of the file: `inputs` grouped by the signature's arguments, `attrs` as keyword arguments of `bind`."""

    name: str
    opdef: OpDef
    inputs: tuple[tuple[Link, ...], ...]
    control: tuple[str, ...]
    attrs: dict[str, Any]
    device: str
    colocation: tuple[str, ...]
    gradient_type: str | None

    @property
    def links(self) -> list[Link]:
        """The data inputs, in the order of the node's signature."""
        return [link for group in self.inputs for link in group]


def blamed(name: str, error: OpError) -> OpError:
    """Returns the error with the name of the file's node that is to blame at the beginning of its message."""
    error.message = f"GraphDef node {name[:200]!r}: {error.message}"
    error.args = (error.message,)
    return error


def parse_nodes(node_defs: Sequence[NodeDef], find_op: Callable[[str], OpDef]) -> dict[str, ParsedNode]:
    """Returns the nodes by their names, in the file's order. Raises an `OpError` that names the first wrong node."""
    nodes: dict[str, ParsedNode] = {}
    limit = MAX_OUTPUTS_IN_ALL + OUTPUTS_PER_NODE * len(node_defs)
    outputs = repeated = 0
    for node in node_defs:
        try:
            if not _NAME.match(node.name):
                raise GraphError("not a valid name for an operation")
            if node.name in nodes:
                raise GraphError("there are two nodes of this name")
            parsed = nodes[node.name] = _parse(node, find_op(node.op), find_op)
            outputs += _count_outputs(parsed)
            repeated += _count_repeated(node, parsed.attrs)
            if outputs > limit:
                raise ResourceExhaustedError(
                    f"{len(nodes)} nodes with {outputs} outputs: at most {limit} are served of {len(node_defs)} nodes"
                )
            if repeated > MAX_REPEATED:
                raise ResourceExhaustedError(
                    f"the constants up to here repeat their last elements over {repeated} bytes; at most "
                    f"{MAX_REPEATED} are served of one graph"
                )
        except OpError as e:
            raise blamed(node.name, e) from None
    return nodes


def parse_link(text: str) -> Link:
    """Parses an input of a NodeDef: "x", "x:1" or "^x". Raises `GraphError` for anything else."""
    match = _INPUT.match(text)
    if match is None or (match.group(1) and match.group(3)):
        raise GraphError(f"the input {text[:200]!r} is none: needed 'name', 'name:1' or '^name'")
    return Link(match.group(2), -1 if match.group(1) else int(match.group(3) or 0))


def _parse(node: NodeDef, opdef: OpDef, find_op: Callable[[str], OpDef]) -> ParsedNode:
    links = [parse_link(text) for text in node.input]
    data = [link for link in links if link.port >= 0]
    if any(link.port >= 0 for link in links[len(data) :]):
        raise GraphError("a data input comes after a control input")
    attrs = decode_attrs(opdef, node.attr, find_op)
    _check_outputs(opdef, attrs)
    if opdef.kind is Kind.CONST and {"value", "dtype"} <= attrs.keys():
        value_dtype = decode_dtype(node.attr["value"].tensor.dtype)
        if value_dtype is not attrs["dtype"]:
            raise DTypeError(f"a constant of {attrs['dtype'].name} whose value is of {value_dtype.name}")
    groups = _grouped(opdef, data, attrs)
    if node.device:
        DeviceSpec.from_string(node.device)
    return ParsedNode(
        node.name,
        opdef,
        groups,
        tuple(dict.fromkeys(x.name for x in links[len(data) :])),
        attrs,
        node.device,
        _colocation(node),
        _text(node, "_gradient_op_type"),
    )


def _grouped(opdef: OpDef, data: Sequence[Link], attrs: dict[str, Any]) -> tuple[tuple[Link, ...], ...]:
    """Returns the inputs of each argument. Raises `GraphError` unless there are as many as the signature says.

    Numbers of inputs are removed from `attrs`, because they follow from the inputs, unless they are fields of the attrs
    class.
    """
    groups, start = [], 0
    for a in opdef.input_args:
        length = 1
        if a.type_list:
            length = len(_required(opdef, attrs, a.type))
        elif a.number is not None:
            length = _required(opdef, attrs, a.number)
        if length < 0 or start + length > len(data):
            raise GraphError(f"{opdef.name} needs {length} inputs for {a.name!r}, has {len(data) - start} left")
        groups.append(tuple(data[start : start + length]))
        start += length
    if start != len(data):
        raise GraphError(f"{opdef.name} takes {start} inputs, has {len(data)}")
    fields = {f.name for f in dataclasses.fields(opdef.attrs)}
    for a in opdef.input_args:
        if a.number is not None and a.number not in fields:
            attrs.pop(a.number, None)
    return tuple(groups)


def _required(opdef: OpDef, attrs: Mapping[str, Any], name: str) -> Any:
    if name not in attrs:
        raise GraphError(f"{opdef.name} has no attribute {name!r}")
    return attrs[name]


def _check_outputs(opdef: OpDef, attrs: Mapping[str, Any]) -> None:
    for number in numbers_of(opdef):
        if not 0 <= attrs.get(number, 0) <= MAX_OUTPUTS:
            raise GraphError(f"{opdef.name}: {number} is {attrs[number]}, needed 0 to {MAX_OUTPUTS}")
    for a in opdef.output_args:
        if a.number is not None or a.type in type_lists_of(opdef):
            _required(opdef, attrs, a.number or a.type)


def _count_outputs(node: ParsedNode) -> int:
    return sum(
        len(node.attrs.get(a.type, ())) if a.type_list else 1 if a.number is None else node.attrs.get(a.number, 1)
        for a in node.opdef.output_args
    )


def _count_repeated(node: NodeDef, attrs: Mapping[str, Any]) -> int:
    return sum(
        repeated_bytes(node.attr[name].tensor, value) for name, value in attrs.items() if isinstance(value, np.ndarray)
    )


def _colocation(node: NodeDef) -> tuple[str, ...]:
    if "_class" not in node.attr:
        return ()
    texts = [text.decode("utf-8", "replace") for text in node.attr["_class"].list.s]
    return tuple(text.removeprefix(_PLACED_WITH) for text in texts if text.startswith(_PLACED_WITH))


def _text(node: NodeDef, name: str) -> str | None:
    return node.attr[name].s.decode("utf-8", "replace") if name in node.attr else None


def in_order(nodes: Mapping[str, ParsedNode], outside: Callable[[Link], bool]) -> list[ParsedNode]:
    """Returns the nodes, each after its inputs, else in the file's order; the edges that close loops do not count.

    `outside(link)` says whether the caller supplies the value of a link. Raises `GraphError` for an input that does not
    exist or a cycle that does not go through NextIteration -> Merge.
    """
    names = list(nodes)
    place = {name: i for i, name in enumerate(names)}
    predecessors = {node.name: _behind(node, nodes, outside) for node in nodes.values()}
    readers: dict[str, list[str]] = {}
    for name, needed in predecessors.items():
        for other in needed:
            readers.setdefault(other, []).append(name)
    pending = {name: len(needed) for name, needed in predecessors.items()}
    ready = [place[name] for name, n in pending.items() if n == 0]
    order = []
    while ready:
        name = names[heapq.heappop(ready)]
        order.append(nodes[name])
        for reader in readers.get(name, ()):
            pending[reader] -= 1
            if pending[reader] == 0:
                heapq.heappush(ready, place[reader])
    if len(order) < len(names):
        raise _cycle({name: predecessors[name] for name, n in pending.items() if n > 0})
    return order


def _cycle(stuck: Mapping[str, list[str]]) -> OpError:
    """Returns the error for a cycle; each of the nodes `stuck` waits for another one of them."""
    path: dict[str, None] = {}
    name = next(iter(stuck))
    while name not in path:
        path[name] = None
        name = next(b for b in stuck[name] if b in stuck)
    names = list(path)
    names = [name, *reversed(names[names.index(name) :])]
    return blamed(name, GraphError(f"lies on a cycle that is no loop: {' -> '.join(n[:60] for n in names[:8])}"))


def _behind(node: ParsedNode, nodes: Mapping[str, ParsedNode], outside: Callable[[Link], bool]) -> list[str]:
    """Returns the names of the nodes that must come before `node`. Raises `GraphError` for an input that is missing."""
    predecessors: dict[str, None] = {}
    for link in (*node.links, *(Link(c, -1) for c in node.control)):
        if outside(link):
            continue
        if link.name not in nodes:
            raise blamed(node.name, GraphError(f"its input {str(link)[:200]!r} is not in the graph"))
        is_back = node.opdef.kind is Kind.MERGE and nodes[link.name].opdef.kind is Kind.NEXT_ITERATION
        if not is_back or link.port < 0:
            predecessors[link.name] = None
    return list(predecessors)
