"""The server's side of open documents: the state that the widget's model of a document would have, and its replies.

In one exchange the browser sends its changed state and its messages, and gets the server's changed state and the
replies. The browser draws with the modules of the notebook's widgets. Invariant: a document has one exchange at a time;
the `MOST_OPEN` documents that were used last are kept, and the browser opens a dropped one again with no visible effect
but a redraw.
"""

from __future__ import annotations

import csv
import io
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from tfnb.errors import InvalidArgumentError
from tfnb.notebook.assets import widget_module, widget_style
from tfnb.notebook.charts.bokeh_library import bokehjs_zipped
from tfnb.notebook.graph import graph_model
from tfnb.notebook.graph.file_formats import read_graph
from tfnb.notebook.graph.widget import LiveGraph
from tfnb.notebook.protocol.served import ServedReply
from tfnb.notebook.protocol.viewer import Catalogue, CsvFile, Note
from tfnb.notebook.traces.trace_file import read_trace
from tfnb.notebook.traces.view import Timeline
from tfnb.notebook.viewer.chart_theme import full_chart_theme
from tfnb.notebook.viewer.sources import FolderSource
from tfnb.notebook.viewer.state import ViewState, Wanted

__all__ = ["Documents", "bokehjs_zipped", "module_and_style"]

MOST_OPEN = 8
# The least time between two polls of a growing folder: in seconds, and as a multiple of the last poll's time.
SECONDS, SHARE = 1.0, 20.0
Answers = list[tuple[Mapping[str, Any], list[bytes]]]


class Document(Protocol):
    """The state of one open document.

    `exchange` makes one exchange; it returns the changed state, the replies, and in how many seconds to ask again (0:
    never).
    """

    def exchange(self, state: dict[str, Any], messages: list[Any]) -> tuple[dict[str, Any], Answers, float]: ...


class EventsDocument:
    """A folder of event files, or a single one."""

    def __init__(self, place: str, admits: Callable[[str], bool]) -> None:
        # The run of a single file is named after its folder.
        name = "" if os.path.isdir(place) else os.path.basename(os.path.dirname(place))
        self._view = ViewState([FolderSource(place, name, admits)])
        self._wanted = Wanted()
        self._sent_catalogue: Catalogue | None = None
        self._first = True

    def exchange(self, state: dict[str, Any], messages: list[Any]) -> tuple[dict[str, Any], Answers, float]:
        begin = time.thread_time()
        send_all = self._first
        out: dict[str, Any] = {}
        if self._first:
            out = {"templates": full_chart_theme(), "library": "IPY_MODEL_bokeh"}
            self._first = False
        else:
            self._view.poll()
        if "wanted" in state:
            request = Wanted.from_message(state["wanted"])
            send_all |= request != self._wanted
            self._wanted = request
        catalogue = self._view.catalogue()
        if catalogue is not self._sent_catalogue:
            self._sent_catalogue = out["catalogue"] = catalogue
        contents = self._view.contents(self._wanted, send_all)
        if contents or "templates" in out:
            out["changes"] = contents
        answers: Answers = [self._answer(message) for message in messages if _is_export_request(message)]
        return out, answers, max(SECONDS, (time.thread_time() - begin) * SHARE)

    def _answer(self, message: dict[str, Any]) -> tuple[Note | CsvFile, list[bytes]]:
        if message["op"] == "frame":
            note: Note = {"op": "note", "text": "there is no kernel here to hold a DataFrame: save as CSV"}
            return note, []
        table, tag = self._view.table(self._wanted.runs), str(message.get("tag"))
        text = io.StringIO()
        rows = csv.writer(text)
        rows.writerow(table.columns)
        for name, run in table.runs.items():
            series = run.scalars.get(tag)
            if series is not None:
                for row in zip(series.step, series.wall_time, series.value, strict=True):
                    rows.writerow([name, tag, *row])
        file: CsvFile = {"op": "csv", "tag": tag}
        return file, [text.getvalue().encode()]


