"""Keys of `Operation.extra`: what the client's control flow notes of the operations that it makes.

Invariant: each key has one meaning, and what stands under it is set when the operation is made.
"""

from __future__ import annotations

__all__ = ["CONTEXT", "LOOP", "PIVOT", "READ"]

CONTEXT = "control_flow"  # the innermost branch or loop that the operation was made in
PIVOT = "pivot"  # the operation that is alive exactly when that branch, or that part of a loop's iteration, runs
LOOP = "loop"  # of Enters and Exits: the loop they lead into and out of
READ = "read"  # the `ImplicitRead` of variables whose value the operation gives
