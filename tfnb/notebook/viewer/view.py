"""`tf.view`: the widget, and the thread that sends updates to it.

The thread belongs to its `View`: it polls the sources, sends the changes and ends with `close`. While curves grow it
sends their new points in one message, and uses no more processor time than `RateLimiter` allows. Until the browser has
answered, each message contains everything, because a message that arrives before the page is ready is lost. Invariant:
an error in the thread is shown in the view, never raised into the user's training.
"""

from __future__ import annotations

import io
import os
import threading
import time
from collections.abc import Mapping
from typing import IO, Any

from IPython import get_ipython
from ipywidgets import Widget, widget_serialization
from traitlets import Dict, Instance, List, Unicode

from tfnb.notebook.assets import widget_module, widget_style
from tfnb.notebook.channel import Channel
from tfnb.notebook.charts.bokeh_library import shared_library
from tfnb.notebook.charts.rate_limiter import RateLimiter
from tfnb.notebook.live_view import LiveView
from tfnb.notebook.protocol.viewer import AppendPoints, CsvFile, Note
from tfnb.notebook.replaceable_output import in_kernel
from tfnb.notebook.viewer.chart_theme import chart_template, chart_theme
from tfnb.notebook.viewer.picture import picture_html
from tfnb.notebook.viewer.sources import sources_of
from tfnb.notebook.viewer.state import ViewState, Wanted
from tfnb.summary.frame import EventTable

__all__ = ["View", "view"]

# Seconds: between polls of a hidden view; without new points until curves are sent whole; between pictures.
SECONDS_ASLEEP, SECONDS_TO_REST, SECONDS_PER_PICTURE = 2.0, 1.0, 10.0
MOST_ROWS = 2_000_000  # the largest number of rows in one exported table


class ViewerModel(Channel):
    """The state that a view shares with the browser. The browser sets `wanted` and `options`, the kernel
    everything else."""

    _esm = widget_module("viewer")
    _css = widget_style("viewer")
    library = Instance(Widget).tag(sync=True, **widget_serialization)
    templates = Dict().tag(sync=True)
    catalogue = Dict().tag(sync=True)
    changes = List().tag(sync=True)
    wanted = Dict().tag(sync=True)
    options = Unicode().tag(sync=True)


