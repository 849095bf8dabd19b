"""The picture that a viewer leaves in a saved notebook: small line charts as SVG, in HTML without scripts.

Invariant: every text in it is escaped, and its size is bounded, whatever was logged.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from tfnb.notebook.charts.chart_svg import ChartSize, line_chart_svg
from tfnb.notebook.charts.series import COLOURS, Curve, smoothed
from tfnb.summary.reader import Run, Series
from tfnb.summary.sampling import thinned

__all__ = ["picture_html"]

MOST_CHARTS, MOST_CURVES, MOST_POINTS = 6, 6, 160
SIZE = ChartSize(360.0, 200.0)
SMOOTHING = 0.6  # with which a page begins too


def picture_html(runs: Sequence[tuple[str, Run]], tags: Sequence[str], summary: str, place: str) -> str:
    """Returns the first charts of some runs as HTML. `place` is the id by which the live viewer hides its own
    picture.
    """
    charts = "".join(_chart(runs, tag) for tag in tags[:MOST_CHARTS])
    n_more = len(tags) - MOST_CHARTS
    rest = f"<p>and {n_more:,} more charts</p>" if n_more > 0 else ""
    words = f"{summary} (static picture, smoothed by {SMOOTHING}: run the cell again for the live view)"
    return (
        f'<div id="{escape(place)}" class="tfnb-view-picture"><p>{escape(words)}</p>'
        '<div style="display:grid;grid-template-columns:repeat(auto-fill,minmax(300px,1fr));gap:8px">'
        f"{charts}</div>{rest}</div>"
    )


def _chart(runs: Sequence[tuple[str, Run]], tag: str) -> str:
    available = [(name, run.scalars[tag]) for name, run in runs if tag in run.scalars]
    curves = [_curve(name, series) for name, series in available[:MOST_CURVES]]
    n_more = len(available) - len(curves)
    note = f" ({n_more:,} more runs)" if n_more > 0 else ""
    svg = line_chart_svg(curves, size=SIZE, legend=False)
    return f"<div><b>{escape(tag)}</b>{note}{svg}{''.join(map(_label, range(len(curves)), curves))}</div>"


def _curve(name: str, series: Series) -> Curve:
    """Returns the points that are drawn. As in the page, the average is that of all points."""
    indices = thinned(series.value, MOST_POINTS)
    average = smoothed(series.every, SMOOTHING)[series.kept[indices]]
    return Curve(name, series.step[indices].astype(np.float64), series.value[indices], average)


def _label(number: int, curve: Curve) -> str:
    colour = COLOURS[number % len(COLOURS)]
    return f'<div style="font-size:11px"><span style="color:{colour}">&#9644;</span> {escape(curve.label)}</div>'
