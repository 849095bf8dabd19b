"""Edits inside of a function of the source: its body is a program of its own, whose parameters are the first node.

Shapes and dtypes inside are those of one call's arguments. Invariant: an edit changes lines of the body only; the lines
that it does not touch keep every byte.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tfnb.errors import InvalidArgumentError
from tfnb.notebook.builder.building import Builder
from tfnb.notebook.builder.drawing import is_drawn, node_of, wire_of
from tfnb.notebook.builder.grouping import inside_strings, simple_arguments
from tfnb.notebook.builder.scratch import placeholder, spec_of
from tfnb.notebook.builder.state import Change, State
from tfnb.notebook.builder.statements import Program, Statement, parse
from tfnb.notebook.builder.trust.ran_text import RanText
from tfnb.notebook.builder.writing import Splice, bindings, free_name, insertion, names_in_use, spliced
from tfnb.notebook.protocol.builder import BuilderNode
from tfnb.notebook.protocol.builder_details import EditInside, OwnFunction

__all__ = ["body_state", "called_function", "edit_inside", "nodes_inside", "own_function"]

_PARAMETERS = "parameters__"


@dataclass(frozen=True)
class _Body:
    """The body of a function as a program: its place in the source is from `start` to `end`, without its `indent`."""

    state: State
    start: int
    end: int
    indent: str
    header: str


def own_function(state: State, edit: OwnFunction) -> Change:
    """Gives a call a copy of its function."""
    program, call = state.program, state.statement(edit["node"])
    definition = called_function(program, call)
    if definition is None or not isinstance(call.value, ast.Call):
        raise InvalidArgumentError(f"{call.id} is no call of a function of this source")
    old = definition.names[0]
    new = free_name(old, names_in_use(program))
    places = bindings(program, definition, old)
    text = spliced(
        definition.text, [Splice(p - definition.start, p - definition.start + len(old), new) for p in places]
    )
    lines = ["", "", *re.split(r"\r\n|\r|\n", text)]
    start, end = program.places.span(call.value.func)
    source = spliced(program.source, [*insertion(program, lines, definition), Splice(start, end, new)])
    return Change(source, message=f"{call.id} has a function of its own, {new}")


def edit_inside(state: State, edit: EditInside, change_of: Callable[[State, Any], Change]) -> Change:
    """Carries edits out in the body of the function that a node calls, for all its calls."""
    body = _body_of(state, state.statement(edit["node"]))
    inner = body.state
    messages = []
    for part in edit["edits"]:
        change = change_of(inner, part)
        messages.append(change.message)
        if change.source != inner.program.source:
            inner = inner.after(change.source)
    text = inner.program.source
    if not text.startswith(body.header):
        raise InvalidArgumentError("the parameters of a function are changed in the code")
    lines = text[len(body.header) :].splitlines(keepends=True)
    kept = inside_strings("".join(lines))
    written = "".join(line if k in kept or not line.strip() else body.indent + line for k, line in enumerate(lines))
    if not written.strip():
        raise InvalidArgumentError("a function needs at least one statement")
    source = spliced(state.program.source, [Splice(body.start, body.end, written)])
    return Change(source, message=", ".join(messages)[:400])


def called_function(program: Program, statement: Statement) -> Statement | None:
    """Returns the definition of the function of the source that a statement calls, or None."""
    value = statement.value
    if not (isinstance(value, ast.Call) and isinstance(value.func, ast.Name)):
        return None
    for u in statement.uses:
        if u.name == value.func.id and u.by >= 0 and isinstance(program.statements[u.by].tree, ast.FunctionDef):
            return program.statements[u.by]
    return None


def nodes_inside(state: State, call: Statement) -> list[BuilderNode]:
    """Returns the nodes of the function that a statement calls: its parameters, its statements, and what it returns."""
    inner = body_state(state, call)
    return [node_of(inner.program, inner.built, s) for s in inner.program.statements if is_drawn(s)]


def body_state(state: State, call: Statement) -> State:
    """Returns the body of the function that a statement calls as a document of its own."""
    return _body_of(state, call).state


def _body_of(state: State, call: Statement) -> _Body:
    program = state.program
    definition = called_function(program, call)
    if definition is None:
        raise InvalidArgumentError(f"{call.id} is no call of a function of this source")
    tree = definition.tree
    assert isinstance(tree, ast.FunctionDef)
    places = program.places
    first = places.span(tree.body[0])[0]
    start = places.line_start(first)
    indent = program.source[start:first]
    if indent.strip() or definition.block is not None:
        raise InvalidArgumentError(f"{tree.name} is written on one line; give its body lines of its own first")
    end = places.next_line(definition.end)
    text = program.source[start:end]
    stripped = re.sub(r"^[ \t]+", "", text, count=1)
    kept = inside_strings(stripped)
    lines = []
    for k, line in enumerate(text.splitlines(keepends=True)):
        if k not in kept and line.strip() and not line.startswith(indent):
            raise InvalidArgumentError(f"a line of {tree.name} is indented less than its first; change it in the code")
        lines.append(line if k in kept or not line.strip() else line.removeprefix(indent))
    names = [a.arg for a in (*tree.args.posonlyargs, *tree.args.args)]
    header = f"({', '.join(names)},) = {_PARAMETERS}{program.new_line()}" if names else ""
    values = _values(state, call, tree)
    read = _outer_names(state, definition)
    builder = Builder(
        None,
        RanText(state.has_run(definition)),
        lambda: {**{n: _stand_in(v) for n, v in read.items()}, _PARAMETERS: [_stand_in(values[n]) for n in names]},
    )
    return _Body(State(parse(header + "".join(lines)), builder), start, end, indent, header)


def _values(state: State, call: Statement, tree: ast.FunctionDef) -> dict[str, Any]:
    """The values of the parameters: the arguments of the call, as far as they are known."""
    assert isinstance(call.value, ast.Call)
    uses = {u.start: u for u in call.uses}
    values: dict[str, Any] = {}
    for name, argument in simple_arguments(state.program, tree, call.value).items():
        wire = wire_of(argument, state.program, uses, state.built)
        if wire is not None:
            values[name] = state.value(wire)
            continue
        try:
            values[name] = ast.literal_eval(argument)
        except (ValueError, TypeError):
            values[name] = None
    return values


def _outer_names(state: State, definition: Statement) -> dict[str, Any]:
    program: Program = state.program
    names = {u.name for u in definition.uses}
    names |= {n for s in program.statements if isinstance(s.tree, ast.Import | ast.ImportFrom) for n in s.names}
    return {n: state.built.names[n] for n in names if n in state.built.names}


def _stand_in(value: object) -> Any:
    spec = spec_of(value)
    return placeholder(spec) if spec is not None else value
