"""The rules of a well-formed step-side graph, each a small named check.

Tests, and sessions under `TFNB_VERIFY=1`, run the checks after every stage of compiling a step. Invariant: a graph that
passes can be placed, clustered and executed; no later stage has to check its structure.
"""

from __future__ import annotations

from collections.abc import Callable

from tfnb.errors import GraphError
from tfnb.ir.opdef import Kind
from tfnb.ir.step_graph.graph import Edge, Graph, Node

__all__ = ["verify"]


def check_edges_exist(graph: Graph) -> None:
    """Checks that every edge starts at an output that exists."""
    for node in graph.nodes.values():
        for e in node.inputs:
            if e.id not in graph.nodes or e.port >= len(graph.nodes[e.id].specs):
                raise GraphError(f"input {e} does not exist", node)
        for c in node.control:
            if c not in graph.nodes:
                raise GraphError(f"control input {c} does not exist", node)
    for e in (*graph.fetches, *graph.feeds):
        if e.id not in graph.nodes:
            raise GraphError(f"fetch or feed {e} does not exist")


def check_arity(graph: Graph) -> None:
    """Checks that every node has as many inputs as its signature says."""
    for node in graph.nodes.values():
        arity = _arity(node)
        if len(node.inputs) != arity:
            raise GraphError(f"{node.type} takes {arity} inputs, has {len(node.inputs)}", node)


def _arity(node: Node) -> int:
    count = 0
    for a in node.opdef.input_args:
        if a.type_list:
            count += len(node.types[a.type])
        else:
            count += node.types[a.number] if a.number else 1
    return count


def check_types(graph: Graph) -> None:
    """Checks the dtypes of inputs, and that inputs that must be references are references."""
    for node in graph.nodes.values():
        if any(a.number or a.type_list for a in node.opdef.input_args):
            continue
        for a, e in zip(node.opdef.input_args, node.inputs, strict=True):
            spec = graph.spec(e)
            expected = node.types.get(a.type)
            if expected is not None and spec.dtype is not expected:
                raise GraphError(f"input {a.name} is {spec.dtype.name}, needed {expected.name}", node)
            if a.ref and not spec.ref:
                raise GraphError(f"input {a.name} is not a reference", node)


def check_acyclic(graph: Graph) -> None:
    """Checks that each cycle goes through an edge from a NextIteration to a Merge."""
    _ = graph.order
    for node in graph.nodes.values():
        if node.opdef.kind is Kind.NEXT_ITERATION:
            for other in graph.consumers.get(Edge(node.id, 0), ()):
                if graph.nodes[other].opdef.kind is not Kind.MERGE:
                    raise GraphError("NextIteration may only feed a Merge", node)


CHECKS: tuple[Callable[[Graph], None], ...] = (check_edges_exist, check_arity, check_types, check_acyclic)


def verify(graph: Graph) -> None:
    """Runs all checks. Raises `GraphError` with the node that is wrong."""
    for check in CHECKS:
        check(graph)
