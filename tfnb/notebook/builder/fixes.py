"""What is wrong with a statement, in plain words, and what would mend it.

A fix puts one call on a wire: a cast, a reshape, a transposition or a new dimension. Invariant: a fix is offered only
if the statement, with it, was evaluated in a scratch graph without an error.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from tfnb.errors import InvalidArgumentError
from tfnb.notebook.builder.building import Built, Outcome, plain_message
from tfnb.notebook.builder.edits import argument_splices
from tfnb.notebook.builder.scratch import Spec, StandIns, spec_of
from tfnb.notebook.builder.state import Change, State
from tfnb.notebook.builder.statements import Statement
from tfnb.notebook.builder.writing import Splice, free_name, names_in_use, spliced
from tfnb.notebook.protocol.builder import ApplyFix, Problem

__all__ = ["apply_fix", "problem_of", "values_read"]

_MOST_FIXES = 4
_MOST_TRIALS = 80
_NEW = "fixed__"


class Proposal(NamedTuple):
    """One way to mend a statement: `text` is the call to put on the wire of `port`, `name` what to call its result."""

    id: str
    label: str
    port: str
    text: str
    name: str


def problem_of(state: State, statement: Statement) -> Problem | None:
    """Returns what is wrong with a statement and what mends it, or None."""
    outcome = state.built.outcomes[statement.index]
    if outcome.state == "incomplete":
        names = " and ".join(outcome.missing)
        verb = "is" if len(outcome.missing) == 1 else "are"
        return {"text": f"{names} {verb} needed, and nothing is given.", "port": outcome.missing[0], "fixes": []}
    if outcome.state != "failed" or outcome.error is None:
        return None
    text = plain_message(outcome.error)
    if outcome.reason:
        text = f"{outcome.reason}: {text}"
    proposals = proposals_for(state, statement)
    port = _named_port(outcome, text) or (proposals[0].port if proposals else "")
    return {"text": text, "port": port, "fixes": [{"id": p.id, "label": p.label} for p in proposals]}


def _named_port(outcome: Outcome, text: str) -> str:
    """The port that an error's message names."""
    m = re.search(r"\binput (\w+)", text)
    if m is None or outcome.form is None:
        return ""
    slot = outcome.form.slot(m.group(1))
    return slot.name if slot is not None else ""


def _inputs(state: State, statement: Statement) -> dict[str, tuple[str, Spec]]:
    """The ports of a statement that read a tensor, with its Python text, dtype and shape."""
    from_nodes: dict[str, tuple[str, Spec]] = {}
    form = state.built.outcomes[statement.index].form
    if form is None or form.kind == "value":
        return from_nodes
    for slot in form.slots:
        if slot.tree is None or slot.name == "self":
            continue
        start, end = state.program.places.span(slot.tree)
        for u in statement.uses:
            if not start <= u.start < end or u.by < 0:
                continue
            m = re.compile(r"\[\d+\]").match(state.program.source, u.start + len(u.name))
            text = u.name + (m.group() if m is not None else "")
            value: Any = state.built.outcomes[u.by].values.get(u.name)
            if m is not None and isinstance(value, list | tuple):
                index = int(m.group()[1:-1])
                value = value[index] if index < len(value) else None
            spec = spec_of(value)
            if spec is not None:
                is_whole = state.program.text(slot.tree) == text
                from_nodes[slot.name if is_whole else f"{slot.name}:{text}"] = (text, spec)
    return from_nodes


def proposals_for(state: State, statement: Statement) -> list[Proposal]:
    """Returns the fixes of a statement that failed, each tried."""
    inputs = _inputs(state, statement)
    proposals: list[Proposal] = []
    if statement.value is None or not inputs:
        return proposals
    for trial, proposal in enumerate(_candidates(inputs)):
        if len(proposals) == _MOST_FIXES or trial == _MOST_TRIALS:
            break
        if _works(state, statement, proposal):
            proposals.append(proposal)
    return proposals


