"""The document of the builder: a source, the places of its nodes, and the history of both.

`Document.apply` takes a message of the browser and returns those for it. Invariant: a gesture is done as a whole and is
one step of undo, or it changes nothing and the answer says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from tfnb.errors import InvalidArgumentError, OpError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.graphdef.message_types import GraphDef
from tfnb.notebook.builder.building import Builder, Built, library
from tfnb.notebook.builder.files.original_graph import OriginalGraph
from tfnb.notebook.builder.history import History, Snapshot
from tfnb.notebook.builder.messages.dispatch import change_of
from tfnb.notebook.builder.messages.drawn_nodes import DrawnNodes
from tfnb.notebook.builder.messages.questions import QUESTIONS, Question, answered
from tfnb.notebook.builder.routes import is_shown, renamed_places
from tfnb.notebook.builder.state import Change, State
from tfnb.notebook.builder.statements import Program, Unfinished, parse
from tfnb.notebook.builder.trust.gestures import adds_no_code
from tfnb.notebook.builder.trust.ran_text import RanText
from tfnb.notebook.builder.writing import library_import, names_in_use, spliced
from tfnb.notebook.protocol.builder import Drawing, FromKernel, Gesture, Open, SourceMessage, Undo
from tfnb.notebook.protocol.builder_details import DetailsFromKernel, PickTensor

__all__ = ["Answer", "Answers", "Document", "Moment"]

FromBrowser = Gesture | Undo | Open | Question
Answer = FromKernel | DetailsFromKernel
Answers = list[Answer]


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
    make. `original` is the graph that was opened, if there was one.
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
        self._known = known
        self._builder = Builder(known, RanText(is_trusted) if trust is None else trust)
        self.original = OriginalGraph(original, self._builder)
        self._history, self._drawn = History(), DrawnNodes()
        self._waits_for_line = self._trusted = 0
        self._program = parse("")
        self._built = self._builder.build(self._program)
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
        """Makes the drawing of a large graph; another thread may use the document. Returns whether there is one."""
        return self.original.draw(self._built)

    def import_apart(self) -> None:
        """Imports all of a large graph, for `complete`; another thread may use the document meanwhile."""
        if self._built.is_deferred:
            self.original.import_apart(self._program)

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
        return self.original.saved(self.built)

    def rebuild(self) -> None:
        """Runs the source anew, for example because variables of the notebook have changed."""
        self._read()

    def apply(self, message: FromBrowser) -> Answers:
        """Carries a message of the browser out, and returns the messages that answer it."""
        if message["type"] == "open":
            drawing = self.drawing()
            return [self._source_message(), drawing]
        if message["type"] in QUESTIONS:
            built = self.built if message["type"] == "copy graph" else self._built
            state = State(self._program, self._builder, built)
            return [answered(cast(Question, message), state, self.original)]
        answer = _Answer(int(cast(Gesture | Undo, message)["gesture"]))
        before = self.source
        if message["type"] == "gesture":
            self._gesture(message, answer)
        elif message["type"] in ("undo", "redo"):
            self._step(message["type"], answer)
        drawing = self._drawing(answer)
        # The source comes first, so that the cell has it when the drawing shows that the gesture is answered.
        return [drawing] if self.source == before else [self._source_message(), drawing]

    def set_source(self, source: str) -> Answers:
        """Takes a source that was typed outside of the canvas; one step of undo. Returns the messages to send."""
        return self.apply({"type": "gesture", "gesture": 0, "edits": [{"edit": "source", "source": source}]})

    def drawing(self, full: bool = True) -> Drawing:
        """Returns the drawing: with all nodes, or only with those that changed since the last one."""
        if full:
            self._drawn.forget_sent()
        return self._drawing(_Answer())

    # gestures

    def _gesture(self, message: Gesture, answer: _Answer) -> None:
        snapshot = self._snapshot()
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
        self._history.record(snapshot)
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
        if self._built.is_deferred and self.original.want(picked):
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
        if _lacks_import(self._program, state.program, self._known or {}):
            source = spliced(source, library_import(state.program))
        answer.message = messages[-1] if len(set(messages)) == 1 else ", ".join(m for m in messages if m)[:400]
        self.source, self.positions = source, positions

    def _state(self) -> State:
        return State(self._program, self._builder, self._built)

    def _snapshot(self) -> Snapshot:
        return Snapshot(self.source, dict(self.positions))

    def _step(self, word: str, answer: _Answer) -> None:
        present = self._snapshot()
        snapshot = self._history.undo(present) if word == "undo" else self._history.redo(present)
        if snapshot is None:
            answer.message, answer.is_refused = f"there is nothing to {word}", True
            return
        self.source, self.positions = snapshot.source, dict(snapshot.positions)
        if snapshot.source != present.source:
            self._read()
        answer.message = f"{word} done"

    # the program

    def _complete(self) -> None:
        self.original.complete(self._program)
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
        self._drawn.read(self._state())
        self.revision += 1

    # messages

    def _source_message(self) -> SourceMessage:
        return {"type": "source", "revision": self.revision, "source": self.source}

    def _drawing(self, answer: _Answer) -> Drawing:
        nodes = self._drawn.nodes
        return {
            "type": "drawing",
            "revision": self.revision,
            "gesture": answer.gesture,
            "changed": self._drawn.changed(),
            "order": list(nodes),
            "lines": [node["line"] for node in nodes.values()],
            "frames": self._drawn.frames,
            "notes": self._drawn.notes,
            "positions": {k: v for k, v in self.positions.items() if is_shown(k, nodes)},
            "totals": self._drawn.totals(),
            "selected": answer.selected,
            "echo": answer.echo,
            "message": answer.message,
            "is_refused": answer.is_refused,
            "waits_for_line": self._waits_for_line,
            "can_undo": self._history.can_undo,
            "can_redo": self._history.can_redo,
        }


def _has_waiting(program: Program, built: Built, trust: RanText) -> bool:
    """Was a statement left out that would perhaps be built if the user had run its text?"""
    pairs = zip(program.statements, built.outcomes, strict=True)
    return any(outcome.state == "not run" and not trust.has(statement.text) for statement, outcome in pairs)


def _lacks_import(former: Program, program: Program, known: Mapping[str, Any]) -> bool:
    """Is `tf` new in a program that calls the library by another name, or not at all?"""
    if not former.statements or "tf" in names_in_use(former) or "tf" not in names_in_use(program):
        return False
    return not any("tf" in s.names for s in program.statements) and known.get("tf") is not library()


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
