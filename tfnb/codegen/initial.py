"""Clusters that do nothing but give variables their first values, by library kernels (white paper, section 2).

Each initialiser runs once, so a kernel that is generated for it would be compiled for a single launch. Invariant: the
numbers are the same to the bit as those of the generated code; whether a cluster is run this way depends on its nodes
alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from tfnb.codegen.program import DeviceFacts, Launch, Module, Program, Slot, VariableUse
from tfnb.ir.kernelcall import F32, I32, TensorInfo
from tfnb.ir.opdef import Kind
from tfnb.ir.step_graph.cluster import Cluster
from tfnb.ir.step_graph.graph import Edge, Node
from tfnb.types import float32

__all__ = ["initial_program"]

_UNIFORM = Module(file="random/uniform.cl")
_NORMAL = Module(file="random/normal.cl")
_RANDOM = {
    "RandomUniform": (_UNIFORM, "uniform_values"),
    "RandomStandardNormal": (_NORMAL, "normal_values"),
    "TruncatedNormal": (_NORMAL, "truncated_values"),
}
_ARITHMETIC: dict[str, Callable[[np.ndarray, np.ndarray], object]] = {
    "Add": np.add,
    "AddV2": np.add,
    "Mul": np.multiply,
}
_TYPES = {1: "uchar", 2: "ushort", 4: "uint", 8: "ulong"}  # by the size of an element
_PER_GROUP = 1 << 13  # elements
_MOST_ELEMENTS = 1 << 30
_NO_SHIFT = -0.0  # x + -0.0 is x, also where x is -0.0


class _Value(NamedTuple):
    """The kernel that computes a first value.

    `source` is a constant, or the id of a random node. `numbers` are the last arguments of the kernel, and `nodes` the
    ids of the nodes whose work it does.
    """

    module: Module
    entry: str
    source: np.ndarray | int
    numbers: tuple[F32, ...]
    nodes: tuple[int, ...]


def initial_program(cluster: Cluster, facts: DeviceFacts) -> Program | None:
    """Returns the program of a cluster in which all nodes serve to assign constants and random numbers to variables.

    Returns None for any other cluster, and for devices that are no CPUs.
    """
    if facts.kind != "cpu" or cluster.inputs or cluster.outputs:
        return None
    nodes = cluster.by_id()
    assigned: dict[int, tuple[TensorInfo, _Value]] = {}
    used = set(cluster.variables)
    for node in cluster.nodes:
        if node.type != "Assign":
            continue
        variable, e = nodes[node.inputs[0].id], node.inputs[1]
        value = _value(e, nodes)
        if value is None or variable.id in assigned or variable.id not in cluster.variables:
            return None
        spec = nodes[e.id].specs[e.port]
        if not spec.shape.is_fully_defined() or spec.shape != variable.specs[0].shape:
            return None
        assigned[variable.id] = (
            TensorInfo(spec.dtype, spec.shape.known()),
            value._replace(nodes=(*value.nodes, node.id)),
        )
        used.update((node.id, *value.nodes))
    if assigned.keys() != set(cluster.variables) or used != nodes.keys():
        return None
    if any(info.size > _MOST_ELEMENTS for info, _ in assigned.values()):
        return None
    return _program(cluster, assigned, facts)


def _value(e: Edge, nodes: Mapping[int, Node]) -> _Value | None:
    """Returns the kernel for the value of an edge, or None if there is no library kernel for it."""
    node = nodes[e.id]
    if node.opdef.kind is Kind.CONST:
        return _Value(_assign(node), "assign_copy", node.attrs.value, (), (node.id,))
    filler = _filler(node, nodes)
    if filler is not None:
        return _Value(_assign(node), "assign_fill", filler[0], (), filler[1])
    return _random(node, nodes)


def _filler(node: Node, nodes: Mapping[int, Node]) -> tuple[np.ndarray, tuple[int, ...]] | None:
    """Returns the element of a tensor whose elements are all equal, and the nodes that compute it; None for others.

    The tensor is a constant of one element, a Fill, or a sum or product of two such tensors.
    """
    if node.opdef.kind is Kind.CONST:
        return (node.attrs.value, (node.id,)) if node.attrs.value.size == 1 else None
    inputs = [nodes[i.id] for i in node.inputs if i.id in nodes]
    if len(inputs) != 2 or len(node.inputs) != 2:
        return None
    if node.type == "Fill":
        if any(n.opdef.kind is not Kind.CONST for n in inputs):
            return None
        return inputs[1].attrs.value, (node.id, *(n.id for n in inputs))
    compute = _ARITHMETIC.get(node.type)
    left, right = (_filler(n, nodes) for n in inputs)
    if compute is None or left is None or right is None or node.specs[0].dtype is not float32:
        return None
    numbers = left[0].reshape(()), right[0].reshape(())
    with np.errstate(all="ignore"):
        value = np.asarray(compute(*numbers))
    if any(0 < abs(float(n)) < np.finfo(np.float32).tiny or not np.isfinite(n) for n in (*numbers, value)):
        return None  # devices differ in what they make of subnormal numbers
    return value, (node.id, *left[1], *right[1])


def _assign(node: Node) -> Module:
    return Module(file="state/assign.cl", defines=(("T", _TYPES[node.specs[0].dtype.size]),))


def _random(node: Node, nodes: Mapping[int, Node]) -> _Value | None:
    """Returns the kernel for random numbers, which may be multiplied by a constant, and another one added to that."""
    ids: list[int] = []
    numbers = {"Add": _NO_SHIFT, "Mul": 1.0}
    for kind in ("Add", "Mul"):
        if node.type in (kind, f"{kind}V2"):
            constants = [nodes[i.id] for i in node.inputs if i.id in nodes and nodes[i.id].opdef.kind is Kind.CONST]
            others = [nodes[i.id] for i in node.inputs if i.id in nodes and nodes[i.id].opdef.kind is not Kind.CONST]
            if len(constants) != 1 or len(others) != 1 or constants[0].attrs.value.size != 1:
                return None
            numbers[kind] = float(constants[0].attrs.value.reshape(()))
            ids += [node.id, constants[0].id]
            if others[0].specs[0].shape != node.specs[0].shape:
                return None
            node = others[0]
    kernel = _RANDOM.get(node.type)
    if kernel is None or node.specs[0].dtype is not float32:
        return None
    shape = nodes.get(node.inputs[0].id)
    if shape is None or shape.opdef.kind is not Kind.CONST:
        return None
    return _Value(*kernel, node.id, (F32(numbers["Mul"]), F32(numbers["Add"])), (node.id, shape.id, *ids))


def _program(cluster: Cluster, assigned: Mapping[int, tuple[TensorInfo, _Value]], facts: DeviceFacts) -> Program:
    modules: dict[Module, int] = {}
    constants: list[np.ndarray] = []
    steps: list[Launch] = []
    uses = []
    for k, (variable, (info, value)) in enumerate((v, assigned[v]) for v in cluster.variables):
        uses.append(VariableUse(variable, info, False, True))
        if not info.size:
            continue
        if isinstance(value.source, int):
            source = Slot("rng", cluster.random.index(value.source), 0, 16)
        else:
            constants.append(np.ascontiguousarray(value.source))
            source = Slot("const", len(constants) - 1, 0, value.source.nbytes)
        groups = min(8 * facts.units, -(-info.size // _PER_GROUP))
        args: tuple[Slot | I32 | F32, ...] = (
            source,
            Slot("variable", k, 0, info.nbytes),
            I32(info.size),
            *value.numbers,
        )
        module = modules.setdefault(value.module, len(modules))
        steps.append(Launch(module, value.entry, args, (groups, 1, 1), (1, 1, 1), value.nodes, value.entry))
    return Program(cluster.name, tuple(modules), tuple(steps), (), (), tuple(uses), tuple(constants), cluster.random, 0)
