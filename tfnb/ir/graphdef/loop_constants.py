"""Constants of loops in GraphDefs, in the form that TensorFlow requires (white paper, section 4.4).

In tfnb a constant has no frame, and can be read in any frame. In TensorFlow a node is in the frame of a loop only by
its inputs. So a constant inside a loop is written with a control edge from the loop's pivot, which is alive in each
iteration, and a loop that reads a constant from outside gets a copy of it. Invariant: in the GraphDef, both ends of an
edge from a constant are in the same frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from tfnb.ir.opdef import Kind, OpDef
from tfnb.ir.operation_keys import CONTEXT, PIVOT
from tfnb.ir.record import Attrs
from tfnb.ir.tensor import Tensor
from tfnb.types import TensorSpec

__all__ = ["Copy", "LoopConstants", "Written"]


class Written(Protocol):
    """An operation, as far as it is written to a GraphDef."""

    @property
    def name(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def device(self) -> str: ...
    @property
    def opdef(self) -> OpDef: ...
    @property
    def attrs(self) -> Attrs: ...
    @property
    def types(self) -> Mapping[str, Any]: ...
    @property
    def inputs(self) -> Sequence[Tensor]: ...
    @property
    def control_inputs(self) -> Sequence[Written]: ...
    @property
    def specs(self) -> Sequence[TensorSpec]: ...
    @property
    def colocation(self) -> Sequence[str]: ...
    @property
    def gradient_type(self) -> str | None: ...
    @property
    def extra(self) -> Mapping[str, Any]: ...


class Copy(NamedTuple):
    """A constant as a loop reads it: the name of its copy, the constant, and the pivot for which the copy waits."""

    name: str
    source: Written
    pivot: Written | None


class LoopConstants:
    """The constants that the operations of one graph read, while the graph is written."""

    def __init__(self, operations: Iterable[Written]) -> None:
        self._names = {op.name for op in operations}
        self._copies: dict[tuple[Written, Written], str] = {}

    @staticmethod
    def pivot(op: Written) -> Written | None:
        """Returns the pivot for which a constant inside a loop must wait, if it waits for nothing else; else None."""
        if op.opdef.kind is not Kind.CONST or op.control_inputs or _loop(op) is None:
            return None
        return op.extra.get(PIVOT)

    def copies(self, op: Written) -> dict[str, Copy]:
        """Returns the copies of constants from outside that an operation in a loop reads, by the constants' names.

        The pivot of a copy that was returned before is None.
        """
        loop = _loop(op)
        if loop is None:
            return {}
        copies: dict[str, Copy] = {}
        for t in op.inputs:
            if t.op.opdef.kind is not Kind.CONST or _loop(t.op) is loop:
                continue
            pivot = op.extra[PIVOT]
            cached_name = self._copies.get((t.op, pivot))
            name = cached_name or self._free_name(t.op.name)
            self._copies[t.op, pivot] = name
            copies.setdefault(t.op.name, Copy(name, t.op, None if cached_name else pivot))
        return copies

    def _free_name(self, name: str) -> str:
        candidate, k = f"{name}/in_loop", 0
        while candidate in self._names:
            k += 1
            candidate = f"{name}/in_loop_{k}"
        self._names.add(candidate)
        return candidate


def _loop(op: Written) -> Any:
    """Returns the innermost loop around an operation, or None."""
    context = op.extra.get(CONTEXT)
    while context is not None and not context.is_loop:
        context = context.outer
    return context
