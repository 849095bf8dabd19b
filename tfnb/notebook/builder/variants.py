"""Variants: a part of the graph written a second time as B, to change it and to compare the two on one feed.

The nodes of B have the names of those of A and `_b`. Invariant: what belongs together is read from these names, so the
code alone says what the variants are.
"""

from __future__ import annotations

from tfnb.errors import InvalidArgumentError
from tfnb.notebook.builder.drawing import is_drawn
from tfnb.notebook.builder.rewriting import copies
from tfnb.notebook.builder.state import Change, State
from tfnb.notebook.builder.statements import Program
from tfnb.notebook.builder.writing import names_in_use
from tfnb.notebook.protocol.builder_details import MakeVariant

__all__ = ["make_variant", "pairs_of"]

SUFFIX = "_b"


def pairs_of(program: Program) -> list[tuple[str, str]]:
    """Returns the ids of the nodes that are there in both variants, in the order of the source."""
    nodes = [s.id for s in program.statements if is_drawn(s) and s.names]
    return [(n, n + SUFFIX) for n in nodes if n + SUFFIX in program.by_id]


def make_variant(state: State, edit: MakeVariant) -> Change:
    """Writes nodes a second time as the variant B, after the last of them."""
    statements = sorted((state.statement(n) for n in dict.fromkeys(edit["nodes"])), key=lambda s: s.index)
    if not statements:
        raise InvalidArgumentError("select the part that is to have a variant")
    used = names_in_use(state.program)
    for s in statements:
        if s.block is not None or not s.names:
            raise InvalidArgumentError(f"line {s.line} has no name or stands in a block; it cannot have a variant")
        taken = next((n + SUFFIX for n in s.names if n + SUFFIX in used), None)
        if taken is not None:
            raise InvalidArgumentError(f"{taken} is there already; delete or rename that variant first")
    change = copies(state, statements, lambda name, _: name + SUFFIX)
    change.message = f"variant B of {len(statements)} nodes"
    return change