class View(LiveView):
    """A viewer of runs, created by `tf.view`; as a context manager it closes at the end.

    `refresh()` reads new events at once, `to_pandas()` and `to_csv()` return the points in the view, `close()` ends its
    thread and leaves a picture.
    """

    kind = "view"
    _channel: ViewerModel | None

    def __init__(self, what: object, waits: bool = False) -> None:
        super().__init__()
        self._lock = threading.RLock()
        self._state = ViewState(sources_of(what, waits=waits))
        self._state.catalogue()
        self._wanted = Wanted()
        self._all = True  # the next message contains everything
        self._charts: dict[str, Any] = {}
        self._appended: float | None = None  # the time of the last new points; None after all points were sent
        self._limiter = RateLimiter(0.0)
        self._pictured: Any = None
        self._sent = 0

    # ---- the interface for programs -----------------------------------------------------------------

    def refresh(self) -> None:
        """Reads the new events of all sources and, in a notebook, shows them."""
        with self._lock:
            self._state.poll()
            self._state.catalogue()
        self._wake.set()

    def table(self) -> EventTable:
        """Returns the scalars of all runs as an `EventTable`, downsampled where there are very many."""
        with self._lock:
            self._state.poll()
            return self._state.table()

    def to_pandas(self) -> Any:
        """Returns the scalars of all runs as a DataFrame: run, tag, step, wall_time, value."""
        return self.table().to_pandas()

    def to_csv(self, path: str | os.PathLike[str] | IO[str] | None = None) -> str | None:
        """Writes the scalars of all runs as CSV to `path`; returns the text if `path` is None."""
        text: str | None = self.to_pandas().to_csv(path, index=False)
        return text

    def _release(self) -> None:
        with self._lock:
            for source in self._state.sources:
                source.close()

    def __repr__(self) -> str:
        with self._lock:
            self._state.catalogue()
            return f"<tfnb view: {self._state.sentence()}>"

    def _repr_html_(self) -> str:
        with self._lock:
            self._state.catalogue()
            runs = list(zip(self._state.names, self._state.runs, strict=True))
            return picture_html(runs, self._state.tags["scalar"], self._state.sentence(), self._key)

    # ---- in a notebook ---------------------------------------------------------------------------

    def _opened(self) -> None:
        self._add_chart("step-linear")  # meanwhile the browser starts BokehJS

    def _add_chart(self, name: str) -> None:
        """Sends the template of a chart."""
        assert self._channel is not None
        template = chart_template(name)  # the first call is slow: it may import bokeh
        with self._lock:
            if template is not None and name not in self._charts:
                self._charts[name] = template
                self._channel.templates = chart_theme(self._charts)

    def _open(self, key: str) -> ViewerModel:
        model = ViewerModel(
            key,
            library=shared_library(),
            templates=chart_theme({}),
            catalogue=self._state.catalogue(),
            changes=self._state.contents(self._wanted, True),
        )
        model.observe(self._wanted_changed, "wanted")
        return model

    def _show_picture(self) -> None:
        with self._lock:
            self._pictured = self._state.sentence()
        super()._show_picture()

    def _cell_ended(self, _result: object = None) -> None:
        if self._pictured != self._state.sentence():
            self._show_picture()

    # ---- from the browser: a comm's thread -------------------------------------------------------

    def _wanted_changed(self, change: Mapping[str, object]) -> None:
        with self._lock:
            request = Wanted.from_message(change["new"])
            self._all |= request != self._wanted
            self._wanted = request
        self._wake.set()

    def _received(self, _channel: Channel, message: object, _buffers: object) -> None:
        fields = message if isinstance(message, dict) else {}
        operation = fields.get("op")
        if operation in ("hello", "whole"):  # "whole": the browser lacks the points before the new ones
            with self._lock:
                self._all = True
        self._looked_at(operation)
        if operation == "chart":
            self._add_chart(str(fields.get("name")))
        elif operation in ("csv", "frame"):
            self._export(operation, fields)

    def _export(self, what: str, message: dict[str, Any]) -> None:
        try:
            with self._lock:
                table = self._state.table(self._wanted.runs)
            frame = table.to_pandas()
            tag = message.get("tag")
            if tag is not None:
                frame = frame[frame["tag"] == tag]
            if what == "frame":
                get_ipython().push({"view_frame": frame})
                self._note(f"{len(frame):,} points are now in the variable view_frame")
            else:
                text = io.StringIO()
                frame[:MOST_ROWS].to_csv(text, index=False)
                file: CsvFile = {"op": "csv", "tag": str(tag)}
                self._send(file, text.getvalue().encode())
        except Exception as fault:
            self._note(f"export failed: {fault}"[:300])

    # ---- the thread ------------------------------------------------------------------------------

    def _work(self) -> None:
        last_picture = time.monotonic()
        while True:
            self._wake.wait(max(self._pause(), self._limiter.pause))
            if self._closed.is_set():
                return
            self._wake.clear()
            start = time.thread_time()
            try:
                self._send_news()
                # While the view is visible, the notebook's picture is renewed from time to time also after the cell.
                if time.monotonic() - last_picture > SECONDS_PER_PICTURE and self._watchers:
                    self._cell_ended()
                    last_picture = time.monotonic()
            except Exception as fault:
                self._say_fault(fault)
            self._limiter.record(time.thread_time() - start)

    def _pause(self) -> float:
        if self._answered and not self._watchers:
            return SECONDS_ASLEEP
        return min((s.seconds for s in self._state.sources), default=1.0)

    def _send_news(self) -> None:
        assert self._channel is not None
        with self._lock:
            changed = self._state.poll()
            if self._answered and not self._watchers:
                self._all = True
                return
            send_all = self._all or not self._answered
            at_rest = self._appended is not None and time.monotonic() - self._appended > SECONDS_TO_REST
            if not (changed or send_all or at_rest):
                return
            catalogue = self._state.catalogue()
            if catalogue is not self._channel.catalogue:
                self._channel.catalogue = catalogue
            new = None if send_all or not changed else self._state.appended_points(self._wanted)
            if new is None:
                self._send_whole(send_all or at_rest)
            elif new.curves:
                self._appended = time.monotonic()
                message: AppendPoints = {
                    "op": "append",
                    "tags": new.tags,
                    "curves": new.curves,
                    "pause": self._limiter.pause,
                }
                self._channel.send(message, [new.numbers, new.every])

    def _send_whole(self, everything: bool) -> None:
        assert self._channel is not None
        contents = self._state.contents(self._wanted, everything)
        self._all = False
        self._appended = None
        if contents:
            self._sent += 1
            contents[0]["number"] = self._sent  # differs from the last number, so that the trait is always sent
            self._channel.changes = contents

    def _say_fault(self, fault: Exception) -> None:
        text = f"{type(fault).__name__}: {fault}"[:300]
        self._note(f"the view could not be updated: {text}")

    def _note(self, text: str) -> None:
        message: Note = {"op": "note", "text": text}
        self._send(message)


def view(what: object) -> View:
    """Shows scalars, histograms, images, texts and parameters of runs, live, in a notebook.

    what: a folder of event files (polled as it grows, whichever program writes it), a `FileWriter` of this kernel
    (whose events come directly from the training loop), a session or graph (its parameters), the result of
    `read_events`; or a list of these, or a dict from names to them. A notebook shows the view at once, so a training in
    the same cell is seen live; it waits for a folder that does not exist yet. Returns the `View`. Raises
    `InvalidArgumentError` for anything else, and `NotFoundError` outside of a notebook if the folder does not exist.
    """
    if in_kernel():
        shared_library()  # BokehJS is sent while files are read
    new_view = View(what, waits=in_kernel())
    if in_kernel():
        new_view.show()
    return new_view
