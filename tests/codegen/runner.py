"""Programs of code generation, run on a device and beside it by host kernels in the graph's order."""

from __future__ import annotations

import dataclasses

import numpy as np

from tfnb.codegen.compile import compile_cluster
from tfnb.codegen.program import DeviceFacts
from tfnb.devices.buffers import Cell
from tfnb.ir.kernelcall import TensorInfo
from tfnb.ir.opdef import HostCall, Kind
from tfnb.ir.scalar.host import host_kernel
from tfnb.ir.step_graph.cluster import Cluster
from tfnb.ir.step_graph.graph import Edge, graph_from_operations
from tfnb.passes.expand import expand
from tfnb.settings import load_settings
from tfnb.types import as_dtype

KEYS = np.array([7, 11, 3, 0], np.uint32)


def settings(**changes):
    return dataclasses.replace(load_settings(), quiet=True, **changes)


def make_device(kind="cpu"):
    from tfnb.devices.opencl.device import make_devices

    return next(d for d in make_devices(settings()) if d.facts.kind == kind)


def needed(fetches, targets, feeds):
    """The operations a step runs, in the order they were made."""
    fed = {(t.op, t.index) for t in feeds}
    found, stack = set(), [t.op for t in fetches] + list(targets)
    while stack:
        op = stack.pop()
        if op not in found:
            found.add(op)
            stack.extend(t.op for t in op.inputs if (t.op, t.index) not in fed)
            stack.extend(op.control_inputs)
    return sorted(found, key=lambda op: op.id)


def cluster_of(graph, feeds, fetches, targets=()):
    """One cluster of all that a step runs."""
    ops = needed(fetches, targets, feeds)
    ops = sorted({*ops, *(t.op for t in feeds)}, key=lambda op: op.id)
    whole = graph_from_operations(ops, fetches, ops, feeds)
    expanded = expand(whole)
    renamed = dict(zip((Edge(t.op.id, t.index) for t in fetches), expanded.fetches, strict=True))
    nodes = [expanded.nodes[i] for i in expanded.order]
    fed = tuple(Edge(t.op.id, t.index) for t in feeds)
    inside = tuple(n for n in nodes if n.opdef.kind is not Kind.PLACEHOLDER)
    known = set(fed)
    shape_values = tuple(
        dict.fromkeys(
            n.inputs[i] for n in inside for i in n.opdef.shape_inputs if i < len(n.inputs) and n.inputs[i] in known
        )
    )
    return Cluster(
        0,
        "test",
        inside,
        fed,
        shape_values,
        tuple(n.id for n in inside if n.opdef.kind is Kind.VARIABLE),
        tuple(n.id for n in inside if _is_random(n)),
        tuple(renamed[Edge(t.op.id, t.index)] for t in fetches),
    )


def _is_random(node):
    return (
        node.opdef.stateful
        and node.opdef.kind is Kind.COMPUTE
        and not node.opdef.writes
        and hasattr(node.attrs, "seed")
    )


def compile_graph(graph, feeds, fetches, variables=None, facts=None, targets=(), **changes):
    """The program for feeds (tensor -> array) and variables (operation -> array or None)."""
    cluster = cluster_of(graph, feeds, fetches, targets)
    arrays = [np.asarray(v, t.dtype.np) for t, v in feeds.items()]
    infos = [TensorInfo(as_dtype(a.dtype), a.shape) for a in arrays]
    by_edge = dict(zip(cluster.inputs, arrays, strict=True))
    values = {e: by_edge[e] for e in cluster.shape_values}
    states = {
        op.id: None if a is None else TensorInfo(as_dtype(a.dtype), a.shape) for op, a in (variables or {}).items()
    }
    return compile_cluster(cluster, infos, values, states, facts or DeviceFacts(), settings(**changes)).program(())


def run_graph(device, graph, feeds, fetches, variables=None, targets=(), facts=None, **changes):
    """(fetched arrays, {operation: array} of the variables afterwards) from the device."""
    program = compile_graph(graph, feeds, fetches, variables, facts or device.facts, targets, **changes)
    by_id = {op.id: op for op in graph.get_operations()}
    cells = []
    for use in program.variables:
        state = (variables or {})[by_id[use.node]]
        tensor = None if state is None else device.from_numpy(state.copy())
        cells.append(Cell(by_id[use.node].name, tensor))
    rng = np.tile(KEYS, (len(program.random), 1)) if program.random else None
    arrays = [np.asarray(v, t.dtype.np) for t, v in feeds.items()]
    outputs = device.load(program).run(arrays, cells, rng)
    found = [np.array(o.numpy()) for o in outputs]
    after = {
        by_id[u.node]: np.array(c.tensor.numpy())
        for u, c in zip(program.variables, cells, strict=True)
        if c.tensor is not None
    }
    return found, after


def reference(graph, feeds, fetches, variables=None, targets=()):
    """The same from host kernels, one operation after the other in the order they were made.

    A variable is copied when something reads it, so a later write does not show.
    """
    known = {(t.op, t.index): np.asarray(v, t.dtype.np) for t, v in feeds.items()}
    state = dict(variables or {})
    for op in needed(fetches, targets, feeds):
        if op.opdef.kind is Kind.PLACEHOLDER or not op.outputs and not op.opdef.writes:
            continue
        if op.opdef.kind is Kind.VARIABLE:
            continue
        ins = [_read(t, known, state) for t in op.inputs]
        result = host_kernel(op.opdef)(HostCall(op.attrs, op.types, op.specs, op, rng=lambda: KEYS), *ins)
        values = result if isinstance(result, (tuple, list)) else (result,)
        if op.opdef.writes:
            for i, v in zip(op.opdef.writes, values, strict=True):
                state[_variable(op.inputs[i])] = np.asarray(v)
            continue
        for i, v in enumerate(values):
            known.setdefault((op, i), np.array(v))
    return [_read(t, known, state) for t in fetches], state


def _variable(t):
    op = t.op
    while op.opdef.kind is not Kind.VARIABLE:
        op = op.inputs[op.opdef.writes[0] if op.opdef.writes else 0].op
    return op


def _read(t, known, state):
    if (t.op, t.index) in known:
        return known[t.op, t.index]
    return state[_variable(t)]
