"""GraphEdit: the mutable form of a graph inside one pass.

A pass opens an edit, adds, replaces and removes nodes, and freezes it into a new `Graph`. Ops can be called on an
edit's tensors exactly as users call them, so expansions are written like programs. Invariant: `freeze` drops
what nothing needs any more and leaves no dangling edge.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from tfnb.errors import InternalError
from tfnb.ir.bind import bind, to_numpy
from tfnb.ir.builder import infer_specs
from tfnb.ir.const import CONST
from tfnb.ir.opdef import OpDef, pack_outputs
from tfnb.ir.record import Attrs
from tfnb.ir.step_graph.graph import Edge, Graph, Node
from tfnb.ir.tensor import Tensor
from tfnb.types import DType, TensorSpec, as_dtype

__all__ = ["EditNode", "GraphEdit"]


class EditNode:
    """A node during an edit. Gradient, expansion and shape functions can use it like an Operation."""

    __slots__ = (
        "attrs",
        "colocation",
        "control",
        "device",
        "graph",
        "id",
        "name",
        "opdef",
        "origin",
        "refs",
        "specs",
        "types",
    )

    varies = False  # a search looks at what is above the node, which edits may change

    def __init__(self, graph: GraphEdit, node: Node) -> None:
        self.graph = graph
        self.id, self.name, self.opdef = node.id, node.name, node.opdef
        self.refs, self.control = node.inputs, node.control
        self.attrs, self.types, self.specs = node.attrs, node.types, list(node.specs)
        self.device, self.origin, self.colocation = node.device, node.origin, node.colocation

    @property
    def type(self) -> str:
        """The name of the op."""
        return self.opdef.name

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The tensors that the node reads."""
        return tuple(self.graph.tensor(e) for e in self.refs)

    @property
    def outputs(self) -> list[Tensor]:
        """The tensors that the node makes."""
        return [Tensor(self.graph, self, i) for i in range(len(self.specs))]

    @property
    def x(self) -> Tensor:
        """The first input."""
        return self.inputs[0]

    @property
    def y(self) -> Tensor:
        """The first output."""
        return self.outputs[0]

    def set_spec(self, index: int, spec: TensorSpec) -> None:
        """Replaces the dtype and static shape of an output."""
        self.specs[index] = spec

    def replace_input(self, index: int, tensor: Tensor) -> None:
        """Makes `tensor` input `index`."""
        self.refs = (*self.refs[:index], Edge(tensor.op.id, tensor.index), *self.refs[index + 1 :])

    def freeze(self) -> Node:
        """Returns the node as it is now, for the new graph."""
        return Node(
            self.id,
            self.name,
            self.opdef,
            self.refs,
            self.control,
            self.attrs,
            self.types,
            tuple(self.specs),
            self.device,
            self.origin,
            self.colocation,
        )


