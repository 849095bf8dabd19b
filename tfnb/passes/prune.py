"""Prune: the part of the user's graph that a step needs (white paper, section 4.2, partial execution).

Invariant: the result holds exactly the nodes from which a fetch or target can be reached without passing through
a fed edge; every fed edge is replaced by a Feed node, in the order of the request.
"""

from __future__ import annotations

from dataclasses import dataclass

from tfnb.errors import InvalidArgumentError
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, Kind, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.operation_keys import CONTEXT, loops_around
from tfnb.ir.step_graph.graph import Edge, Graph, Node, node_of
from tfnb.ir.tensor import Tensor
from tfnb.ops.control_flow.switch_merge import ENTER
from tfnb.types import ALL, OLD_NAMES, TensorSpec, bracketed

__all__ = ["FEED", "Request", "prune"]

FEED: OpDef[Tensor] = OpDef(
    "_Feed",
    outputs="value: dtype",
    types={"dtype": ALL},
    doc="A value given to the step from outside.",
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
    kind=Kind.PLACEHOLDER,
)


@dataclass(frozen=True, slots=True)
class Request:
    """A request for a step: the tensors to fetch, the operations to run, and the tensors that are fed."""

    fetches: tuple[Tensor, ...]
    targets: tuple[Operation, ...] = ()
    feeds: tuple[Tensor, ...] = ()


def prune(request: Request) -> Graph:
    """Returns the graph of a requested step. Raises `InvalidArgumentError` if a placeholder must be fed and is not."""
    first_new = _first_free_id(request)
    feeds = {Edge(t.op.id, t.index): first_new + i for i, t in enumerate(request.feeds)}
    nodes: dict[int, Node] = {}
    for t, (edge, i) in zip(request.feeds, feeds.items(), strict=True):
        spec = TensorSpec(t.dtype, t.shape)
        nodes[i] = Node(
            i,
            f"_feed/{t.op.name}_{edge.port}",
            FEED,
            (),
            (),
            FEED.attrs(),
            {"dtype": t.dtype},
            (spec,),
            "",
            t.op.origin,
        )
    stack = [t.op for t in request.fetches if Edge(t.op.id, t.index) not in feeds] + list(request.targets)
    seen: set[int] = set()
    while stack:
        op = stack.pop()
        if op.id in seen:
            continue
        seen.add(op.id)
        node = node_of(op)
        inputs = tuple(Edge(feeds[e], 0) if e in feeds else e for e in node.inputs)
        if any(t.op.opdef.kind is Kind.CONST and e in feeds for t, e in zip(op.inputs, node.inputs, strict=True)):
            inputs = _inside(op, inputs, nodes, first_new)
        if op.opdef.kind is Kind.PLACEHOLDER and not op.inputs:
            _refuse(op, feeds)
        nodes[op.id] = Node(
            node.id,
            node.name,
            node.opdef,
            inputs,
            node.control,
            node.attrs,
            node.types,
            node.specs,
            node.device,
            node.origin,
            node.colocation,
        )
        stack.extend(t.op for t, e in zip(op.inputs, node.inputs, strict=True) if e not in feeds)
        stack.extend(op.control_inputs)
    fetches = tuple(Edge(feeds[e], 0) if e in feeds else e for e in (Edge(t.op.id, t.index) for t in request.fetches))
    return Graph(nodes, fetches, tuple(op.id for op in request.targets), tuple(Edge(i, 0) for i in feeds.values()))


def _inside(op: Operation, inputs: tuple[Edge, ...], nodes: dict[int, Node], first_new: int) -> tuple[Edge, ...]:
    """Returns the inputs of an operation in the frames of its loops, where some are constants that are fed.

    A constant is in no frame and so needs no Enter in the user's graph, but a feed is outside of all loops.
    """
    entered = list(inputs)
    for k, t in enumerate(op.inputs):
        if t.op.opdef.kind is not Kind.CONST or inputs[k].id < first_new:
            continue
        for loop in loops_around(op.extra.get(CONTEXT)):
            i = first_new + len(nodes)
            attrs = ENTER.attrs(frame_name=loop.name, is_constant=True, parallel_iterations=loop.parallel_iterations)
            spec = TensorSpec(t.dtype, t.shape)
            name = f"_feed/{t.op.name}/Enter_{i}"
            nodes[i] = Node(i, name, ENTER, (entered[k],), (), attrs, {"T": t.dtype}, (spec,), "", t.op.origin)
            entered[k] = Edge(i, 0)
    return tuple(entered)


def _first_free_id(request: Request) -> int:
    elements: list[Tensor | Operation] = [*request.fetches, *request.targets, *request.feeds]
    return int(elements[0].graph.version) + 1_000_000 if elements else 0


def _refuse(op: Operation, feeds: dict[Edge, int]) -> None:
    """Raises `InvalidArgumentError` for a placeholder that is not fed.

    A fed placeholder that only control edges reach is allowed.
    """
    if Edge(op.id, 0) in feeds:
        return
    spec = op.specs[0]
    raise InvalidArgumentError(
        f"You must feed a value for placeholder tensor {op.name!r} with dtype "
        f"{OLD_NAMES.get(spec.dtype, spec.dtype.name)}"
        f"{'' if spec.shape.sizes is None else f' and shape {bracketed(spec.shape.sizes)}'}: "
        f'session.run(..., feed_dict={{"{op.name}:0": value}})',
        op,
    )
