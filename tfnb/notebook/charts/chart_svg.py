"""A line chart as SVG: the picture of a live chart that stays in the saved notebook.

Invariant: texts are escaped, values that are not finite interrupt a line and are never written to the picture, and the
colours are readable on light and dark backgrounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from tfnb.notebook.charts.series import COLOURS, Curve

__all__ = ["ChartSize", "line_chart_svg"]

LEFT, RIGHT, TOP, BOTTOM = 62.0, 14.0, 12.0, 40.0  # the room for labels around the frame
TICK_WIDTH = 100.0  # the room for the label of a tick
# A chart cannot place numbers of a larger magnitude.
LARGEST, SMALLEST = 1e100, 1e-100


@dataclass(frozen=True, slots=True)
class ChartSize:
    """The size of a chart in pixels; a picture that is shown smaller has smaller labels too."""

    width: float = 720.0
    height: float = 300.0

    @property
    def right(self) -> float:
        """The right end of the frame."""
        return self.width - RIGHT

    @property
    def bottom(self) -> float:
        """The lower end of the frame."""
        return self.height - BOTTOM


def line_chart_svg(
    curves: Sequence[Curve], log: bool = False, size: ChartSize | None = None, legend: bool = True
) -> str:
    """Returns the chart of some curves over a common axis of steps; `log` makes the other axis logarithmic.

    Without `legend` the reader finds the names elsewhere.
    """
    size = size or ChartSize()
    xs = np.concatenate([c.steps for c in curves]) if curves else np.zeros(0)
    ys = np.concatenate([_scaled(c.values, log) for c in curves]) if curves else np.zeros(0)
    # Steps are exact: a range of two steps among billions is one. Values of a flat curve differ by rounding.
    x_range = _span(xs[np.isfinite(xs)], least=1e-15)
    finite = np.isfinite(xs) & np.isfinite(ys)
    y_range = _span(ys[finite], margin=0.05)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size.width:.0f} {size.height:.0f}" '
        f'style="width:100%;max-width:{size.width:.0f}px" role="img" aria-label="line chart" '
        'font-family="system-ui, sans-serif" font-size="11" fill="currentColor">',
        *_axes(x_range, y_range, log, size),
    ]
    for number, curve in enumerate(curves):
        colour = COLOURS[number % len(COLOURS)]
        smooth = curve.smooth is not None
        parts += _line(curve.steps, _scaled(curve.values, log), x_range, y_range, colour, smooth, size)
        if curve.smooth is not None:
            parts += _line(curve.steps, _scaled(curve.smooth, log), x_range, y_range, colour, False, size)
        parts += _break(curve, x_range, colour, size)
    if legend:
        parts += _legend(curves, size)
    if not finite.any():
        middle = f'x="{size.width / 2:.0f}" y="{size.height / 2:.0f}" text-anchor="middle"'
        parts.append(f"<text {middle}>no finite values yet</text>")
    return "".join(parts) + "</svg>"


def _scaled(values: np.ndarray, log: bool) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = np.log10(values) if log else values
        return np.where(np.abs(scaled) < LARGEST, scaled, np.nan)


def _span(values: np.ndarray, margin: float = 0.0, least: float = 1e-9) -> tuple[float, float]:
    if not len(values):
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    if high - low <= max(abs(low), abs(high), SMALLEST) * least:
        pad = min(max(abs(low) / 2, SMALLEST), 0.5) if abs(low) < 1 else abs(low) / 10
        return low - pad, high + pad
    return low - margin * (high - low), high + margin * (high - low)


def _ticks(low: float, high: float, count: float) -> list[float]:
    """Returns at most about `count` round numbers in a range."""
    min_step = (high - low) / count
    power = 10.0 ** math.floor(math.log10(min_step))
    step = next(power * k for k in (1, 2, 5, 10) if power * k >= min_step)
    first = math.ceil(low / step)
    return [step * k for k in range(first, math.floor(high / step) + 1)]


def _place(value: float, span: tuple[float, float], start: float, end: float) -> float:
    return start + (value - span[0]) / (span[1] - span[0]) * (end - start)


def _axes(x_range: tuple[float, float], y_range: tuple[float, float], log: bool, size: ChartSize) -> list[str]:
    right, bottom = size.right, size.bottom
    out = []
    for tick in _ticks(*y_range, bottom / 37):
        y = _place(tick, y_range, bottom, TOP)
        text = f"{10.0 ** min(tick, 300):.3g}" if log else f"{tick:.6g}"
        out.append(
            f'<path d="M{LEFT} {y:.1f}H{right}" stroke="currentColor" stroke-opacity=".15"/>'
            f'<text x="{LEFT - 7}" y="{y + 4:.1f}" text-anchor="end" opacity=".8">{text}</text>'
        )
    for tick in _ticks(*x_range, size.width / TICK_WIDTH):
        x = _place(tick, x_range, LEFT, right)
        out.append(
            f'<path d="M{x:.1f} {bottom}v4" stroke="currentColor" stroke-opacity=".6"/>'
            f'<text x="{x:.1f}" y="{bottom + 17}" text-anchor="middle" opacity=".8">{tick:g}</text>'
        )
    out.append(
        f'<path d="M{LEFT} {TOP}V{bottom}H{right}" fill="none" stroke="currentColor" '
        f'stroke-opacity=".6"/><text x="{(LEFT + right) / 2:.0f}" y="{size.height - 6}" '
        'text-anchor="middle" opacity=".8">step</text>'
    )
    return out


def _line(
    steps: np.ndarray,
    values: np.ndarray,
    x_range: tuple[float, float],
    y_range: tuple[float, float],
    colour: str,
    faint: bool,
    size: ChartSize,
) -> list[str]:
    path, is_connected, points = [], False, []
    for step, value in zip(steps.tolist(), values.tolist(), strict=True):
        if not (math.isfinite(step) and math.isfinite(value)):
            is_connected = False
            continue
        x = _place(step, x_range, LEFT, size.right)
        y = _place(value, y_range, size.bottom, TOP)
        path.append(f"{'L' if is_connected else 'M'}{x:.1f} {y:.1f}")
        points.append((x, y))
        is_connected = True
    style = 'stroke-width="1" stroke-opacity=".35"' if faint else 'stroke-width="1.8"'
    out = [f'<path d="{"".join(path)}" fill="none" stroke="{colour}" {style}/>'] if path else []
    if 0 < len(points) <= 40 and not faint:
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>' for x, y in points]
    return out


def _break(curve: Curve, x_range: tuple[float, float], colour: str, size: ChartSize) -> list[str]:
    """Returns a mark at the first value that is not finite; the legend has the words."""
    broken = curve.break_off
    if broken is None or not math.isfinite(broken.step):
        return []
    x = _place(broken.step, x_range, LEFT, size.right)
    return [f'<path d="M{x:.1f} {TOP}V{size.bottom}" stroke="{colour}" stroke-width="1.4" stroke-dasharray="5 3"/>']


def _legend(curves: Sequence[Curve], size: ChartSize) -> list[str]:
    out = []
    for number, curve in enumerate(curves):
        y, colour = TOP + 14 + 16 * number, COLOURS[number % len(COLOURS)]
        out.append(
            f'<path d="M{size.right - 16} {y - 4}h14" stroke="{colour}" stroke-width="3"/>'
            f'<text x="{size.right - 22}" y="{y}" text-anchor="end">{escape(curve.label)}</text>'
        )
    return out