class GraphEdit:
    """Edits of one graph. `at(node)` sets the node from which new nodes take their name, device and origin."""

    def __init__(self, graph: Graph) -> None:
        self.base = graph
        self.nodes: dict[int, EditNode] = {i: EditNode(self, n) for i, n in graph.nodes.items()}
        self.fetches: list[Edge] = list(graph.fetches)
        self.targets: list[int] = list(graph.targets)
        self.feeds: list[Edge] = list(graph.feeds)
        self.next_id = max(self.nodes, default=0) + 1
        self._behalf: EditNode | None = None

    @property
    def graph(self) -> GraphEdit:
        """The edit itself; tensors and nodes have this property, too."""
        return self

    def tensor(self, e: Edge) -> Tensor:
        """Returns the tensor of an edge."""
        return Tensor(self, self.nodes[e.id], e.port)

    def at(self, node: EditNode | None) -> None:
        """Sets the node whose name, device and origin later nodes get; with None they get none of these."""
        self._behalf = node

    def reserve(self, name: str, *parts: str) -> list[str]:
        """As `GraphBuilder.reserve`, without an effect: numbers make the names of an edit's nodes different."""
        return [name, *parts]

    def name_scope(self, name: str) -> AbstractContextManager[str]:
        """As `GraphBuilder.name_scope`, without an effect: the names of an edit's nodes begin with that of `at`."""
        return nullcontext(name)

    def apply(self, opdef: OpDef, values: Sequence[Any], attrs: dict[str, Any], name: str | None) -> Any:
        """Adds the node of a call of an op on this edit's tensors."""
        bound = bind(opdef, values, attrs, self.to_tensor)
        node = self.add_node(opdef, bound.inputs, bound.attrs, bound.types, name)
        return pack_outputs(opdef, node.types, node, node.outputs)

    def add_node(
        self, opdef: OpDef, inputs: Sequence[Tensor], attrs: Attrs, types: dict[str, Any], name: str | None = None
    ) -> EditNode:
        """Adds a node. Raises the errors of the op's shape function."""
        specs = infer_specs(opdef, inputs, attrs, types)
        model = self._behalf
        i, self.next_id = self.next_id, self.next_id + 1
        prefix = f"{model.name}/" if model is not None else ""
        node = Node(
            i,
            f"{prefix}{name or opdef.name}#{i}",
            opdef,
            tuple(Edge(t.op.id, t.index) for t in inputs),
            (),
            attrs,
            types,
            tuple(specs),
            model.device if model else "",
            model.origin if model else None,
            model.colocation if model else (),
        )
        self.nodes[i] = EditNode(self, node)
        return self.nodes[i]

    def to_tensor(
        self, value: object, dtype: DType | None = None, ref: bool = False, name: str | None = None
    ) -> Tensor:
        """Returns a tensor of this edit, or a new Const of a Python or NumPy value, whose name ends in `name`.

        Raises `InternalError` for a tensor of another graph.
        """
        if isinstance(value, Tensor):
            if value.graph is not self:
                raise InternalError(f"{value.name} belongs to another graph")
            return value
        return self.constant(to_numpy(value, dtype), dtype, name)

    def constant(self, array: np.ndarray, dtype: DType | None = None, name: str | None = None) -> Tensor:
        """Adds a Const node; `dtype` is given if it is not the array's own, as for quantised numbers."""
        array = np.asarray(array)
        types = {"dtype": as_dtype(array.dtype) if dtype is None else dtype}
        return self.add_node(CONST, (), CONST.attrs(value=array), types, name).outputs[0]

    def redirect(self, old: Edge, new: Edge) -> None:
        """Makes all readers of `old` read `new`."""
        self.redirect_all({old: new})

    def redirect_all(self, table: dict[Edge, Edge]) -> None:
        """Redirects many edges at once. If a new edge is itself redirected, readers get the last one."""

        def final(e: Edge) -> Edge:
            while e in table:
                e = table[e]
            return e

        for node in self.nodes.values():
            if any(e in table for e in node.refs):
                node.refs = tuple(final(e) for e in node.refs)
        self.fetches = [final(e) for e in self.fetches]

    def remove(self, ids: Iterable[int]) -> None:
        """Removes nodes. Nodes that waited for them wait for the inputs and control inputs of the removed ones."""
        removed = set(ids)
        for node in list(self.nodes.values()):
            if node.id not in removed and any(c in removed for c in node.control):
                node.control = tuple(dict.fromkeys(self._through(node.control, removed)))
        self.targets = list(dict.fromkeys(self._through(tuple(self.targets), removed)))
        for i in removed:
            del self.nodes[i]

    def _through(self, control: tuple[int, ...], gone: set[int]) -> list[int]:
        kept_ids: list[int] = []
        stack = list(reversed(control))
        seen: set[int] = set()
        while stack:
            c = stack.pop()
            if c in seen:
                continue
            seen.add(c)
            if c not in gone:
                kept_ids.append(c)
            else:
                node = self.nodes[c]
                stack.extend(reversed([*(e.id for e in node.refs), *node.control]))
        return kept_ids

    def freeze(self) -> Graph:
        """Returns the edited graph, without the nodes that no fetch or target needs."""
        needed: set[int] = set()
        stack = [e.id for e in self.fetches] + list(self.targets) + [e.id for e in self.feeds]
        while stack:
            i = stack.pop()
            if i in needed:
                continue
            needed.add(i)
            node = self.nodes[i]
            stack.extend(node.control)
            stack.extend(e.id for e in node.refs)
        nodes = {i: self.nodes[i].freeze() for i in sorted(needed)}
        return Graph(nodes, tuple(self.fetches), tuple(self.targets), tuple(self.feeds), self.base.info)
