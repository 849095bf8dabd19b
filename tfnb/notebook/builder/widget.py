"""`tf.builder`: draw a graph, read it as Python, run it where you stand.

The output of the cell is a picture and the code, which a saved notebook keeps. If there is a kernel, the browser puts
the live canvas in its place; it draws, and sends gestures. A view owns a document, a lock, the session of "run to here"
and a training, and a thread that runs nodes and keeps the picture up to date. What becomes of a message is told in
`messages/routing.py`.
"""

from __future__ import annotations

import os
import threading
import time
from collections import ChainMap
from collections.abc import Mapping, Sequence
from typing import Any, cast

from IPython import get_ipython
from traitlets import Dict, Unicode

from tfnb.errors import DTypeError, InvalidArgumentError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.graphdef.message_types import GraphDef
from tfnb.ir.protos import proto
from tfnb.notebook.assets import widget_module
from tfnb.notebook.builder.catalogue import search
from tfnb.notebook.builder.document import Answers, Document
from tfnb.notebook.builder.files.imports import OpenedGraph, opened
from tfnb.notebook.builder.lessons.course import lesson_of
from tfnb.notebook.builder.messages.routing import Router
from tfnb.notebook.builder.picture import builder_html, builder_picture
from tfnb.notebook.builder.runs.running import Runs
from tfnb.notebook.builder.trust.ran_text import RanText
from tfnb.notebook.channel import Channel
from tfnb.notebook.graph.file_formats import read_graph
from tfnb.notebook.live_view import LiveView
from tfnb.session.default import get_default_session
from tfnb.session.session import Session
from tfnb.system.collector import put_off

__all__ = ["BuilderView", "build_cell", "builder"]

SECONDS_TO_PICTURE, SECONDS_PER_PICTURE = 1.0, 10.0  # after the last gesture, and at most while gestures follow
SECONDS_TO_DRAW = 2.0  # the first gestures need the processor more than the import of a large graph does
GRAPH_FILES = (".pb", ".pbtxt", ".meta")
SAVED_MODELS = ("saved_model.pb", "saved_model.pbtxt")

_of_cells: dict[str, BuilderView] = {}  # open views by the id of the cell that shows them


class BuilderChannel(Channel):
    """The channel to the browser. The traits are those of `BuilderState`."""

    _esm = widget_module("builder")

    source = Unicode().tag(sync=True)
    positions = Dict().tag(sync=True)
    picture = Unicode().tag(sync=True)
    cell = Unicode().tag(sync=True)
    lesson = Unicode().tag(sync=True)


def builder(graph: object = "", lesson: str = "") -> BuilderView:
    """Returns a visual builder of graphs, to be shown in a notebook.

    `graph`: Python source, the path of a graph file or of a SavedModel's folder, a `tf.Graph`, or a GraphDef; by
    default the canvas is empty. A cell that is run again shows its builder again, with its undo and its variables.
    A graph of more than 300 nodes, or with nodes that no statement can say, such as those of loops, is imported by the
    code and drawn by its scopes. `lesson`: instead of a graph, the lesson with which the builder begins: "sum",
    "linear", "hidden", "probabilities", "loss" or "training". Raises `DTypeError` for another argument,
    `InvalidArgumentError` for a graph and a lesson, `NotFoundError` for an unknown lesson, `NotFoundError` or
    `DataLossError` for a file that has no graph.
    """
    given, origin = _begun(graph, lesson) if lesson else _opened(graph)
    shown = _shown_in_this_cell()
    if shown is not None and shown.has_begun_with(given):
        return shown
    view = BuilderView(given.source, origin, given)
    view.lesson = lesson
    _remember(view)
    return view


def build_cell(source: str) -> BuilderView:
    """Returns the builder of a cell whose code is the document, for `%%tfnb_build`."""
    shown = _shown_in_this_cell()
    if shown is not None:
        shown.source = source
        return shown
    view = BuilderView(source)
    view.cell = _cell_id()
    _remember(view)
    return view


def _begun(graph: object, lesson: str) -> tuple[OpenedGraph, None]:
    """Returns the source with which a lesson begins."""
    if graph != "":
        raise InvalidArgumentError(
            f"a lesson begins with a source of its own, so {graph!r:.60} cannot be opened with it"
        )
    return OpenedGraph(lesson_of(lesson).start, {}, None), None


