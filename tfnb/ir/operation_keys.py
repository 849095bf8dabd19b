"""Keys of `Operation.extra`, under which the client's control flow stores facts about the operations that it makes.

Invariant: each key has one meaning, and its value is set when the operation is made.
"""

from __future__ import annotations

__all__ = ["CONTEXT", "LOOP", "PIVOT", "READ"]

CONTEXT = "control_flow"  # the innermost branch or loop that the operation was made in
PIVOT = "pivot"  # the operation that is alive exactly when that branch, or that part of a loop's iteration, runs
LOOP = "loop"  # for Enters and Exits: the loop that they enter or leave
READ = "read"  # the `ImplicitRead` of the variable whose value the operation reads
