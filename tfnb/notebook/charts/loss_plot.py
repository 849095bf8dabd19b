"""A chart of losses and other numbers that is updated while a training runs.

In a notebook Bokeh draws it in the browser: the kernel sends BokehJS once over the widget channel, and then only new
points, downsampled to the resolution of the chart, as often as `RateLimiter` allows. When the cell ends, a picture
replaces the live chart. The picture contains the document and becomes a live chart again wherever BokehJS has been
started. Invariant: the saved notebook shows the chart without a kernel and without a network.
"""

from __future__ import annotations

import json
import time
from typing import Any, SupportsFloat, TextIO
from uuid import uuid4

import numpy as np
from IPython import get_ipython
from ipywidgets import Widget, widget_serialization
from traitlets import Instance, List, Unicode

from tfnb.errors import InvalidArgumentError
from tfnb.notebook.assets import widget_module
from tfnb.notebook.channel import Channel
from tfnb.notebook.charts.bokeh_library import BOKEH_VERSION, shared_library
from tfnb.notebook.charts.chart_svg import line_chart_svg
from tfnb.notebook.charts.loss_figure import loss_document
from tfnb.notebook.charts.rate_limiter import RateLimiter
from tfnb.notebook.charts.series import COLOURS, Curve, SmoothedSeries
from tfnb.notebook.live_view import ClosedAtEnd
from tfnb.notebook.protocol.loss import AppendLossPoints, LossCurve
from tfnb.notebook.replaceable_output import Outlet, in_kernel

__all__ = ["LossPlot"]

SECONDS_PER_DRAWING = 0.165  # the first step after this time is drawn
LIVE_POINTS, SAVED_POINTS = 1500, 300
# A curve of which the browser has more points is sent as a whole again, which downsamples it.
MOST_HELD = 2 * LIVE_POINTS
FEWEST_NEW = 5  # points of a curve in one message, where there are more


class LossChart(Channel):
    """The widget of the live chart: a Bokeh document and the arrays of its curves. New points come as messages."""

    _esm = widget_module("loss_chart")
    library = Instance(Widget).tag(sync=True, **widget_serialization)
    document = Unicode().tag(sync=True)
    curves = List().tag(sync=True)


