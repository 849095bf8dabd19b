"""Keys of `Operation.extra`, under which the client's control flow stores facts about the operations that it makes.

Invariant: each key has one meaning, and its value is set when the operation is made.
"""

from __future__ import annotations

from typing import Any, Protocol

__all__ = ["CONTEXT", "LOOP", "PIVOT", "READ", "loops_around"]

CONTEXT = "control_flow"  # the innermost branch or loop that the operation was made in
PIVOT = "pivot"  # the operation that is alive exactly when that branch, or that part of a loop's iteration, runs
LOOP = "loop"  # for Enters and Exits: the loop that they enter or leave
READ = "read"  # the `ImplicitRead` of the variable whose value the operation reads


class ContextLike(Protocol):
    """A branch or a loop in which operations are made, and the one around it."""

    @property
    def is_loop(self) -> bool: ...

    @property
    def outer(self) -> Any: ...


def loops_around(context: ContextLike | None) -> tuple[Any, ...]:
    """Returns the loops around a context (the value under `CONTEXT`, or None), itself included, outermost first."""
    loops = []
    while context is not None:
        if context.is_loop:
            loops.append(context)
        context = context.outer
    return tuple(reversed(loops))
