"""Answers that change nothing: what fits a wire, where a wire may go, the code of nodes, and what is inside of one.

Invariant: what is said to fit was tried with the real functions, in a scratch graph.
"""

from __future__ import annotations

import time
from typing import Any

from tfnb.errors import DTypeError, InvalidArgumentError, OpError, ShapeError
from tfnb.notebook.builder.building import plain_message
from tfnb.notebook.builder.calls import CallForm
from tfnb.notebook.builder.catalogue import search, shown
from tfnb.notebook.builder.drawing import is_drawn, output_values
from tfnb.notebook.builder.edits import argument_splices, usual_argument
from tfnb.notebook.builder.files.graph_text import copied_graph
from tfnb.notebook.builder.files.original_graph import OriginalGraph
from tfnb.notebook.builder.fixes import values_read
from tfnb.notebook.builder.inside.function_bodies import body_state
from tfnb.notebook.builder.inside.operations import inside
from tfnb.notebook.builder.scratch import Spec, StandIns, accepting_port, placeholder, result_specs, spec_of
from tfnb.notebook.builder.state import State
from tfnb.notebook.builder.statements import Statement
from tfnb.notebook.builder.writing import Splice, spliced
from tfnb.notebook.protocol.builder import (
    Clipboard,
    ConnectTargets,
    CopyRequest,
    PaletteEntry,
    PaletteMessage,
    PaletteRequest,
    TargetsRequest,
    Wire,
)
from tfnb.notebook.protocol.builder_details import CopyGraphRequest, Inside, InsideRequest
from tfnb.types import as_dtype

__all__ = ["QUESTIONS", "Question", "answered", "copied", "palette", "refusal", "targets"]

Question = PaletteRequest | TargetsRequest | CopyRequest | CopyGraphRequest | InsideRequest
QUESTIONS = ("palette", "targets", "copy", "copy graph", "inside")

_SECONDS = 0.15  # of computing, after which the rest of a list is not tried any more
_MOST_ENTRIES = 200
_WIRE = "wire__"


def answered(
    question: Question, state: State, original: OriginalGraph
) -> PaletteMessage | ConnectTargets | Clipboard | Inside:
    """Returns the answer to a question about a document."""
    if question["type"] == "palette":
        return palette(_state_in(state, question), question)
    if question["type"] == "targets":
        return targets(_state_in(state, question), question)
    if question["type"] == "copy":
        return copied(state, question)
    if question["type"] == "copy graph":
        return copied_graph(state, question)
    return inside(state, question, original.drawings, original.graph)


def _state_in(state: State, question: PaletteRequest | TargetsRequest) -> State:
    """Returns the state that a question is about: of the document, or of the body of a function."""
    call = question.get("inside", "")
    return body_state(state, state.statement(call)) if call else state


def palette(state: State, request: PaletteRequest) -> PaletteMessage:
    """Returns the functions that fit a query, and the wire or the input if one is given."""
    found_entries: list[PaletteEntry] = []
    count = max(1, min(int(request["count"]), _MOST_ENTRIES))
    value = state.value(request["wire"]) if request["wire"] is not None else None
    spec = spec_of(value)
    accepts: dict[Spec, bool] = {}
    entries = search(str(request["query"])[:200])  # the first search makes the catalogue, which takes longer
    until = time.thread_time() + _SECONDS
    for entry in entries:
        if len(found_entries) >= count or (found_entries and time.thread_time() > until):
            break
        if request["wire"] is not None and spec is not None:
            port = accepting_port(entry, spec, usual_argument)
            if port is not None:
                found_entries.append(shown(entry, port))
        elif request["port"] is not None:
            node, name = request["port"]
            statement = state.statement(node)
            if entry.call == "tf.placeholder":
                spec = _placeholder_for(state, statement, name)
                if spec is not None:
                    dims = None if spec.sizes is None else str(list(spec.sizes))
                    given = {"dtype": f"tf.{spec.dtype.name}", **({"shape": dims} if dims else {})}
                    found_entries.append(shown(entry, name, given))
                continue
            for result in result_specs(entry, usual_argument)[:1]:
                if result not in accepts:
                    accepts[result] = not refusal(state, statement, name, result)
                if accepts[result]:
                    found_entries.append(shown(entry, name))
        else:
            found_entries.append(shown(entry))
    outputs = _outputs_for(state, *request["port"]) if request["port"] is not None else []
    return {"type": "palette", "request": request["request"], "entries": found_entries, "outputs": outputs}


