"""tf.recompute: the backward pass computes again instead of saving (Chen et al. 2016; white paper, section 9.2).

Operations created inside the scope are one unit for gradients: the backward pass copies them, with the inputs of the
scope, after the gradients of its outputs are known, and computes the gradients through the copies. So no tensor inside
has to live from the forward to the backward pass. Invariant: random and other stateful operations are not repeated;
their values are saved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tfnb.client.control_flow.control_context import Context, context_of
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
    """The operations of one scope, in the order in which they were created.

    What takes a tensor from outside into the loop or branch that the scope is in, as an Enter, is not one of them.
    """

    def __init__(self, graph: GraphBuilder) -> None:
        self.graph = graph
        self.context: Any = graph.scopes.control_flow
        self._around = _around(self.context)
        self.name = f"{graph.scopes.name}/recompute" if graph.scopes.name else "recompute"
        self.ops: list[Operation] = []

    def add(self, op: Operation) -> None:
        """Adds a new operation to the scope."""
        if context_of(op) in self._around:
            return
        op.extra[RECOMPUTE] = self
        self.ops.append(op)

    @property
    def is_plain(self) -> bool:
        """Returns whether the scope holds no branch or loop; else gradients pass through its operations one by one."""
        return all(context_of(op) is self.context for op in self.ops)

    def comes_in(self, between: set[Operation]) -> list[Tensor]:
        """Returns the tensors from outside that operations on the way read."""
        scope_ops = set(self.ops)
        inputs = [t for op in self.ops if op in between for t in op.inputs if t.op not in scope_ops]
        return list(dict.fromkeys(inputs))

    def again(self, dys: dict[Tensor, Any], between: set[Operation]) -> dict[Tensor, Tensor]:
        """Copies the operations on the way; returns a dict from each tensor to the tensor that represents it."""
        grad_tensors = [g.values if isinstance(g, IndexedSlices) else g for g in dys.values()]
        copies: dict[Tensor, Tensor] = {}
        with self.graph.control_dependencies(grad_tensors):
            for t in self.comes_in(between):
                copies[t] = t if t.spec.ref else IDENTITY(t)
        for op in self.ops:
            is_repeated = foldable(op.opdef) and bool(op.inputs) and not any(t.spec.ref for t in op.inputs)
            if not is_repeated:
                copies.update({t: copies.get(t, t) for t in op.outputs})
                continue
            inputs = [copies.get(t, t) for t in op.inputs]
            copy = self.graph.add_node(op.opdef, inputs, op.attrs, op.types, op.name.rpartition("/")[2])
            copy.gradient_type = op.gradient_type
            copies.update(zip(op.outputs, copy.outputs, strict=True))
        return copies


def _around(context: Context | None) -> list[Any]:
    """Returns the contexts around one, outermost last, which is None."""
    contexts = []
    while context is not None:
        context = context.outer
        contexts.append(context)
    return contexts


@contextmanager
def recompute(graph: GraphBuilder | None = None) -> Iterator[None]:
    """Within the block, new operations are computed again in the backward pass, which saves none of their results.

    Scopes that hold loops or conditionals, or that are inside another such scope, have no effect.
    """
    graph = get_default_graph() if graph is None else graph
    scopes = graph.scopes
    previous = scopes.recompute
    scopes.recompute = previous or RecomputeScope(graph)
    try:
        yield
    finally:
        scopes.recompute = previous


def recompute_grad(
    f: Callable[..., Any], use_data_dep: bool | None = None, tupleize_grads: bool = False
) -> Callable[..., Any]:
    """Returns `f` with each call in a `tf.recompute` scope of its own.

    `use_data_dep` and `tupleize_grads`, hints for the order of execution, have no effect.
    """

    def call(*args: object, **kwargs: object) -> Any:
        with recompute():
            return f(*args, **kwargs)

    return call


API: dict[str, Any] = {
    "recompute": recompute,
    "recompute_grad": recompute_grad,
    "contrib.layers.recompute_grad": recompute_grad,
}
