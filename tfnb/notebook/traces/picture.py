"""The picture of a timeline that stays in a saved notebook: lanes, bars, the most expensive operations.

Invariant: names are text, never markup; the size of the picture does not grow with the number of events.
"""

from __future__ import annotations

import math
from html import escape

import numpy as np

from tfnb.notebook.protocol.timeline import KINDS
from tfnb.notebook.traces.lanes import short_name
from tfnb.notebook.traces.model import TraceModel

__all__ = ["COLOURS", "time_text", "timeline_html"]

# Okabe and Ito's colours, as in labextension/src/views/timeline/palette.ts: any colour vision distinguishes them.
COLOURS = {
    "kernel": "#0072b2",
    "host": "#d55e00",
    "launch": "#e69f00",
    "compile": "#cc79a7",
    "transfer": "#009e73",
    "schedule": "#6f6f6f",
    "wait": "#b8b8b8",
}
_DARK_INK = ("launch", "compile")
_WIDTH, _GUTTER, _ROW, _AXIS, _BINS = 900, 130, 16, 20, 400


def time_text(us: float) -> str:
    """Returns a time in microseconds as text, in a suitable unit."""
    if us >= 1e6:
        return f"{us / 1e6:.4g} s"
    return f"{us / 1e3:.4g} ms" if us >= 1e3 else f"{us:.4g} µs"


def timeline_html(model: TraceModel, most: int = 8) -> str:
    """Returns the HTML of a bar of where the time went, an SVG of the lanes, and a table of the `most` most expensive
    operations.
    """
    left_cell = "<td style='text-align:left'>"
    rows = "".join(
        f"<tr>{left_cell}{escape(r['name'][:200])}</td><td>{escape(r['op'][:100])}</td><td>{r['count']:,}</td>"
        f"<td>{time_text(r['total_us'])}</td><td>{r['share']:.1%}</td>{left_cell}{escape(_last(r['source']))}</td></tr>"
        for r in model.table()[:most]
    )
    head = "".join(f"<th>{h}</th>" for h in ("operation", "type", "count", "total", "share", "source"))
    table = f"<table class='tfnb-table'><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    notes = "".join(f"<p>{escape(note)}</p>" for note in model.notes)
    return f"{_account(model)}{_svg(model)}{table}{notes}"


def _last(source: str) -> str:
    """Returns the statement in a text of file, line and statement; the whole text if there is no statement."""
    lines = [line.strip() for line in source.splitlines()]
    return lines[-1][:200] if lines else ""


def _account(model: TraceModel) -> str:
    """Returns the time of kernels and of gaps as one bar, whose length is the time of the steps."""
    kinds = {"kernels": "kernel", "host kernels": "host", "launching": "launch", "other": "wait"}
    total = sum(duration for _, duration in model.account) or 1.0
    parts = "; ".join(f"{name} {time_text(duration)} ({duration / total:.1%})" for name, duration in model.account)
    x, bars = 0.0, ""
    for name, duration in model.account:
        width = duration / total * _WIDTH
        bars += f'<rect x="{x:.1f}" width="{width:.1f}" height="8" fill="{COLOURS[kinds[name]]}"/>'
        x += width
    return (
        f'<div>{escape(parts)}</div><svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} 8" role="img" '
        f'style="max-width:{_WIDTH}px;width:100%" aria-label="{escape(parts)}">{bars}</svg>'
    )


def _svg(model: TraceModel) -> str:
    row_tops: list[float] = []
    y = float(_AXIS)
    names = []
    group = ""
    for lane in model.lanes:
        if lane.group != group:
            group = lane.group
            names.append((y, short_name(group), "600"))
            y += _ROW
        names.append((y, lane.name, "400"))
        row_tops += [y + _ROW * k for k in range(lane.rows)]
        y += _ROW * lane.rows + 6
    span = max(model.span_us, 1e-6)  # a picosecond, so that the scale of an empty recording is not zero
    scale = (_WIDTH - _GUTTER) / span
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {y:.0f}" role="img" '
        f'style="max-width:{_WIDTH}px;width:100%;font:11px sans-serif" aria-label="timeline">'
    ]
    unit = _round_unit(span / 6)
    for k in range(int(span / unit) + 1):
        x = _GUTTER + k * unit * scale
        parts.append(
            f'<line x1="{x:.1f}" y1="14" x2="{x:.1f}" y2="{y:.0f}" stroke="#808080" stroke-opacity=".3"/>'
            f'<text x="{x + 3:.1f}" y="11" fill="#808080">{time_text(k * unit)}</text>'
        )
    for top, name, weight in names:
        attributes = f'x="2" y="{top + 12:.1f}" fill="#808080" font-weight="{weight}"'
        parts.append(f"<text {attributes}>{escape(name[:20])}</text>")
    for row, top in enumerate(row_tops):
        parts += _bars(model, np.flatnonzero(model.row == row), top, scale)
    return "".join(parts) + "</svg>"


def _round_unit(least: float) -> float:
    """Returns the smallest of 1, 2 or 5 times a power of ten that is at least `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(k * power for k in (1, 2, 5, 10) if k * power >= least)


def _bars(model: TraceModel, events: np.ndarray, top: float, scale: float) -> list[str]:
    """Returns at most `_BINS` bars per row: events that are too narrow to see are joined with their neighbours."""
    min_duration = model.span_us / _BINS
    starts = model.start[events]
    cumulative = np.concatenate([[0.0], np.cumsum(model.end[events] - starts)])
    shapes: list[str] = []
    k = 0
    while k < len(events):
        i = int(events[k])
        a, b = float(model.start[i]), float(model.end[i])
        n = int(np.searchsorted(starts, a + min_duration)) if b - a < min_duration else k + 1
        n = max(n, k + 1)
        if n - 1 > k and cumulative[n] - cumulative[n - 1] >= min_duration:
            n -= 1  # a long event gets a bar of its own
        strength = 1.0
        if b - a < min_duration:
            b = min(a + min_duration, model.span_us)
            strength = 0.3 + 0.7 * min(float(cumulative[n] - cumulative[k]) / min_duration, 1.0)
        kind = KINDS[model.kind[i]]
        strength *= 0.45 if kind == "wait" else 1.0
        title = escape(model.labels[model.label[i]]) + (f" and {n - k - 1} more" if n - k > 1 else "")
        shapes.append(
            f'<rect x="{_GUTTER + a * scale:.1f}" y="{top:.1f}" width="{max((b - a) * scale, 0.8):.1f}" '
            f'height="{_ROW - 3}" fill="{COLOURS[kind]}" fill-opacity="{strength:.2f}"><title>{title}: '
            f"{time_text(float(model.end[i]) - float(model.start[i]))}</title></rect>"
        )
        label = model.labels[model.label[i]]
        space = int((b - a) * scale / 6.5) - 1
        if space > 3 and n - k == 1:
            text = escape(label if len(label) <= space else label[: space - 1] + "…")
            ink = "#808080" if kind == "wait" else "#000" if kind in _DARK_INK else "#fff"
            shapes.append(f'<text x="{_GUTTER + a * scale + 4:.1f}" y="{top + 10.5:.1f}" fill="{ink}">{text}</text>')
        k = n
    return shapes
