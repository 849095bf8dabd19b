"""Resource variables of later TensorFlow 1.x graphs, read as reference variables.

A `VarHandleOp` names its variable as `VariableV2` does, and for each op on a handle there is an op on a reference. A
handle passes through functions, loops and branches. Here the op reads the variable itself, and waits for the nodes
through which the handle has passed. Invariant: a rewritten node keeps its name and control inputs, so the nodes around
it need no change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tfnb.ir.graphdef.message_types import NodeDef, Repeated
from tfnb.ir.protos import proto
from tfnb.types import bool_, resource

__all__ = ["LOOPS", "Handle", "Handles", "as_reference"]

LOOPS = ("While", "StatelessWhile")
_DTYPE_AS_T = {"dtype": "T"}
_SAME: dict[str, str] = {}
# op on a handle -> (op on a reference, the names of the attributes that it takes -> their names there)
_OPS: dict[str, tuple[str, dict[str, str]]] = {
    "VarHandleOp": ("VariableV2", {k: k for k in ("dtype", "shape", "container", "shared_name")}),
    "ReadVariableOp": ("Identity", _DTYPE_AS_T),
    "AssignVariableOp": ("Assign", _DTYPE_AS_T),
    "AssignAddVariableOp": ("AssignAdd", _DTYPE_AS_T),
    "AssignSubVariableOp": ("AssignSub", _DTYPE_AS_T),
    "VarIsInitializedOp": ("IsVariableInitialized", _SAME),
    "VariableShape": ("Shape", {"out_type": "out_type"}),
    "ResourceGather": ("Gather", {"dtype": "Tparams", "Tindices": "Tindices"}),
    "ResourceGatherNd": ("GatherNd", {"dtype": "Tparams", "Tindices": "Tindices"}),
    "ResourceCountUpTo": ("CountUpTo", {"T": "T", "limit": "limit"}),
    "ResourceStridedSliceAssign": (
        "StridedSliceAssign",
        {k: k for k in ("T", "Index", "begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")},
    ),
}
_HINT = "DisableCopyOnRead"  # of TensorFlow 2: how a variable is saved, which changes no value
_PASSED_BY = ("Identity", "Enter", "Switch")  # ops that pass a handle on if their T is `resource`


@dataclass(frozen=True)
class Handle:
    """The variable of a handle.

    `source` is the name of the tensor that is a reference to the variable, `dtype` the number of the variable's dtype,
    and `behind` are the names of the nodes that must run before the variable is used.
    """

    source: str
    dtype: int
    behind: tuple[str, ...]


def as_reference(node: NodeDef) -> NodeDef:
    """Converts a NodeDef of an op on resource variables to the op on references; returns any other one unchanged."""
    if node.op in _OPS:
        op, names = _OPS[node.op]
    elif node.op.startswith(("ResourceScatter", "ResourceApply", "ResourceSparseApply")):
        op = node.op.removeprefix("Resource")
        is_scatter = op.startswith("Scatter") and not op.startswith("ScatterNd")
        names = {k: "T" if is_scatter and k == "dtype" else k for k in node.attr}
    else:
        return node
    reference_node = _node(node.name, op, node.input, node.device)
    for old, new in names.items():
        if old in node.attr:
            reference_node.attr[new].CopyFrom(node.attr[old])
    if "_class" in node.attr:
        reference_node.attr["_class"].CopyFrom(node.attr["_class"])
    return reference_node


class Handles:
    """The handles of variables in the nodes of a graph, or of a function's body.

    `args` has those arguments of a body that are handles: name -> number of the variable's dtype. Tensors have names of
    the form "node:output:number" in a body, and "node:number" in a graph.
    """

    def __init__(self, nodes: Repeated[NodeDef], args: Mapping[str, int] | None = None) -> None:
        self.nodes = {n.name: n for n in nodes}
        self.args = args or {}
        self._in_body = args is not None
        self._none = not self.args and not any(n.op == "VarHandleOp" for n in nodes)
        self._branches: dict[tuple[str, int], None] = {}

    def resolve(self, text: str) -> Handle | None:
        """Returns the variable whose handle a tensor is; None if the tensor is not a handle."""
        if self._none:
            return None
        nodes: dict[str, None] = {}
        branches: dict[tuple[str, int], None] = {}
        for _ in range(len(self.nodes) + 1):
            name, port = _place(text)
            if name in self.args and name not in self.nodes:
                self._branches.update(branches)
                return Handle(name, self.args[name], tuple(nodes))
            node = self.nodes.get(name)
            if node is None:
                return None
            if node.op == "VarHandleOp":
                source = f"{name}:ref:0" if self._in_body else name
                self._branches.update(branches)
                return Handle(source, node.attr["dtype"].type, tuple(nodes))
            if node.op in LOOPS:
                types = node.attr["T"].list.type
                if port >= len(types) or port >= len(node.input) or types[port] != resource.enum:
                    return None
                nodes[name] = None
                text = node.input[port]
                continue
            if node.op not in _PASSED_BY or node.attr["T"].type != resource.enum or not node.input:
                return None
            if node.op == "Enter":
                nodes[name] = None
            elif node.op == "Switch":
                nodes[f"{name}/taken_{port}"] = None
                branches[name, port] = None
            nodes.update({c[1:]: None for c in node.input if c.startswith("^")})
            text = node.input[0]
        return None

    def inputs(self, node: NodeDef) -> list[str]:
        """Returns the inputs of a node, in which variables replace their handles."""
        data: list[str] = []
        control = {t: None for t in node.input if t.startswith("^")}
        for text in node.input:
            if not text.startswith("^"):
                handle = self.resolve(text)
                data.append(text if handle is None else handle.source)
                if handle is not None:
                    control.update({f"^{name}": None for name in handle.behind})
        return [*data, *control]

    def plain(self, node: NodeDef) -> list[NodeDef]:
        """Returns the nodes that replace one node."""
        if node.op == _HINT:
            return [_node(node.name, "NoOp", [t for t in node.input if t.startswith("^")], node.device)]
        if self._none:
            return [as_reference(node)]
        if node.op in _PASSED_BY and node.attr["T"].type == resource.enum and self.resolve(node.name) is not None:
            return self._passing(node)
        reference_node = as_reference(node)
        inputs = self.inputs(node)
        if list(reference_node.input) != inputs:
            copy: NodeDef = proto("node_def").NodeDef()
            copy.CopyFrom(reference_node)
            copy.input[:] = inputs
            reference_node = copy
        return [reference_node]

    def _passing(self, node: NodeDef) -> list[NodeDef]:
        """Returns the nodes that replace a node that only passes a handle on.

        A bool is passed on in place of the handle, so that nodes can wait for it.
        """
        first = _node(f"{node.name}/known", "IsVariableInitialized", self.inputs(node)[:1], node.device)
        control = self.inputs(node)
        data = sum(not t.startswith("^") for t in node.input)
        first.input.extend(control[data:])
        passing: NodeDef = proto("node_def").NodeDef()
        passing.CopyFrom(node)
        passing.attr["T"].type = bool_.enum
        passing.input[:] = [self._text(first.name, "is_initialized", 0), *control[1:]]
        return [first, passing]

    def branches(self) -> list[NodeDef]:
        """Returns nodes that run on the branches into which handles are passed, one for each such branch.

        This is called after all nodes have been rewritten.
        """
        nodes = []
        for name, port in self._branches:
            text = self._text(name, "output_true" if port else "output_false", 0 if self._in_body else port)
            node = _node(f"{name}/taken_{port}", "Identity", [text])
            node.attr["T"].type = bool_.enum
            nodes.append(node)
        return nodes

    def _text(self, name: str, output: str, number: int) -> str:
        return f"{name}:{output}:{number}" if self._in_body else f"{name}:{number}"


def _place(text: str) -> tuple[str, int]:
    """Returns the name of the node and the number of the output for "x", "x:1", and "x:output:1" of a body."""
    name, _, rest = text.partition(":")
    output, colon, number = rest.rpartition(":")
    if not number.isdigit() or len(number) > 9:
        return name, 0
    return name, int(number) + (output == "output_true" if colon else 0)


def _node(name: str, op: str, inputs: Sequence[str], device: str = "") -> NodeDef:
    node: NodeDef = proto("node_def").NodeDef(name=name, op=op, device=device)
    node.input.extend(inputs)
    return node