def _outputs_for(state: State, node: str, port: str) -> list[Wire]:
    """Returns the outputs of the drawing that an input accepts, the last of the source first."""
    statement = state.statement(node)
    later = state.program.below(statement) | {statement.index}
    accepts: dict[Spec, bool] = {}
    found: list[Wire] = []
    for s in reversed(state.program.statements):
        if s.index in later or not is_drawn(s):
            continue
        for k, (_, value) in enumerate(output_values(s, state.built.outcomes[s.index])):
            spec = spec_of(value)
            if spec is None:
                continue
            if spec not in accepts:
                accepts[spec] = not refusal(state, statement, port, spec)
            if accepts[spec]:
                found.append({"node": s.id, "output": k})
    return found[:_MOST_ENTRIES]


def _placeholder_for(state: State, statement: Statement, port: str) -> Spec | None:
    """Returns the first usual dtype and shape that an input takes, or None."""
    ranks: list[tuple[None, ...] | None] = [(None,), (None, None), (None,) * 4, (), None]
    specs = (Spec(as_dtype(d), dims) for d in ("float32", "int64", "int32", "bool", "string") for dims in ranks)
    return next((spec for spec in specs if not refusal(state, statement, port, spec)), None)


def targets(state: State, request: TargetsRequest) -> ConnectTargets:
    """Returns for each input of the drawing whether it takes a wire, or why not."""
    source = state.statement(request["wire"]["node"])
    value = state.value(request["wire"])
    spec = spec_of(value)
    above = state.program.above(source) | {source.index}
    accepted: list[tuple[str, str]] = []
    refused: list[tuple[str, str, str]] = []
    until = time.thread_time() + _SECONDS
    for s in state.program.statements:
        form = state.built.outcomes[s.index].form
        if form is None or form.kind == "value" or not is_drawn(s):
            continue
        for name in _ports(form):
            if s.index in above:
                reason = "that would be a circle" if s is not source else "a node cannot be its own input"
            elif time.thread_time() < until:
                reason = refusal(state, s, name, spec if spec is not None else value)
            else:
                reason = ""
            if reason:
                refused.append((s.id, name, reason))
            else:
                accepted.append((s.id, name))
    return {"type": "targets", "request": request["request"], "accepted": accepted, "refused": refused}


def _ports(form: CallForm) -> list[str]:
    return [s.name for s in form.slots if s.formal is not None and s.formal.is_tensor and s.name != "self"]


def refusal(state: State, statement: Statement, port: str, value: Spec | Any) -> str:
    """Returns why an input does not take a tensor of this dtype and shape (or this other value); "" if it does."""
    form = state.built.outcomes[statement.index].form
    if form is None or statement.value is None:
        return "it is a block of code"
    try:
        text = _with_argument(state, statement, form, port)
    except InvalidArgumentError as e:
        return e.message
    with StandIns() as scratch:
        names = values_read(state.built, statement)
        names[_WIRE] = placeholder(value) if isinstance(value, Spec) else scratch.of(value)
        try:
            scratch.evaluate(text, names)
        except (DTypeError, ShapeError) as e:
            return plain_message(e)
        except OpError as e:
            return plain_message(e) if any(w in e.message for w in ("rank", "shape", "dimension")) else ""
        except Exception:
            return ""  # something else is missing, which says nothing about this input
    return ""


def _with_argument(state: State, statement: Statement, form: CallForm, port: str) -> str:
    """The text of a statement's expression, with a stand-in as the argument of a port."""
    assert statement.value is not None
    start, end = state.program.places.span(statement.value)
    splices = argument_splices(state, statement, form, port, _WIRE)
    shifted = [Splice(s.start - start, s.end - start, s.text) for s in splices]
    return "(" + spliced(state.program.source[start:end], shifted) + "\n)"


def copied(state: State, request: CopyRequest) -> Clipboard:
    """Returns the code of nodes, in the order of the source."""
    statements = sorted((state.statement(n) for n in dict.fromkeys(request["nodes"])), key=lambda s: s.index)
    text = "".join(f"{s.text}\n" for s in statements)
    return {"type": "clipboard", "request": request["request"], "text": text}