class LossPlot(ClosedAtEnd):
    """A chart of named numbers over steps, shown at once and kept up to date::

        with tf.notebook.LossPlot() as plot:
            for step in range(1000):
                _, value = sess.run([train, loss], feed)
                plot.add(step, loss=value)

    The `with` is optional: the live chart also ends with the cell. `smoothing` is the weight of earlier values in the
    bold line, from 0 up to but not including 1; `log` makes the vertical axis logarithmic. Outside of a notebook the
    newest values are written as text. Raises `InvalidArgumentError` for another `smoothing`.
    """

    def __init__(self, smoothing: float = 0.9, log: bool = False, stream: TextIO | None = None) -> None:
        if not 0 <= smoothing < 1:
            raise InvalidArgumentError(f"smoothing must lie in [0, 1), not {smoothing}")
        self._smoothing, self._log = smoothing, log
        self._series: dict[str, SmoothedSeries] = {}
        self._step = 0.0
        self._outlet = Outlet("loss-plot", stream)
        self._chart: LossChart | None = None
        self._live = in_kernel() and stream is None
        self._resting = True
        self._drawn: list[tuple[str, bool]] = []
        self._sent: dict[str, int] = {}  # how many points of each series have been sent
        self._held: dict[str, int] = {}  # how many points of each series the browser has
        self._whole = True  # the next drawing sends all points
        self._due = 0.0
        self._limiter = RateLimiter(SECONDS_PER_DRAWING)

    def add(self, step: float, **values: SupportsFloat) -> None:
        """Adds the value of each named quantity at `step`: numbers, or arrays of one element.

        Raises `InvalidArgumentError` for anything else.
        """
        self._step = float(step)
        for name, value in values.items():
            try:
                number = float(value)
            except (TypeError, ValueError) as fault:
                raise InvalidArgumentError(
                    f"{name} at step {step}: a chart needs one number, not {value!r:.80}"
                ) from fault
            if name not in self._series:
                self._series[name] = SmoothedSeries(name, self._smoothing)
            self._series[name].add(self._step, number)
        begin = time.monotonic()
        if begin >= self._due:
            self._draw()
            now = time.monotonic()
            self._limiter.record(now - begin)
            self._due = begin + self._limiter.pause

    def close(self) -> None:
        """Ends the live chart and shows a picture of it instead. Adding a value starts the live chart again."""
        if self._resting:
            return
        self._resting = True
        if self._live:
            get_ipython().events.unregister("post_run_cell", self._cell_ended)
        self._outlet.show({"text/html": self._repr_html_(), "text/plain": repr(self)}, last=True)
        if self._chart is not None:
            self._chart.close()
            self._chart = None

    def __repr__(self) -> str:
        labels = ", ".join(curve.label for curve in self._curves(1))
        return f"loss plot at step {self._step:g}: {labels}" if labels else "an empty loss plot"

    def _repr_html_(self) -> str:
        curves = self._curves(SAVED_POINTS)
        return _picture(line_chart_svg(curves, self._log), loss_document(curves, self._log))

    def _curves(self, most: int) -> list[Curve]:
        return [series.curve(most) for series in self._series.values()]

    def _draw(self) -> None:
        was_resting, self._resting = self._resting, False
        if not self._live:
            self._outlet.show({"text/plain": repr(self)})
            return
        # A series that has become long gets a smoothed line, so the document changes.
        curve_kinds = [(s.name, s.smooth) for s in self._series.values()]
        is_full = any(points > MOST_HELD for points in self._held.values())
        if self._chart is None or curve_kinds != self._drawn or self._whole or is_full:
            self._send_whole(curve_kinds)
        else:
            self._send_new_points(self._chart)
        if was_resting and self._chart is not None:
            get_ipython().events.register("post_run_cell", self._cell_ended)
            self._outlet.show(_view(self._chart, repr(self)))

    def _send_whole(self, drawn: list[tuple[str, bool]]) -> None:
        self._whole = False
        curves = self._curves(LIVE_POINTS)
        self._sent = {name: len(series) for name, series in self._series.items()}
        self._held = {curve.name: len(curve.steps) for curve in curves}
        arrays = [_arrays(k, c, self._sent[c.name]) for k, c in enumerate(curves)]
        if self._chart is None:
            self._chart = LossChart(
                uuid4().hex, library=shared_library(), document=self._document(curves), curves=arrays
            )
            self._chart.on_msg(self._received)
        else:
            self._chart.curves = arrays
            if drawn != self._drawn:
                self._chart.document = self._document(curves)
        self._drawn = drawn

    def _send_new_points(self, chart: LossChart) -> None:
        rows: list[tuple[int, int, int, int]] = []
        parts: list[np.ndarray] = []
        for k, (name, series) in enumerate(self._series.items()):
            sent_count, total = self._sent[name], len(series)
            if total == sent_count:
                continue
            curve = series.curve(max(LIVE_POINTS * (total - sent_count) // total, FEWEST_NEW), sent_count)
            smooth = curve.values if curve.smooth is None else curve.smooth
            parts += [curve.steps, curve.values, smooth]
            rows.append((k, sent_count, total, len(curve.steps)))
            self._sent[name] = total
            self._held[name] += len(curve.steps)
        if rows:
            message: AppendLossPoints = {"op": "append", "curves": rows}
            chart.send(message, [np.concatenate(parts).tobytes()])

    def _received(self, _chart: LossChart, message: object, _buffers: object) -> None:
        """Handles a message from the browser, in the thread of a comm. The message "whole" says that the browser lacks
        the points before the new ones.
        """
        if isinstance(message, dict) and message.get("op") == "whole":
            self._whole = True

    def _document(self, curves: list[Curve]) -> str:
        empty_curves = [Curve(c.name, c.steps[:0], c.values[:0], _none_of(c)) for c in curves]
        return json.dumps({**loss_document(empty_curves, self._log, live=True), "log": self._log})

    def _cell_ended(self, _result: object = None) -> None:
        self.close()


def _none_of(curve: Curve) -> np.ndarray | None:
    return None if curve.smooth is None else curve.smooth[:0]


def _arrays(k: int, curve: Curve, total: int) -> LossCurve:
    smooth = curve.values if curve.smooth is None else curve.smooth
    return {
        "total": total,
        "colour": COLOURS[k % len(COLOURS)],
        "step": curve.steps.tobytes(),
        "value": curve.values.tobytes(),
        "smooth": smooth.tobytes(),
    }


def _view(chart: LossChart, text: str) -> dict[str, Any]:
    view = {"version_major": 2, "version_minor": 0, "model_id": chart.model_id}
    return {"application/vnd.jupyter.widget-view+json": view, "text/plain": text}


def _picture(svg: str, document: dict[str, Any]) -> str:
    """Returns the SVG, and a script that replaces the SVG by the live chart if BokehJS has been started."""
    element_id = f"tfnb-plot-{uuid4().hex}"
    # Inside a script, "<" could begin a tag that ends the script.
    item = json.dumps(document).replace("<", "\\u003c")
    return (
        f'<div id="{element_id}" class="tfnb-plot">{svg}</div><script>(() => {{'
        f'const started = (globalThis.tfnbBokeh || {{}})["{BOKEH_VERSION}"];'
        f'const place = document.getElementById("{element_id}");'
        "if (started && place) started.then((Bokeh) => { place.replaceChildren();"
        f"return Bokeh.embed.embed_item({item}, place); }});"
        "})()</script>"
    )
