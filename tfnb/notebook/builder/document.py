"""The document of the builder: a source, the places of its nodes, and the history of both.

`Document.apply` takes a message of the browser and returns those for it. Invariant: a gesture is done as a whole and is
one step of undo, or it changes nothing and the answer says why.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from tfnb.errors import InvalidArgumentError, OpError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.graphdef.message_types import GraphDef
from tfnb.notebook.builder.building import MOST_AT_ONCE, Builder, Built, Imported, library
from tfnb.notebook.builder.comments import frames_of, notes_of
from tfnb.notebook.builder.dispatch import change_of
from tfnb.notebook.builder.drawing import is_drawn, node_of
from tfnb.notebook.builder.files.graph_text import copied_graph
from tfnb.notebook.builder.files.imports import saved
from tfnb.notebook.builder.files.large_graphs import LargeGraph
from tfnb.notebook.builder.fixes import problem_of
from tfnb.notebook.builder.inside.function_bodies import body_state
from tfnb.notebook.builder.inside.operations import Drawings, inside
from tfnb.notebook.builder.questions import copied, palette, targets
from tfnb.notebook.builder.routes import is_shown, renamed_places
from tfnb.notebook.builder.state import Change, State
from tfnb.notebook.builder.statements import Program, Unfinished, parse
from tfnb.notebook.builder.trust.gestures import adds_no_code
from tfnb.notebook.builder.trust.ran_text import RanText
from tfnb.notebook.builder.writing import library_import, names_in_use, spliced
from tfnb.notebook.protocol.builder import (
    BuilderNode,
    CopyRequest,
    Drawing,
    Frame,
    FromKernel,
    Gesture,
    Note,
    Open,
    PaletteRequest,
    SourceMessage,
    TargetsRequest,
    Totals,
    Undo,
)
from tfnb.notebook.protocol.builder_details import CopyGraphRequest, DetailsFromKernel, InsideRequest, PickTensor

__all__ = ["Answer", "Answers", "Document", "Moment"]

_MOST_STEPS = 1000
FromBrowser = Gesture | Undo | Open | PaletteRequest | TargetsRequest | CopyRequest | CopyGraphRequest | InsideRequest
Answer = FromKernel | DetailsFromKernel
Answers = list[Answer]


@dataclass(frozen=True)
class _Snapshot:
    """What undo brings back."""

    source: str
    positions: dict[str, list[float]]


@dataclass
class _Answer:
    """What is said about a gesture in the next drawing."""

    gesture: int = 0
    selected: list[str] = field(default_factory=list)
    echo: str = ""
    message: str = ""
    is_refused: bool = False


@dataclass(frozen=True)
class Moment:
    """A program and its graph as they are at one moment, for what is run while the document is edited further."""

    program: Program
    built: Built

    def hand_out(self) -> GraphBuilder:
        """Returns the graph, which stays as it is."""
        return self.built.graph


class Document:
    """A graph that is edited: Python source in, drawings out.

    `source` is the present text, which may be half-typed; `positions` the places of nodes by their ids. `known` are the
    variables of the notebook, of which plain data is used where the source does not define a name. Statements that
    `trust` knows the user has run (all with `is_trusted`) may be loops and functions, which are run to draw what they
    make. `original` is
    the graph that was opened, if there was one: of a large one only what the source names is imported, until something
    asks for the whole graph.
    """

    def __init__(
        self,
        source: str = "",
        *,
        positions: Mapping[str, list[float]] | None = None,
        known: Mapping[str, Any] | None = None,
        is_trusted: bool = False,
        trust: RanText | None = None,
        original: GraphDef | None = None,
    ) -> None:
        self.source = source
        self.positions: dict[str, list[float]] = {k: list(v) for k, v in (positions or {}).items()}
        self.revision = 0
        self._original, self._known = original, known
        self._builder = Builder(known, RanText(is_trusted) if trust is None else trust)
        self._drawings, self._importing = Drawings(), threading.Lock()
        self._whole: Imported | None = None
        if original is not None and len(original.node) > MOST_AT_ONCE:
            self._builder.large = LargeGraph(original)
        self._past: list[_Snapshot] = []
        self._future: list[_Snapshot] = []
        self._waits_for_line = self._trusted = 0
        self._program = parse("")
        self._built = self._builder.build(self._program)
        self._frames: list[Frame] = []
        self._notes: list[Note] = []
        self._sent: dict[str, BuilderNode] = {}
        self._nodes: dict[str, BuilderNode] = {}
        self._read()

    @property
    def is_trusted(self) -> bool:
        return self._builder.trust.has_all

    @is_trusted.setter
    def is_trusted(self, value: bool) -> None:
        self._builder.trust.has_all = value
        self._read()

    @property
    def program(self) -> Program:
        """The statements of the last complete source."""
        return self._program

    @property
    def built(self) -> Built:
        """The graph of the last complete source, and what each statement made."""
        if self._built.is_deferred:
            self._complete()
        return self._built

    def draw_large(self) -> bool:
        """Makes the drawing of a large graph before somebody asks for it; another thread may use the document. Returns
        whether there is one.
        """
        if self._original is None or not self._built.is_deferred:
            return False
        self._drawings.columns(self._original)
        return True

    def import_apart(self) -> None:
        """Imports all of a large graph, for `complete`; another thread may use the document meanwhile."""
        with self._importing:
            if self._built.is_deferred and self._whole is None:
                self._whole = self._builder.import_apart(self._program)

    def complete(self) -> Answers:
        """Takes all of a large graph in, and returns the new drawing; [] if there was none."""
        if not self._built.is_deferred:
            return []
        self._complete()
        return [self.drawing(full=False)]

    def hand_out(self) -> GraphBuilder:
        """Returns the graph, which later edits leave as it is then."""
        self._builder.keep(self.built.graph)
        return self.built.graph

    def moment(self) -> Moment:
        """Returns the program and its graph, which later edits leave as they are then."""
        self.hand_out()
        return Moment(self._program, self._built)

    def graph_def(self) -> GraphDef:
        """Returns the graph as a GraphDef; nodes of the opened graph that no edit has changed keep their bytes."""
        outcomes = self.built.outcomes
        large = [
            o.operations for o in outcomes if getattr(o.form and o.form.function, "__name__", "") == "import_graph_def"
        ]
        return saved(self._original, self.built.graph, [op for operations in large for op in operations])

    def rebuild(self) -> None:
        """Runs the source anew, for example because variables of the notebook have changed."""
        self._read()

    def apply(self, message: FromBrowser) -> Answers:
        """Carries a message of the browser out, and returns the messages that answer it."""
        if message["type"] == "open":
            drawing = self.drawing()
            return [self._source_message(), drawing]
        if message["type"] == "palette":
            return [palette(self._state_in(message), message)]
        if message["type"] == "targets":
            return [targets(self._state_in(message), message)]
        if message["type"] == "copy":
            return [copied(self._state(), message)]
        if message["type"] == "copy graph":
            return [copied_graph(State(self._program, self._builder, self.built), message)]
        if message["type"] == "inside":
            return [inside(self._state(), message, self._drawings, self._original)]
        answer = _Answer(int(message["gesture"]))
        before = self.source
        if message["type"] == "gesture":
            self._gesture(message, answer)
        elif message["type"] == "undo":
            self._step(self._past, self._future, "undo", answer)
        elif message["type"] == "redo":
            self._step(self._future, self._past, "redo", answer)
        drawing = self._drawing(answer)
        # The source comes first, so that the cell has it when the drawing shows that the gesture is answered.
        return [drawing] if self.source == before else [self._source_message(), drawing]

    def set_source(self, source: str) -> Answers:
        """Takes a source that was typed outside of the canvas; one step of undo. Returns the messages to send."""
        return self.apply({"type": "gesture", "gesture": 0, "edits": [{"edit": "source", "source": source}]})

    def drawing(self, full: bool = True) -> Drawing:
        """Returns the drawing: with all nodes, or only with those that changed since the last one."""
        if full:
            self._sent = {}
        return self._drawing(_Answer())

    # gestures

    def _gesture(self, message: Gesture, answer: _Answer) -> None:
        snapshot = _Snapshot(self.source, dict(self.positions))
        try:
            if [e["edit"] for e in message["edits"]] == ["source"]:
                self.source = str(message["edits"][0]["source"])  # type: ignore[typeddict-item]
                # A browser may send what it has already sent; then the line of messages stays.
                answer.message = "the code has changed" if self.source != snapshot.source else ""
            else:
                self._edit(message, answer)
        except OpError as e:
            answer.message, answer.is_refused = e.message, True
            self.source, self.positions = snapshot.source, dict(snapshot.positions)
            return
        if self.source == snapshot.source and self.positions == snapshot.positions:
            return
        self._past.append(snapshot)
        del self._past[:-_MOST_STEPS]
        self._future.clear()
        if self.source != snapshot.source:
            former = self._program
            if adds_no_code(message) and not _has_waiting(former, self._built, self._builder.trust):
                self._builder.trust.add(self.source)
            self._read()
            answer.echo = _new_lines(former, self._program)

    def catch_up(self) -> Answers:
        """Looks which cells were run since the last call. Returns the new drawing if that may change it."""
        self._builder.trust.catch_up()
        if len(self._builder.trust) == self._trusted or all(o.state == "built" for o in self._built.outcomes):
            return []
        self._read()
        return [self.drawing(full=False)]

    def _edit(self, message: Gesture, answer: _Answer) -> None:
        if self._waits_for_line:
            raise InvalidArgumentError(f"line {self._waits_for_line} of the code is not complete; complete it first")
        state = self._state()
        picked = {cast(PickTensor, edit)["operation"] for edit in message["edits"] if edit["edit"] == "pick"}
        if self._built.is_deferred and picked and self._builder.large is not None:
            self._builder.large.wanted |= picked
            state = State(self._program, self._builder)
        source, positions, messages = self.source, dict(self.positions), []
        for edit in message["edits"]:
            change = change_of(state, edit)
            positions = _placed(positions, change)
            answer.selected = change.selected or answer.selected
            messages.append(change.message)
            if change.source != source:
                source = change.source
                state = State(_complete(source), self._builder)
        if self._lacks_import(state.program):
            source = spliced(source, library_import(state.program))
        answer.message = messages[-1] if len(set(messages)) == 1 else ", ".join(m for m in messages if m)[:400]
        self.source, self.positions = source, positions

    def _lacks_import(self, program: Program) -> bool:
        """Is `tf` new in a program that calls the library by another name, or not at all?"""
        if not self._program.statements or "tf" in names_in_use(self._program) or "tf" not in names_in_use(program):
            return False
        return not any("tf" in s.names for s in program.statements) and (self._known or {}).get("tf") is not library()

    def _state(self) -> State:
        return State(self._program, self._builder, self._built)

    def _state_in(self, message: PaletteRequest | TargetsRequest) -> State:
        """The state that a request is about: of the document, or of the body of a function."""
        state, call = self._state(), message.get("inside", "")
        return body_state(state, state.statement(call)) if call else state

    def _step(self, back: list[_Snapshot], forth: list[_Snapshot], word: str, answer: _Answer) -> None:
        if not back:
            answer.message, answer.is_refused = f"there is nothing to {word}", True
            return
        forth.append(_Snapshot(self.source, dict(self.positions)))
        snapshot = back.pop()
        changed = snapshot.source != self.source
        self.source, self.positions = snapshot.source, dict(snapshot.positions)
        if changed:
            self._read()
        answer.message = f"{word} done"

    # the program

    def _complete(self) -> None:
        self.import_apart()
        self._builder.imported, self._builder.large, self._whole = self._whole, None, None
        self._read()

    def _read(self) -> None:
        """Parses and builds the source. Half-typed code leaves the last program, and notes the line it waits for."""
        self._builder.trust.catch_up()
        self._trusted = len(self._builder.trust)
        try:
            program = parse(self.source)
        except Unfinished as e:
            self._waits_for_line = e.line
            self.revision += 1
            return
        self._waits_for_line = 0
        self._program, self._built = program, self._builder.build(program)
        if self._built.is_deferred and any(o.state == "failed" for o in self._built.outcomes):
            self._complete()  # what fails may need more of the graph than it names
            return
        self._frames, self._notes = frames_of(program), notes_of(program)
        state = State(program, self._builder, self._built)
        frame_of = {node: frame["id"] for frame in self._frames for node in frame["nodes"]}
        self._nodes = {}
        for s in program.statements:
            if is_drawn(s):
                node = node_of(program, self._built, s)
                node["problem"] = problem_of(state, s)
                node["frame"] = frame_of.get(s.id, "")
                self._nodes[s.id] = node
        self.revision += 1

    # messages

    def _source_message(self) -> SourceMessage:
        return {"type": "source", "revision": self.revision, "source": self.source}

    def _drawing(self, answer: _Answer) -> Drawing:
        changed = [node for name, node in self._nodes.items() if not _is_same(self._sent.get(name), node)]
        self._sent = dict(self._nodes)
        return {
            "type": "drawing",
            "revision": self.revision,
            "gesture": answer.gesture,
            "changed": changed,
            "order": list(self._nodes),
            "lines": [node["line"] for node in self._nodes.values()],
            "frames": self._frames,
            "notes": self._notes,
            "positions": {k: v for k, v in self.positions.items() if is_shown(k, self._nodes)},
            "totals": self._totals(),
            "selected": answer.selected,
            "echo": answer.echo,
            "message": answer.message,
            "is_refused": answer.is_refused,
            "waits_for_line": self._waits_for_line,
            "can_undo": bool(self._past),
            "can_redo": bool(self._future),
        }

    def _totals(self) -> Totals:
        nodes = self._nodes.values()
        return {
            "parameters": sum(n["parameter_count"] for n in nodes),
            "flops": sum(max(n["flops"], 0) for n in nodes),
            "nodes": len(self._nodes),
            "problems": sum(n["problem"] is not None for n in nodes),
        }


def _has_waiting(program: Program, built: Built, trust: RanText) -> bool:
    """Was a statement left out that would perhaps be built if the user had run its text?"""
    pairs = zip(program.statements, built.outcomes, strict=True)
    return any(outcome.state == "not run" and not trust.has(statement.text) for statement, outcome in pairs)


def _is_same(former: BuilderNode | None, node: BuilderNode) -> bool:
    """Is it the node that was sent, except for its line?"""
    return former is node or former is not None and (former == node or {**former, "line": node["line"]} == node)


def _placed(positions: dict[str, list[float]], change: Change) -> dict[str, list[float]]:
    places = {**renamed_places(positions, change.renamed), **change.positions}
    return {k: v for k, v in places.items() if k not in change.removed}


def _complete(source: str) -> Program:
    """Parses a source that an edit has written."""
    try:
        return parse(source)
    except Unfinished as e:
        raise InvalidArgumentError(f"this would leave code that Python cannot read: {e.message}") from None


def _new_lines(former: Program, program: Program) -> str:
    """The statements that are new or different, for the log."""
    old = {s.text for s in former.statements}
    return "\n".join(s.text for s in program.statements if s.text not in old)
