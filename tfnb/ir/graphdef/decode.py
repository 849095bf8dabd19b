"""GraphDef messages into a graph: `tf.import_graph_def`.

Parsed nodes are added in an order in which each follows its inputs; loops are closed last. If a loop changes a static
shape, the import starts again with the shape that all iterations of its Merge have in common. Invariant: either the
whole file is imported, or nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from tfnb.errors import DTypeError, GraphError, InvalidArgumentError, NotFoundError, OpError
from tfnb.ir.bind import bind
from tfnb.ir.builder import GraphBuilder, all_or_nothing, claim_name, replace_input
from tfnb.ir.device_spec import DeviceSpec
from tfnb.ir.function import FunctionBuilder
from tfnb.ir.graphdef.message import as_message
from tfnb.ir.graphdef.message_types import FunctionDefLibrary, GraphDef, NodeDef, Repeated
from tfnb.ir.graphdef.parse import Link, ParsedNode, blamed, in_order, parse_link, parse_nodes
from tfnb.ir.graphdef.resource_variables import Handles
from tfnb.ir.opdef import Kind, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor
from tfnb.types import Shape, TensorSpec, unknown_shape

__all__ = ["add_nodes", "common_shape", "import_graph_def"]

_ROUNDS = 12  # the most attempts with wider shapes in loops, before all of these shapes are taken as unknown


class _Again(Exception):
    """The shape that was assumed for a loop's Merge does not hold in all iterations."""


class Functions(Protocol):
    """The functions of a GraphDef's library: `tfnb.ir.graphdef.functions.Library`."""

    def find(self, name: str, /) -> OpDef:
        """Returns the op of this name, from the library or from the catalogue."""

    def plain(self, nodes: Repeated[NodeDef], handles: Handles, /) -> list[NodeDef]:
        """Returns the nodes in the form in which they are read."""


_SCALAR_MEANS_UNKNOWN = 21  # the last version that wrote a Placeholder of unknown shape as if it were a scalar


def import_graph_def(
    graph: GraphBuilder,
    graph_def: object,
    library: Callable[[FunctionDefLibrary], Functions],
    input_map: Mapping[str, Any] | None = None,
    return_elements: Sequence[str] | None = None,
    prefix: str = "",
) -> list[Any] | None:
    """Adds the nodes of a GraphDef to `graph` under the (unique) name scope `prefix`.

    `library(message.library)` finds ops and functions. `input_map` maps names of tensors of the file to the tensors
    that are read instead. Returns the operations and tensors that `return_elements` names. Errors are `OpError`s that
    name the node.
    """
    tensors_by_link = _read_map(graph, input_map or {})
    message: GraphDef = as_message("graph", "GraphDef", graph_def)
    functions = library(message.library)
    nodes = functions.plain(message.node, Handles(message.node))
    if message.versions.producer <= _SCALAR_MEANS_UNKNOWN:
        nodes = [_of_unknown_shape(node) for node in nodes]
    with all_or_nothing(graph):
        used: set[Link] = set()
        names = {node.name for node in message.node}
        element = add_nodes(graph, nodes, functions.find, tensors_by_link, prefix, used)
        unused = [str(link) for link in tensors_by_link if link not in used and link.name not in names]
        if unused:
            raise InvalidArgumentError(
                f"Attempted to map inputs that were not found in graph_def: [{', '.join(unused)}]"
            )
        return None if return_elements is None else [element(name) for name in return_elements]


def _of_unknown_shape(node: NodeDef) -> NodeDef:
    """Returns the node, or, of a Placeholder with a scalar shape, a copy of unknown shape."""
    if node.op != "Placeholder" or "shape" not in node.attr or node.attr["shape"].shape.dim:
        return node
    changed: NodeDef = type(node)()
    changed.CopyFrom(node)
    changed.attr["shape"].shape.unknown_rank = True
    return changed


