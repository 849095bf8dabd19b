"""Graphs made from cases: the op over placeholders of more or less known shapes, and a minimal reverse-mode
differentiation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from cases import Case

from tfnb.ir.builder import GraphBuilder
from tfnb.ir.indexed import IndexedSlices
from tfnb.ir.opdef import GRADIENT_MISSING, NOT_DIFFERENTIABLE, OpDef
from tfnb.ir.tensor import Tensor
from tfnb.ops import CATALOG
from tfnb.ops.array.placeholder import PLACEHOLDER
from tfnb.types import Shape, as_dtype

__all__ = ["CATALOG", "KNOWLEDGE", "Built", "backprop", "build", "build_in"]

# what the graph knows of its inputs' shapes: all, the ranks, nothing (nor of the values that fix shapes)
KNOWLEDGE = ("shapes", "ranks", "nothing")


@dataclass(frozen=True, eq=False)
class Built:
    """A case in a graph: its operation, the outputs, the input tensors (flat) and the arrays to feed them with."""

    op: Any
    outputs: list[Tensor]
    inputs: list[Tensor]
    arrays: list[np.ndarray]

    def feeds(self) -> dict[Tensor, np.ndarray]:
        return dict(zip(self.inputs, self.arrays, strict=True))


def build(case: Case, knowledge: str = "shapes") -> Built:
    """The case in a graph of its own."""
    return build_in(GraphBuilder(), case, knowledge)


def build_in(graph: GraphBuilder, case: Case, knowledge: str = "shapes") -> Built:
    """The case in `graph`."""
    opdef = CATALOG[case.op]
    inputs: list[Tensor] = []
    arrays: list[np.ndarray] = []
    count = len(case.arrays())

    def tensor(value: Any) -> Tensor:
        array = np.asarray(value)
        i = len(inputs)
        fixes = i in opdef.shape_inputs or _fixes_shape(opdef, i, count)
        if (knowledge != "nothing" and fixes) or (opdef.name, i) == ("GatherV2", 2):
            t = graph.constant(array)
        else:
            shape = {
                "shapes": Shape(array.shape),
                "ranks": Shape((None,) * array.ndim),
                "nothing": Shape(None),
            }
            # NumPy has no quantised dtypes: cases say them in the array's metadata
            dtype = as_dtype((array.dtype.metadata or {}).get("quantized", array.dtype))
            t = PLACEHOLDER(dtype=dtype, shape=shape[knowledge], graph=graph)
        inputs.append(t)
        arrays.append(array)
        return t

    given = [[tensor(y) for y in x] if isinstance(x, list) else tensor(x) for x in case.inputs]
    made = opdef(*given, graph=graph, **case.attrs)
    # An op with several results gives a named tuple, in which a list of tensors is a list.
    results = made if isinstance(made, (list, tuple)) else [made]
    outputs = [t for result in results for t in (result if isinstance(result, list) else [result])]
    return Built(outputs[0].op, outputs, inputs, arrays)


def _fixes_shape(opdef: OpDef, i: int, count: int) -> bool:
    """Inputs whose value fixes the shape, though the op need not know it when a step is compiled."""
    return (opdef.name, i) in (("Slice", 1), ("ConcatV2", count - 1))


def backprop(ys: list[Tensor], dys: list[Any], xs: list[Tensor]) -> list[Any]:
    """The gradients of sum(ys * dys) by `xs`: a Tensor, IndexedSlices or None for each."""
    sums: dict[Tensor, list[Any]] = {}
    for y, dy in zip(ys, dys, strict=True):
        if dy is not None:
            sums.setdefault(y, []).append(dy)
    graph = ys[0].graph
    before = graph.get_operations()
    for op in reversed(before):
        grads = [_total(sums.get(t)) for t in op.outputs]
        if (
            all(g is None for g in grads)
            or op.opdef.grad is None
            or op.opdef.grad in (NOT_DIFFERENTIABLE, GRADIENT_MISSING)
            or not op.inputs
        ):
            continue
        found = op.opdef.grad(op, *(_dense(g) for g in grads))
        found = found if isinstance(found, (tuple, list)) else (found,)
        assert len(found) == len(op.inputs), f"{op.type}: {len(found)} gradients for {len(op.inputs)} inputs"
        for t, g in zip(op.inputs, found, strict=True):
            if g is not None:
                sums.setdefault(t, []).append(g)
    return [_total(sums.get(x)) for x in xs]


def _dense(g: Any) -> Any:
    return g.graph.to_tensor(g) if isinstance(g, IndexedSlices) else g


def _total(parts: list[Any] | None) -> Any:
    if not parts:
        return None
    total = parts[0]
    for p in parts[1:]:
        total = _dense(total) + _dense(p)
    return total
