"""The loss plot as a Bokeh document.

The kernel builds it once for each set of curves; the browser fills its sources with plain arrays. Invariant: no text of
a user is taken for a formula, which would load MathJax from a remote server.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bokeh.embed import json_item
from bokeh.models import ColumnDataSource, HoverTool, Range1d
from bokeh.plotting import figure

from tfnb.notebook.charts.bokeh_library import BOKEH_VERSION
from tfnb.notebook.charts.series import COLOURS, Curve

__all__ = ["grey_axes", "loss_document"]

GREY = "#808080"  # has the same contrast to white as to black


def loss_document(curves: Sequence[Curve], log: bool = False, live: bool = False) -> dict[str, Any]:
    """Returns the JSON of a chart for `Bokeh.embed.embed_item`.

    The source of curve k is named `curve-k` and has the columns `step`, `value` and `smooth`; its bold line is named
    `bold-k`. live: the browser sets the ranges, which are named `x` and `y`; otherwise they follow the curves.
    """
    ranges = {f"{axis}_range": Range1d(0.1, 1, name=axis) for axis in "xy"} if live else {}
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
