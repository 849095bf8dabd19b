"""tf.recompute: compute again in the backward pass instead of keeping (Chen et al. 2016; white paper, section 9.2).

Operations made inside the scope are one unit for gradients: the backward pass copies them, fed by what came into the
scope and after the gradients that came back, and goes back through the copies. So nothing made inside has to live
from the forward to the backward pass. Invariant: random and other stateful operations are not repeated; their values
are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tfnb.client.control_flow.control_context import context_of
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.const import foldable
from tfnb.ir.default import get_default_graph
from tfnb.ir.indexed import IndexedSlices
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.shape_ops import IDENTITY

__all__ = ["API", "RECOMPUTE", "RecomputeScope", "recompute", "recompute_grad"]

RECOMPUTE = "recompute"  # key in Operation.extra


class RecomputeScope:
    """The operations of one scope, in the order in which they were made."""

    def __init__(self, graph: Any) -> None:
        self.graph = graph
        self.name = f"{graph.scopes.name}/recompute" if graph.scopes.name else "recompute"
        self.ops: list[Operation] = []

    def add(self, op: Operation) -> None:
        op.extra[RECOMPUTE] = self
        self.ops.append(op)

    @property
    def is_plain(self) -> bool:
        """Are all operations of one branch or loop? Else gradients go through them one by one."""
        return len({context_of(op) for op in self.ops}) == 1

    def comes_in(self, between: set[Operation]) -> list[Tensor]:
        """The tensors from outside that operations on the way read."""
        own = set(self.ops)
        found = [t for op in self.ops if op in between for t in op.inputs if t.op not in own]
        return list(dict.fromkeys(found))

    def again(self, dys: dict[Tensor, Any], between: set[Operation]) -> dict[Tensor, Tensor]:
        """Copies of the operations on the way: tensor -> its copy, or what stands for it."""
        after = [g.values if isinstance(g, IndexedSlices) else g for g in dys.values()]
        copies: dict[Tensor, Tensor] = {}
        with self.graph.control_dependencies(after):
            for t in self.comes_in(between):
                copies[t] = t if t.spec.ref else IDENTITY(t)
        for op in self.ops:
            repeated = foldable(op.opdef) and bool(op.inputs) and not any(t.spec.ref for t in op.inputs)
            if not repeated:
                copies.update({t: copies.get(t, t) for t in op.outputs})
                continue
            inputs = [copies.get(t, t) for t in op.inputs]
            made = self.graph.create_op(op.opdef, inputs, op.attrs, op.types, op.name.rpartition("/")[2])
            made.gradient_type = op.gradient_type
            copies.update(zip(op.outputs, made.outputs, strict=True))
        return copies


@contextmanager
def recompute(graph: GraphBuilder | None = None) -> Iterator[None]:
    """Operations made inside are computed again in the backward pass; their results are not kept for it.

    Scopes that hold loops or conditionals, or that lie in another, change nothing.
    """
    graph = get_default_graph() if graph is None else graph
    scopes = graph.scopes
    before = scopes.recompute
    scopes.recompute = before or RecomputeScope(graph)
    try:
        yield
    finally:
        scopes.recompute = before


def recompute_grad(
    fn: Callable[..., Any], use_data_dep: Any = None, tupleize_grads: bool = False
) -> Callable[..., Any]:
    """`fn` in a `tf.recompute` scope of its own per call.

    `use_data_dep` and `tupleize_grads` are hints for the order of execution, and have no effect.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        with recompute():
            return fn(*args, **kwargs)

    return call


API: dict[str, Any] = {
    "recompute": recompute,
    "recompute_grad": recompute_grad,
    "contrib.layers.recompute_grad": recompute_grad,
}
