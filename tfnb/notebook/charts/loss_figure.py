"""The loss plot as a Bokeh document.

The kernel builds it once for each set of curves; the browser fills its sources with plain arrays. Invariant: no text of
a user is taken for a formula, which would load MathJax from a remote server.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from bokeh.embed import json_item
from bokeh.models import ColumnDataSource, HoverTool, Range1d
from bokeh.plotting import figure

from tfnb.notebook.charts.bokeh_library import BOKEH_VERSION
from tfnb.notebook.charts.series import COLOURS, Curve

__all__ = ["add_breaks", "grey_axes", "loss_document"]

BREAK_COLUMNS = ("x", "y", "text", "colour", "align")
GREY = "#808080"  # has the same contrast to white as to black


def loss_document(curves: Sequence[Curve], log: bool = False, live: bool = False) -> dict[str, Any]:
    """Returns the JSON of a chart for `Bokeh.embed.embed_item`.

    The source of curve k is named `curve-k` and has the columns `step`, `value` and `smooth`; its bold line is named
    `bold-k`. live: the browser sets the ranges, which are named `x` and `y`; otherwise they follow the curves.
    """
    ranges = {f"{axis}_range": Range1d(0.1, 1, name=axis) for axis in "xy"} if live else _ranges(curves)
    plot = figure(
        **ranges,
        height=300,
        sizing_mode="stretch_width",
        max_width=900,
        y_axis_type="log" if log else "linear",
        x_axis_label="step",
        tools="pan,wheel_zoom,box_zoom,reset,save",
        background_fill_alpha=0,
        border_fill_alpha=0,
        outline_line_color=None,
        output_backend="canvas",
    )
    plot.toolbar.logo = None
    for k, curve in enumerate(curves):
        _add_curve(plot, k, curve)
    add_breaks(plot, _breaks(curves))
    grey_axes(plot)
    item: dict[str, Any] = json_item(plot)
    item["version"] = BOKEH_VERSION
    return item


def _add_curve(plot: figure, k: int, curve: Curve) -> None:
    colour = COLOURS[k % len(COLOURS)]
    smooth = curve.smooth is not None
    columns = {"step": curve.steps, "value": curve.values}
    columns["smooth"] = curve.values if curve.smooth is None else curve.smooth
    source = ColumnDataSource(columns, name=f"curve-{k}")
    label = _plain(curve.name)
    if smooth:
        plot.line("step", "value", source=source, line_color=colour, line_alpha=0.35)
    else:
        plot.scatter("step", "value", source=source, color=colour, size=4)
    main = plot.line(
        "step", "smooth", source=source, line_color=colour, line_width=2, legend_label=label, name=f"bold-{k}"
    )
    tooltips = [("step", "@step{0,0}"), ("value", "@value{0.0000}")]
    if smooth:
        tooltips.append(("smoothed", "@smooth{0.0000}"))
    plot.add_tools(HoverTool(renderers=[main], tooltips=tooltips, mode="vline"))


def _ranges(curves: Sequence[Curve]) -> dict[str, Range1d]:
    """Returns ranges for curves without any finite value, of which Bokeh would draw no axes."""
    if any(np.isfinite(curve.values).any() for curve in curves):
        return {}
    steps = np.concatenate([curve.steps for curve in curves]) if curves else np.zeros(0)
    steps = steps[np.isfinite(steps)]
    first, last = (float(steps.min()), float(steps.max())) if len(steps) else (0.0, 1.0)
    return {"x_range": Range1d(first - 0.5, last + 0.5), "y_range": Range1d(0.1, 1)}


def _breaks(curves: Sequence[Curve]) -> dict[str, list[Any]]:
    """Returns the columns of the marks where curves break off."""
    columns: dict[str, list[Any]] = {name: [] for name in BREAK_COLUMNS}
    for k, curve in enumerate(curves):
        broken = curve.break_off
        if broken is not None:
            finite = curve.values[np.isfinite(curve.values)]
            top = float(finite.max()) if len(finite) else 1.0
            left = broken.step <= np.median(curve.steps)
            row = (broken.step, top, broken.words, COLOURS[k % len(COLOURS)], "left" if left else "right")
            for name, value in zip(BREAK_COLUMNS, row, strict=True):
                columns[name].append(value)
    return columns


def add_breaks(plot: figure, columns: dict[str, list[Any]] | None = None) -> None:
    """Adds marks at the first values that are not finite; their source is named `breaks`."""
    source = ColumnDataSource(columns or {name: [] for name in BREAK_COLUMNS}, name="breaks")
    plot.vspan("x", source=source, line_color="colour", line_dash="dashed", line_width=1.5)
    plot.text(
        "x",
        "y",
        "text",
        source=source,
        text_color="colour",
        text_align="align",
        text_baseline="top",
        text_font_size="11px",
        x_offset=0,
    )


def _plain(text: str) -> str:
    # Bokeh takes $$...$$, \\(...\\) and \\[...\\] for TeX and would load MathJax for it.
    return text.replace("$$", "$ $").replace("\\", "/")


def grey_axes(plot: figure) -> None:
    """Gives axes, grid and legend colours that are readable on light and dark backgrounds."""
    for axis in plot.axis:
        axis.axis_label_text_color = axis.major_label_text_color = GREY
        axis.axis_line_color = axis.major_tick_line_color = GREY
        axis.minor_tick_line_color = None
        axis.axis_label_text_font_style = "normal"
    plot.grid.grid_line_color = GREY
    plot.grid.grid_line_alpha = 0.2
    if plot.legend:
        plot.legend.label_text_color = GREY
        plot.legend.background_fill_alpha = 0
        plot.legend.border_line_color = None
        plot.legend.click_policy = "hide"