def _opened(graph: object) -> tuple[OpenedGraph, Session | None]:
    """Returns the Python of a graph, and a session of the notebook that has the values of its variables."""
    if isinstance(graph, os.PathLike):
        graph = os.fspath(graph)
    if isinstance(graph, str) and "\n" not in graph:
        path = graph
        for name in SAVED_MODELS:
            if os.path.isfile(os.path.join(graph, name)):
                path = os.path.join(graph, name)
        if path.endswith(GRAPH_FILES) or os.path.isfile(path):
            return opened(read_graph(path), path), None
    if isinstance(graph, str):
        return OpenedGraph(graph, {}, None), None
    if isinstance(graph, GraphBuilder):
        origin = next((session for session in _notebook_sessions() if session.graph is graph), None)
        return opened(graph.as_graph_def()), origin
    if hasattr(graph, "node") and hasattr(graph, "SerializeToString"):
        kept = proto("graph").GraphDef()
        kept.CopyFrom(graph)
        return opened(kept), None
    raise DTypeError(f"needed Python source, a path, a tf.Graph or a GraphDef, got {type(graph).__name__}")


def _cell_id() -> str:
    """Returns the id of the cell that is being run, or "" where the front end does not tell it."""
    parent = getattr(get_ipython(), "parent_header", None) or {}
    return str((parent.get("metadata") or {}).get("cellId") or "")


def _shown_in_this_cell() -> BuilderView | None:
    """Returns the open view that the present cell showed when it was run before."""
    view = _of_cells.get(_cell_id())
    if view is None or view.closed or view.execution == _run_number():
        return None
    view.execution = _run_number()
    return view


def _remember(view: BuilderView) -> None:
    view.execution = _run_number()
    if _cell_id():
        _of_cells[_cell_id()] = view


def _run_number() -> int:
    return int(getattr(get_ipython(), "execution_count", 0))


def _cells_run() -> Sequence[str]:
    """Returns the texts of the cells that the user has run in this kernel."""
    history = getattr(get_ipython(), "history_manager", None)
    return history.input_hist_raw if history is not None else ()


def _notebook_sessions() -> list[Session]:
    """Returns the sessions that are variables of the notebook, and the default session first."""
    shell = get_ipython()
    variables = list(shell.user_ns.values()) if shell is not None else []
    return [s for s in [get_default_session(), *variables] if isinstance(s, Session) and not s.closed]


class PictureAge:
    """When to draw the picture anew: once the user pauses, so that it delays no answer, or has waited too long."""

    def __init__(self) -> None:
        self._old_since: float | None = None
        self._last_message = time.monotonic()

    @property
    def is_old(self) -> bool:
        return self._old_since is not None

    def message_came(self) -> None:
        self._last_message = time.monotonic()

    def picture_is_old(self) -> None:
        if self._old_since is None:
            self._old_since = time.monotonic()

    def picture_is_drawn(self) -> None:
        self._old_since = None

    def is_time_to_draw(self) -> bool:
        since, now = self._old_since, time.monotonic()
        if since is None:
            return False
        return now - self._last_message >= SECONDS_TO_PICTURE or now - since >= SECONDS_PER_PICTURE


