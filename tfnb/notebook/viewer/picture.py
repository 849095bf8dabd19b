"""The picture that a viewer leaves in a saved notebook: small line charts as SVG, in HTML without scripts.

Invariant: every text in it is escaped, and its size is bounded, whatever was logged.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from tfnb.notebook.charts.chart_svg import line_chart_svg
from tfnb.notebook.charts.series import Curve
from tfnb.summary.reader import Run
from tfnb.summary.sampling import thinned

__all__ = ["picture_html"]

MOST_CHARTS, MOST_CURVES, MOST_POINTS = 6, 6, 160


def picture_html(runs: Sequence[tuple[str, Run]], tags: Sequence[str], summary: str, place: str) -> str:
    """Returns the first charts of some runs as HTML. `place` is the id by which the live viewer hides its own
    picture.
    """
    charts = "".join(_chart(runs, tag) for tag in tags[:MOST_CHARTS])
    n_more = len(tags) - MOST_CHARTS
    rest = f"<p>and {n_more:,} more charts</p>" if n_more > 0 else ""
    words = f"{summary} (static picture: run the cell again for the live view)"
    return (
        f'<div id="{escape(place)}" class="tfnb-view-picture"><p>{escape(words)}</p>'
        '<div style="display:grid;grid-template-columns:repeat(auto-fill,minmax(280px,1fr));gap:8px">'
        f"{charts}</div>{rest}</div>"
    )


def _chart(runs: Sequence[tuple[str, Run]], tag: str) -> str:
    available = [(name, run.scalars[tag]) for name, run in runs if tag in run.scalars]
    curves = []
    for name, series in available[:MOST_CURVES]:
        step, value = series.step, series.value
        indices = thinned(value, MOST_POINTS)
        curves.append(Curve(name, step[indices].astype(np.float64), value[indices], None))
    n_more = len(available) - len(curves)
    note = f" ({n_more:,} more runs)" if n_more > 0 else ""
    return f"<div><b>{escape(tag)}</b>{note}{line_chart_svg(curves)}</div>"