def _is_export_request(message: object) -> bool:
    return isinstance(message, dict) and message.get("op") in ("csv", "frame")


class TraceDocument:
    """A Chrome trace, shown as a timeline."""

    def __init__(self, place: str, _admits: Callable[[str], bool]) -> None:
        self._timeline = Timeline(read_trace(place))
        self._first = True

    def exchange(self, state: dict[str, Any], messages: list[Any]) -> tuple[dict[str, Any], Answers, float]:
        out = {"key": state["key"]} if self._first and isinstance(state.get("key"), str) else {}
        self._first = False
        replies = (self._timeline.answer(message) for message in messages if isinstance(message, dict))
        return out, [reply for reply in replies if reply is not None], 0.0


class GraphDocument:
    """A graph in a file."""

    def __init__(self, place: str, _admits: Callable[[str], bool]) -> None:
        model = graph_model(read_graph(place))
        self._live = LiveGraph([("", lambda: model)], {"colour": "structure"})

    def exchange(self, state: dict[str, Any], messages: list[Any]) -> tuple[dict[str, Any], Answers, float]:
        replies = (self._live.answer(message) for message in messages if isinstance(message, dict))
        return {}, [reply for reply in replies if reply is not None], 0.0


KINDS: dict[str, Callable[[str, Callable[[str], bool]], Document]] = {
    "events": EventsDocument,
    "graph": GraphDocument,
    "trace": TraceDocument,
}
# The modules of widgets that draw each kind, by the names of their files.
MODULES = {"events": "viewer", "graph": "graph_widget", "trace": "timeline"}


def module_and_style(kind: str) -> tuple[str, str]:
    """Returns the ES module that draws documents of a kind, and its style sheet. Raises `InvalidArgumentError`."""
    name = MODULES.get(kind)
    if name is None:
        raise InvalidArgumentError(f"needed one of {', '.join(MODULES)}, got {kind[:40]!r}")
    return widget_module(name), widget_style(name)


class _Open:
    def __init__(self, place: str, make: Callable[[], Document]) -> None:
        self.place = place
        self._make = make
        self._document: Document | None = None
        self.lock = threading.Lock()

    def document(self) -> Document:
        if self._document is None:
            self._document = self._make()
        return self._document


class Documents:
    """The open documents by the names that browsers chose for them."""

    def __init__(self) -> None:
        self._open: OrderedDict[str, _Open] = OrderedDict()
        self._lock = threading.Lock()

    def exchange(
        self, name: str, kind: str, place: str, admits: Callable[[str], bool], request: Mapping[str, Any]
    ) -> ServedReply:
        """Makes one exchange of messages with the document `name`.

        `request` contains the `state` and the `messages` of the browser, and `first` if the document is opened or
        reloaded. Raises `InvalidArgumentError` for an unknown kind, and the errors of reading the file.
        """
        if kind not in KINDS:
            raise InvalidArgumentError(f"needed one of {', '.join(KINDS)}, got {kind[:40]!r}")
        if kind != "events" and os.path.isdir(place):
            raise InvalidArgumentError("this is a folder: only event files are shown by folder")
        key = f"{kind} {name}"
        with self._lock:
            document = self._open.get(key)
            renewed = document is None or document.place != place or bool(request.get("first"))
            if document is None or renewed:
                document = self._open[key] = _Open(place, lambda: KINDS[kind](place, admits))
            self._open.move_to_end(key)
            while len(self._open) > MOST_OPEN:
                self._open.popitem(last=False)
        state, messages = request.get("state"), request.get("messages")
        with document.lock:
            changed, replies, again = document.document().exchange(
                state if isinstance(state, dict) else {}, messages if isinstance(messages, list) else []
            )
        return {
            "state": changed,
            "messages": [{"content": content, "buffers": buffers} for content, buffers in replies],
            "again": again,
            "renewed": renewed and not request.get("first"),
        }

    def close(self, name: str) -> None:
        """Closes a document."""
        with self._lock:
            for key in [k for k in self._open if k.partition(" ")[2] == name]:
                del self._open[key]
