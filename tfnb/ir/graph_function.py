"""A part of a graph as a function, the value of an attribute: what `tf.data` applies to each element.

A session compiles it once (`runtime/resources.py`). Files name a function of their library instead, whose body is such
a graph. Invariant: it changes nothing of the graph that it is a part of.
"""

from __future__ import annotations

from dataclasses import dataclass

from tfnb.ir.opdef import Kind
from tfnb.ir.tensor import Tensor

__all__ = ["GraphFunction"]


@dataclass(frozen=True, eq=False)
class GraphFunction:
    """A graph as a function from the placeholders `inputs` (arguments, then captured values) to `outputs`."""

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]

    @property
    def waits(self) -> bool:
        """Whether it has a node that may wait, as one that takes an element of a queue."""
        return any(op.opdef.kind is Kind.ASYNC for t in self.outputs[:1] for op in t.graph.get_operations())