def add_nodes(
    graph: GraphBuilder,
    node_defs: Sequence[NodeDef],
    find_op: Callable[[str], OpDef],
    mapped: Mapping[Link, Any],
    prefix: str = "",
    used: set[Link] | None = None,
) -> Callable[[Any], Any]:
    """Adds nodes. Returns a function from a name in the file to its operation ("x") or tensor ("x:0").

    The keys of `mapped` that some node reads are added to `used`.
    """
    nodes = parse_nodes(node_defs, find_op)
    order = in_order(nodes, lambda link: link in mapped)
    merge_shapes: dict[str, Shape] = {}
    for attempt in range(_ROUNDS + 1):
        attempted_import = _Import(graph, nodes, mapped, prefix, merge_shapes, attempt == _ROUNDS)
        try:
            with all_or_nothing(graph):
                attempted_import.add(order)
        except _Again:
            continue
        if used is not None:
            used.update(attempted_import.used)
        return attempted_import.element
    raise GraphError("the shapes of the GraphDef's loops do not settle")


def _read_map(graph: GraphBuilder, input_map: Mapping[str, Any]) -> dict[Link, Any]:
    if not isinstance(input_map, Mapping):
        raise DTypeError(f"input_map must be a dictionary mapping strings to Tensor objects, got {input_map!r}")
    tensors_by_link: dict[Link, Any] = {}
    for name, value in input_map.items():
        text = name.decode() if isinstance(name, bytes) else name
        if not isinstance(text, str):
            raise DTypeError(f"input_map: a key must be a tensor's name, got {name!r}")
        link = parse_link(text)
        if link.port < 0:
            element = graph.as_graph_element(value)
            tensors_by_link[link] = element.op if isinstance(element, Tensor) else element
        else:
            tensors_by_link[link] = graph.to_tensor(value)
            if tensors_by_link[link].graph is not graph:
                raise GraphError(f"input_map: the tensor for {text!r} is from another graph", tensors_by_link[link].op)
    return tensors_by_link


