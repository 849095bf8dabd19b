"""Moves statements behind others, where that changes no meaning.

Invariant: after a move each name that is read was bound by the same statement as before, and no statement that does
more than build was passed or moved.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from tfnb.errors import InvalidArgumentError
from tfnb.notebook.builder.statements import Program, Statement, parse
from tfnb.notebook.builder.writing import Splice, delete_statement, insertion, spliced

__all__ = ["moved_after"]


def moved_after(program: Program, first: Statement, after: Statement, splices: Sequence[Splice]) -> str:
    """Returns the source in which `first`, and what between the two needs it, stands after `after`.

    `splices` are changes of the text of `first`. Raises `InvalidArgumentError` if the order has a meaning.
    """
    below = program.below(first)
    group = [first, *(s for s in program.statements[first.index : after.index] if s.index in below)]
    numbers = {s.index for s in group}
    for s in group:
        if not isinstance(s.tree, ast.Assign | ast.Expr | ast.AnnAssign):
            raise InvalidArgumentError(f"line {s.line} would have to stand after {after.id}, and it is a block of code")
        if s.block is not None or _shares_line(program, s):
            raise InvalidArgumentError(
                f"line {s.line} would have to stand after {after.id}; move it in the code, out of its block or line"
            )
    changed = spliced(program.source, splices)
    texts = {s.index: s.text for s in group}
    texts[first.index] = parse(changed).statements[first.index].text
    lines = []
    for s in group:
        rest = program.source[s.end : program.places.line_end(s.end)]
        lines.append(texts[s.index] + rest)
    changes = [x for s in group for x in delete_statement(program, s)] + insertion(program, lines, after)
    source = spliced(program.source, changes)
    _check(program, source, numbers, after, first)
    return source


def _shares_line(program: Program, statement: Statement) -> bool:
    places = program.places
    before = program.source[places.line_start(statement.start) : statement.start]
    rest = program.source[statement.end : places.line_end(statement.end)]
    return bool(before.strip()) or bool(rest.split("#")[0].strip())


def _check(program: Program, source: str, moved: set[int], after: Statement, first: Statement) -> None:
    """Compares who reads whom before and after the move."""
    order = [i for i in range(after.index + 1) if i not in moved] + sorted(moved)
    order += range(after.index + 1, len(program.statements))
    new = parse(source)
    places = {old: k for k, old in enumerate(order)}
    for old, k in places.items():
        was, now = program.statements[old], new.statements[k]
        if old == first.index:
            continue
        readings = [(u.name, places[u.by] if u.by >= 0 else -1) for u in was.uses]
        if readings != [(u.name, u.by) for u in now.uses]:
            raise InvalidArgumentError(
                f"line {was.line} would mean something else if {first.id} stood after {after.id}"
            )