def _candidates(inputs: dict[str, tuple[str, Spec]]) -> Iterator[Proposal]:
    """All fixes that may help, the likeliest first."""
    specs = [spec for _, spec in inputs.values()]
    dtypes = dict.fromkeys([s.dtype.name for s in specs] + ["float32", "int32", "int64", "bool"])
    for port, (text, spec) in reversed(inputs.items()):
        for dtype in dtypes:
            if dtype != spec.dtype.name and not spec.dtype.is_string and dtype != "string":
                label = f"Cast {text} to {dtype}"
                yield Proposal(f"cast {port} {dtype}", label, port, f"tf.cast({text}, tf.{dtype})", f"{text}_{dtype}")
    for port, (text, spec) in reversed(inputs.items()):
        rank = None if spec.sizes is None else len(spec.sizes)
        if rank == 2:
            yield Proposal(f"transpose {port}", f"Transpose {text}", port, f"tf.transpose({text})", f"{text}_t")
    for port, (text, spec) in inputs.items():
        for shape in _shapes(spec, [s for s in specs if s is not spec]):
            label = f"Reshape {text} to {shape}"
            yield Proposal(f"reshape {port} {shape}", label, port, f"tf.reshape({text}, {shape})", f"{text}_reshaped")
    for port, (text, _) in inputs.items():
        for axis in (-1, 0, 1):
            label = f"Give {text} a dimension of 1 at {'the end' if axis == -1 else axis}"
            call = f"tf.expand_dims({text}, {axis})"
            yield Proposal(f"expand {port} {axis}", label, port, call, f"{text}_expanded")
    for port, (text, spec) in inputs.items():
        if spec.sizes is not None and len(spec.sizes) == 4:
            for perm in ("[0, 2, 3, 1]", "[0, 3, 1, 2]"):
                call = f"tf.transpose({text}, {perm})"
                yield Proposal(f"transpose {port} {perm}", f"Transpose {text} by {perm}", port, call, f"{text}_t")


def _shapes(spec: Spec, others: list[Spec]) -> list[str]:
    """Shapes that a tensor might have been meant to have."""
    shapes: list[str] = []
    dims = spec.sizes
    known = None if dims is None else [d for d in dims if d is not None]
    size = math.prod(known or ())
    open_dims = dims is None or known is None or len(known) < len(dims)
    if dims is not None and len(dims) > 2 and None not in dims[1:]:
        shapes.append(f"[-1, {math.prod(d or 1 for d in dims[1:])}]")
    for other in others:
        if other.sizes is None:
            continue
        is_known = bool(other.sizes) and None not in other.sizes and not open_dims
        if is_known and math.prod(d or 1 for d in other.sizes) == size:
            shapes.append(str([int(d or 0) for d in other.sizes]))
        for d in other.sizes:
            if d and (open_dims or size % d == 0):
                shapes.append(f"[-1, {d}]")
    shapes.append("[-1]")
    if dims is not None and len(dims) in (2, 3) and dims[-1] is not None:
        side = round(dims[-1] ** 0.5)
        if side * side == dims[-1] and side > 1:
            shapes.append(f"[-1, {side}, {side}, 1]")
        if len(dims) == 3:
            shapes.append(f"[-1, {dims[1]}, {dims[2]}, 1]" if dims[1] is not None else f"[-1, {dims[2]}]")
    return list(dict.fromkeys(shapes))


def _works(state: State, statement: Statement, proposal: Proposal) -> bool:
    """Does the statement run with the fix, in a scratch graph?"""
    form = state.built.outcomes[statement.index].form
    if form is None or statement.value is None:
        return False
    start, end = state.program.places.span(statement.value)
    try:
        splices = argument_splices(state, statement, form, proposal.port, _NEW)
    except InvalidArgumentError:
        return False
    shifted = [Splice(s.start - start, s.end - start, s.text) for s in splices]
    text = "(" + spliced(state.program.source[start:end], shifted) + "\n)"
    names = values_read(state.built, statement)
    with StandIns() as scratch:
        try:
            names[_NEW] = scratch.evaluate(proposal.text, names)
            scratch.evaluate(text, {**names, _NEW: names[_NEW]})
        except Exception:
            return False
    return True


def values_read(built: Built, statement: Statement) -> dict[str, Any]:
    """Returns the values of the names that a statement reads."""
    values: dict[str, Any] = {}
    for u in statement.uses:
        if u.by >= 0:
            values[u.name] = built.outcomes[u.by].values.get(u.name)
        elif u.name in built.names:
            values[u.name] = built.names[u.name]
    return values


def apply_fix(state: State, edit: ApplyFix) -> Change:
    """Puts the call of a fix in front of a statement, and its result on the wire."""
    statement = state.statement(edit["node"])
    proposal = next((p for p in proposals_for(state, statement) if p.id == edit["id"]), None)
    if proposal is None:
        raise InvalidArgumentError("this fix does not fit any more")
    program = state.program
    before = program.source[program.places.line_start(statement.start) : statement.start]
    if before.strip():
        raise InvalidArgumentError(f"line {statement.line} has other code in front; give it a line of its own first")
    name = free_name(proposal.name, names_in_use(program))
    splices = argument_splices(state, statement, state.form(statement), proposal.port, name)
    line = f"{name} = {proposal.text}{program.new_line()}{before}"
    source = spliced(program.source, [*splices, Splice(statement.start, statement.start, line)])
    return Change(source, selected=[name], message=proposal.label)