class _Import:
    """One attempt to add all nodes; `assumed` are the shapes of loops' Merges."""

    def __init__(
        self,
        graph: GraphBuilder,
        nodes: Mapping[str, ParsedNode],
        mapped: Mapping[Link, Any],
        prefix: str,
        assumed: dict[str, Shape],
        give_up: bool,
    ) -> None:
        self.graph = graph
        self.nodes = nodes
        self.mapped = mapped
        self.prefix = prefix
        self.assumed = assumed
        self.give_up = give_up
        self.operations: dict[str, Operation] = {}
        self.used: set[Link] = set()
        self.open: list[tuple[Operation, int, str, Link]] = []

    def add(self, ordered: Sequence[ParsedNode]) -> None:
        for node in ordered:
            try:
                self.operations[node.name] = self._add(node)
            except OpError as e:
                e.op = None
                raise blamed(node.name, e) from None
            except _Again:
                raise
            except (
                Exception
            ) as e:  # a file can have values that no program makes, and that shape functions do not expect
                text = f"{node.opdef.name} cannot take these inputs and attributes: {e}"
                raise blamed(node.name, GraphError(text)) from e
        for merge, index, name, link in self.open:
            self._close(merge, index, name, link)

    def _add(self, node: ParsedNode) -> Operation:
        full = f"{self.prefix}{node.name}"
        claim_name(self.graph, full)
        back_inputs = [i for i, link in enumerate(node.links) if self._is_back(node, link)]
        groups = [[self._tensor(link) for link in group if not self._is_back(node, link)] for group in node.inputs]
        if back_inputs:
            if not groups[0]:
                raise GraphError("a Merge that no value can enter")
            for i in back_inputs:
                groups[0].insert(i, groups[0][0])
        opdef = node.opdef
        if opdef.body is not None and opdef.body.refined is not None:
            opdef = opdef.body.refined(tuple(t.shape for g in groups for t in g)).opdef
        values: list[Any] = [
            g if a.number is not None or a.type_list else g[0] for a, g in zip(opdef.input_args, groups, strict=True)
        ]
        bound = bind(opdef, values, node.attrs, self.graph.to_tensor)
        for name, declared in node.attrs.items():
            if isinstance(bound.types.get(name), tuple) and tuple(declared) != bound.types[name]:
                raise DTypeError(f"{opdef.name}: its inputs are not of the dtypes {name!r} that it names")
        op = self.graph.add_node(opdef, bound.inputs, bound.attrs, bound.types, full + "/")
        self._finish(op, node)
        if back_inputs:
            self._assume(op, node, back_inputs)
        return op

    def _finish(self, op: Operation, node: ParsedNode) -> None:
        """Sets control inputs, device and colocation as in the file."""
        operations = [self._control(c) for c in node.control]
        op.control_inputs = list(dict.fromkeys([*op.control_inputs, *operations]))
        if node.device:
            inner = DeviceSpec.from_string(node.device)
            op.device = inner.merged(DeviceSpec.from_string(op.device)).to_string()
        if node.colocation:
            known = [name for name in node.colocation if name in self.nodes or Link(name, 0) in self.mapped]
            if len(known) < len(node.colocation) and not isinstance(self.graph, FunctionBuilder):
                missing = next(name for name in node.colocation if name not in known)
                raise GraphError(f"is placed with {missing[:200]!r}, which is not in the graph")
            # A body may name nodes of the graph that it was traced in; these place nothing.
            op.colocation = tuple(f"loc:@{self.prefix}{name}" for name in known)
        op.gradient_type = node.gradient_type or op.gradient_type

    def _is_back(self, node: ParsedNode, link: Link) -> bool:
        source = self.nodes.get(link.name)
        return (
            node.opdef.kind is Kind.MERGE
            and source is not None
            and source.opdef.kind is Kind.NEXT_ITERATION
            and link not in self.mapped
        )

    def _tensor(self, link: Link) -> Tensor:
        if link in self.mapped:
            self.used.add(link)
            return self.mapped[link]
        op = self.operations[link.name]
        if link.port >= len(op.outputs):
            raise GraphError(f"reads {link}, but {link.name!r} ({op.type}) has {len(op.outputs)} outputs")
        return op.outputs[link.port]

    def _control(self, name: str) -> Operation:
        link = Link(name, -1)
        if link in self.mapped:
            self.used.add(link)
            return self.mapped[link]
        return self.operations[name]

    def _assume(self, merge: Operation, node: ParsedNode, late: Sequence[int]) -> None:
        """Gives a Merge whose loop is still open the shape that is assumed for all iterations."""
        shape = unknown_shape if self.give_up else self.assumed.get(node.name, merge.specs[0].shape)
        merge.specs[0] = TensorSpec(merge.specs[0].dtype, shape, merge.specs[0].ref)
        self.open.extend((merge, i, node.name, node.links[i]) for i in late)

    def _close(self, merge: Operation, index: int, name: str, link: Link) -> None:
        try:
            value = self._tensor(link)
        except OpError as e:
            raise blamed(name, e) from None
        if value.dtype is not merge.specs[0].dtype or value.spec.ref != merge.inputs[0].spec.ref:
            raise blamed(
                name,
                DTypeError(f"its input {link} is {value.dtype.name}, the others {merge.specs[0].dtype.name}"),
            )
        shape = merge.specs[0].shape
        common = common_shape(shape, value.shape)
        if common != shape:
            self.assumed[name] = common
            raise _Again
        replace_input(merge, index, value)

    def element(self, name: str) -> Any:
        """Returns the operation ("x") or tensor ("x:0") of the file."""
        text = name.decode() if isinstance(name, bytes) else name
        if not isinstance(text, str):
            raise DTypeError(f"return_elements: needed names, got {name!r}")
        link = parse_link(text)
        if link in self.mapped and self.prefix == "":
            return self.mapped[link]
        if link.name not in self.operations or link.port < 0:
            raise NotFoundError(f"return_elements: the GraphDef has no node {text!r}")
        return self._tensor(link) if ":" in text else self.operations[link.name]


def common_shape(a: Shape, b: Shape) -> Shape:
    """Returns the most specific shape with which both `a` and `b` agree."""
    if a.sizes is None or b.sizes is None or len(a.sizes) != len(b.sizes):
        return unknown_shape
    return Shape(tuple(x if x == y else None for x, y in zip(a.sizes, b.sizes, strict=True)))