class BuilderView(LiveView):
    """A graph that is being built. `source` is its Python, `graph` the tf.Graph that it makes, `session` the session of
    "run to here", which has the values of its variables. `view["loss"]` is what the source calls `loss`, and
    `view.run("loss", {"x": ...})` its value.

    `close()` ends a training, closes the session, and leaves the picture and the code.
    """

    kind = "graph-builder"  # its class names differ from those of the canvas

    def __init__(self, source: str = "", origin: Session | None = None, given: OpenedGraph | None = None) -> None:
        super().__init__()
        shell = get_ipython()
        namespace: Mapping[str, Any] = shell.user_ns if shell is not None else {}
        self._namespace = ChainMap(dict(given.known) if given is not None else {}, cast(Any, namespace))
        self._lock = threading.RLock()
        self._trust = RanText(cells=_cells_run)
        self._trust.add(source)  # a cell that was run has it, or names it
        self._document = Document(
            source, known=self._namespace, trust=self._trust, original=given.graph if given is not None else None
        )
        self._runs = Runs(lambda: self._namespace, self._others)
        self._runs.sessions.begin_with(origin)
        self._default: Any = None  # the default session of the cell that ran last
        self._router = Router(self._document, self._runs, self._lock, lambda reply: self._send(reply))
        self._picture_age = PictureAge()
        self._is_inside_shown = False
        self._given = given
        self.cell = self.lesson = ""
        self.execution = 0

    # ---- the interface for programs ----------------------------------------------------------

    @property
    def source(self) -> str:
        """The Python of the graph."""
        return self._document.source

    @source.setter
    def source(self, source: str) -> None:
        with self._lock:
            if source != self._document.source:
                self._trust.add(source)
                self._send_all(self._document.set_source(source))

    @property
    def graph(self) -> GraphBuilder:
        """The graph that the source makes now. Each edit gives a new one."""
        with self._lock:
            return self._document.hand_out()

    def graph_def(self) -> GraphDef:
        """Returns the graph as a GraphDef. Nodes of an opened file that no edit has changed keep their bytes."""
        with self._lock:
            return self._document.graph_def()

    @property
    def session(self) -> Session:
        """The session in which nodes are run: one of the notebook, if it runs this graph, or one of the builder."""
        return self._runs.session(self.graph)

    def has_begun_with(self, given: OpenedGraph) -> bool:
        """Returns whether it was opened with the same source and graph."""
        return self._given is not None and self._given.source == given.source and self._given.key() == given.key()

    @property
    def closed(self) -> bool:
        return self._released

    def __getitem__(self, name: str) -> Any:
        """Returns what the source calls `name`. Raises `KeyError` if it defines no such name."""
        with self._lock:
            self._document.hand_out()
            return self._document.built.names[name]

    def run(self, name: str, feeds: Mapping[str, object] | None = None) -> Any:
        """Runs what the source calls `name`, and returns its value; `feeds` are values by the names of placeholders.

        Variables that have no value yet are initialized. Raises `KeyError` for an unknown name, and the errors of
        `session.run`.
        """
        with self._lock:
            fetch, session = self[name], self.session
            feed_dict = {self[placeholder]: value for placeholder, value in (feeds or {}).items()}
        return self._runs.sessions.run(session, fetch, feed_dict)

    def to_cell(self) -> None:
        """Puts the code into a new cell below, also where JupyterLab's extension is not installed."""
        get_ipython().set_next_input(self.source)

    def __repr__(self) -> str:
        totals = self._document.drawing(full=False)["totals"]
        return f"<tf.builder: {totals['nodes']:,} nodes, {totals['parameters']:,} parameters>\n{self.source}"

    def _repr_html_(self) -> str:
        with self._lock:
            drawing = self._document.drawing()
            nodes = {node["id"]: node for node in drawing["changed"]}
            picture = builder_picture([nodes[name] for name in drawing["order"]], drawing["positions"])
            return f'<div id="{self._key}" class="tfnb-builder-picture">{builder_html(picture, self.source)}</div>'

    # ---- messages ----------------------------------------------------------------------------

    def _open(self, key: str) -> BuilderChannel:
        places = self._document.positions
        return BuilderChannel(key, source=self.source, positions=places, cell=self.cell, lesson=self.lesson, picture="")

    def _received(self, _channel: Channel, message: object, _buffers: object) -> None:
        """Handles a message from the browser, in the thread of a comm."""
        if isinstance(message, dict):
            self._picture_age.message_came()
            with put_off():
                self._send_all(self.answer(message))
            if message.get("type") == "inside":  # what follows would delay the answer
                self._is_inside_shown = True
                self._wake.set()

    def answer(self, message: Mapping[str, Any]) -> Answers:
        """Returns the messages that answer one of the browser; results of runs follow later."""
        self._default = get_default_session() or self._default
        replies = self._router.answer(message)
        is_changed = any(reply["type"] == "drawing" and not reply["is_refused"] for reply in replies)
        if is_changed and message.get("type") != "open" and not _is_move(message):
            self._picture_age.picture_is_old()
        if is_changed or not replies:
            self._wake.set()
        return replies

    def _send_all(self, replies: Answers) -> None:
        for reply in replies:
            self._send(reply)

    def _others(self) -> list[Session]:
        sessions = _notebook_sessions()
        return [self._default, *sessions] if self._default is not None else sessions

    # ---- the thread --------------------------------------------------------------------------

    def _work(self) -> None:
        if not self._document.draw_large():  # that and the list of operations are made before the browser asks
            search("matmul")
        while not self._closed.is_set():
            self._wake.wait(SECONDS_TO_PICTURE if self._picture_age.is_old else None)
            self._wake.clear()
            if self._is_inside_shown:  # a large graph is imported after its first drawing, since that takes longer
                self._is_inside_shown = False
                self._closed.wait(SECONDS_TO_DRAW)
                self._document.import_apart()
                with self._lock:
                    self._send_all(self._document.complete())
            self._router.run_waiting(self._closed)
            if self._picture_age.is_time_to_draw():
                self._show_picture()

    def _cell_ended(self, _result: object = None) -> None:
        with self._lock:
            self._send_all(self._document.catch_up())
        if self._picture_age.is_old:
            self._show_picture()

    def _show_picture(self) -> None:
        self._picture_age.picture_is_drawn()
        super()._show_picture()
        if isinstance(self._channel, BuilderChannel) and not self._closed.is_set():
            self._channel.source, self._channel.positions = self.source, dict(self._document.positions)

    def _release(self) -> None:
        self._runs.close()
        for cell in [cell for cell, view in _of_cells.items() if view is self]:
            del _of_cells[cell]


def _is_move(message: Mapping[str, Any]) -> bool:
    """Whether a gesture only moves nodes or bends wires: that changes one line of the notebook's file, the places, and
    the picture follows with the next other edit.
    """
    edits = message.get("edits") or []
    return message.get("type") == "gesture" and all(edit.get("edit") in ("move", "route") for edit in edits)
