"""Empty Bokeh charts of each form; the browser fills their sources and sets their ranges.

A template is the JSON of a document, and is embedded once per chart. Invariant: no text of a user enters a template, so
nothing in it can be taken for a formula or a tag.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bokeh.embed import json_item
from bokeh.models import ColumnDataSource, CustomJSTickFormatter, InlineStyleSheet, Range1d, Span
from bokeh.plotting import figure

from tfnb.notebook.charts.bokeh_library import BOKEH_VERSION
from tfnb.notebook.charts.loss_figure import GREY, add_breaks, grey_axes
from tfnb.notebook.charts.series import COLOURS

__all__ = ["template"]

# Seconds as 1:05 or 2:03:20.
DURATION = """
const t = Math.abs(tick), h = Math.floor(t / 3600), m = Math.floor(t / 60) % 60, s = t % 60;
const pad = n => String(Math.floor(n)).padStart(2, "0");
const sign = tick < 0 ? "-" : "";
if (h) return `${sign}${h}:${pad(m)}:${pad(s)}`;
if (m) return `${sign}${m}:${pad(s)}`;
return `${sign}${+s.toFixed(3)} s`;
"""
# Bokeh's own background of a toolbar in the chart is white, also in a dark theme.
TOOLBAR = ":host(.bk-inner) { background-color: transparent; }"


def template(name: str) -> dict[str, Any]:
    """Returns the JSON of a chart of `chart_theme.CHARTS` for `Bokeh.embed.embed_item`."""
    chart = _WHOLE[name]() if name in _WHOLE else _lines(*name.split("-"))
    item: dict[str, Any] = json_item(chart)
    item["version"] = BOKEH_VERSION
    return item


def _plot(name: str, height: int = 226, **axes: str) -> figure:
    plot = figure(
        height=height,
        sizing_mode="stretch_width",
        min_width=180,
        tools="pan,box_zoom,wheel_zoom,reset",
        active_drag="box_zoom",
        active_scroll=None,
        x_range=Range1d(0.1, 1, name="x"),
        y_range=Range1d(0.1, 1, name="y"),
        background_fill_alpha=0,
        border_fill_alpha=0,
        outline_line_color=None,
        output_backend="canvas",
        name=name,
        **axes,
    )
    plot.toolbar.logo = None
    plot.toolbar.autohide = True
    plot.toolbar_location = "above"  # inside it would cover curves
    plot.toolbar.stylesheets = [InlineStyleSheet(css=TOOLBAR)]
    plot.min_border_left = 56
    plot.min_border_right = 26  # half the label of the last tick
    plot.xaxis.ticker.desired_num_ticks = 5
    if axes.get("y_axis_type") == "log":
        plot.yaxis.ticker.mantissas = [1, 2, 5]
    else:
        plot.yaxis.ticker.desired_num_ticks = 5
    grey_axes(plot)
    return plot


def _source(name: str, *columns: str) -> ColumnDataSource:
    return ColumnDataSource({c: [] for c in columns}, name=name)


def _lines(axis: str, scale: str) -> Any:
    plot = _plot(
        "chart",
        x_axis_type={"wall": "datetime", "logstep": "log"}.get(axis, "linear"),
        y_axis_type=scale,
    )
    if axis == "relative":
        plot.xaxis.formatter = CustomJSTickFormatter(code=DURATION)
    band = _source("band", "xs", "ys", "colour")
    plot.patches("xs", "ys", source=band, fill_color="colour", fill_alpha=0.2, line_color=None)
    columns = ("xs", "ys", "colour", "dash")
    raw = _source("raw", *columns)
    plot.multi_line("xs", "ys", source=raw, line_color="colour", line_alpha=0.3)
    smooth = _source("smooth", *columns)
    plot.multi_line("xs", "ys", source=smooth, line_color="colour", line_width=2, line_dash="dash", line_join="round")
    dots = _source("dots", "x", "y", "colour")
    plot.scatter("x", "y", source=dots, color="colour", size=5)
    add_breaks(plot)
    nearest = _source("near", "x", "y", "colour")
    plot.scatter("x", "y", source=nearest, color="colour", size=7)
    cursor = Span(dimension="height", line_color=GREY, line_dash="dotted", name="cursor", visible=False)
    plot.add_layout(cursor)
    return plot


def _bands() -> Any:
    """Returns a chart of percentile bands over steps; the columns l0 to l8 are the levels."""
    plot = _plot("chart", x_axis_label="step")
    source = _source("bands", "x", *(f"l{k}" for k in range(9)))
    colour = COLOURS[0]
    for low, alpha in ((0, 0.12), (1, 0.16), (2, 0.22), (3, 0.3)):
        plot.varea("x", f"l{low}", f"l{8 - low}", source=source, fill_color=colour, fill_alpha=alpha)
        for edge in (low, 8 - low):
            plot.line("x", f"l{edge}", source=source, line_color=colour, line_alpha=alpha + 0.1)
    plot.line("x", "l4", source=source, line_color=colour, line_width=2)
    return plot


def _ridges() -> Any:
    """Returns a chart with one ridge of counts per step, the newest in front; the vertical axis is the step."""
    plot = _plot("chart", height=276, x_axis_label="value", y_axis_label="step")
    source = _source("ridges", "xs", "ys", "fill", "alpha")
    plot.patches("xs", "ys", source=source, fill_color="fill", fill_alpha="alpha", line_color=GREY, line_width=0.7)
    return plot


def _overlay() -> Any:
    """Returns a chart of the outlines of the histograms of all steps, the newest with the strongest colour."""
    plot = _plot("chart", height=276, x_axis_label="value", y_axis_label="count")
    source = _source("overlay", "xs", "ys", "colour", "alpha")
    plot.multi_line("xs", "ys", source=source, line_color="colour", line_alpha="alpha", line_width=1.4)
    return plot


_WHOLE: dict[str, Callable[[], Any]] = {"bands": _bands, "ridges": _ridges, "overlay": _overlay}
