"""Clusters that do nothing but give variables their first values, by library kernels (white paper, section 2).

Each initialiser runs once, so a kernel that is generated for it would be compiled for a single launch. Invariant: the
numbers are the same to the bit as those of the generated code; whether a cluster is run this way depends on its nodes
alone.
"""

from __future__ import annotations

from collections.abc import Mapping
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
    inputs = [nodes.get(i.id) for i in node.inputs]
    if node.opdef.kind is Kind.CONST:
        return _Value(_assign(node), "assign_copy", node.attrs.value, (), (node.id,))
    if node.type == "Fill" and all(n is not None and n.opdef.kind is Kind.CONST for n in inputs):
        shape, filler = nodes[node.inputs[0].id], nodes[node.inputs[1].id]
        return _Value(_assign(node), "assign_fill", filler.attrs.value, (), (node.id, shape.id, filler.id))
    return _random(node, nodes)


def _assign(node: Node) -> Module:
    return Module(file="state/assign.cl", defines=(("T", _TYPES[node.specs[0].dtype.size]),))


def _random(node: Node, nodes: Mapping[int, Node]) -> _Value | None:
    """Returns the kernel for random numbers, which may be multiplied by a constant, to which another one may be added.

    The compiler makes one operation of such a product and sum, in generated code as in the library. Without a product
    it does so with the last product of the distribution, so that case is left to generated code, except for uniform
    numbers, whose last product is exact.
    """
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
            if kind == "Add" and node.type not in ("Mul", "RandomUniform"):
                return None
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
