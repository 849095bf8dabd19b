"""A dataflow graph as SVG: boxes coloured by kind, nested by scope, edges labelled with shapes.

Invariant: every text is escaped, and all colours are either `currentColor` or hold on light and dark
ground alike, so one picture serves every theme and needs no style sheet, script or network.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from itertools import count
from typing import Any

from tfnb.notebook.graph_layout import Layout, Point, Size, layered
from tfnb.notebook.graph_view import ROOM, Box, Wire, kinds, summarise

__all__ = ["graph_html", "graph_svg"]

COLOURS = {
    "input": "#2f9e6e",
    "variable": "#e08a2b",
    "operation": "#4a8fd9",
    "constant": "#8d8d99",
    "scope": "#8d8d99",
    "flow": "#b45cc7",
}
WORDS = {
    "input": "input",
    "variable": "variable",
    "operation": "operation",
    "constant": "constant",
    "scope": "scope",
    "flow": "control flow",
}
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace"
CHAR, SMALL_CHAR = 7.3, 6.1  # the width of a letter at 12 and 10 pixels
LONGEST = 26
LINE, PAD, TITLE = 15.0, 9.0, 20.0
PORT: Size = (2.0, 2.0)
MARGIN = 10.0
_numbers = count(1)


@dataclass(slots=True)
class _Drawn:
    """A box with its size and, for an opened scope, the layout of what is inside."""

    box: Box
    size: Size
    lines: tuple[str, str] = ("", "")
    parts: tuple[_Drawn, ...] = ()
    layout: Layout | None = None
    ports: tuple[int, int] = (-1, -1)  # numbers of the inlet and outlet among the laid out boxes
    anchors: tuple[float, float] | None = None  # where edges enter and leave, from the left side


def graph_svg(operations: Any, room: int = ROOM) -> str:
    """The SVG text for a list of operations, or for a graph."""
    root = summarise(_operations(operations), room)
    return _svg(root)


def graph_html(graph: Any, room: int = ROOM) -> str:
    """A graph as a notebook shows it: the drawing in a frame that scrolls, and a line on what it holds."""
    operations = _operations(graph)
    if not operations:
        return "<p>an empty dataflow graph</p>"
    root = summarise(operations, room)
    shown = sum(len(box.ops) for box in root.inside)
    rest = ", ".join(f"{box.name} ({_amount(len(box.ops))})" for box in root.aside)
    notes = [f"dataflow graph: {_amount(len(operations))}"]
    if rest:
        notes.append(f"set aside, being connected to most of it: {rest}")
    hidden = len(operations) - shown - sum(len(box.ops) for box in root.aside)
    if hidden:
        notes.append(f"{hidden} constants not shown")
    return (
        '<div class="tfnb-graph" style="max-height:640px;overflow:auto">'
        f"{_svg(root)}</div>"
        f'<p style="font-size:smaller;opacity:.8">{escape("; ".join(notes))}</p>'
    )


def _operations(graph: Any) -> list[Any]:
    return graph.get_operations() if hasattr(graph, "get_operations") else list(graph)


def _amount(n: int) -> str:
    return "1 operation" if n == 1 else f"{n:,} operations"


def _svg(root: Box) -> str:
    drawn = _measure(root)
    legend, legend_width = _legend(root)
    width = max(drawn.size[0], legend_width) + 2 * MARGIN
    height = drawn.size[1] + 2 * MARGIN + 22
    arrow = f"tfnb-arrow-{next(_numbers)}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="dataflow graph" '
        f'font-family="{FONT}" font-size="12" fill="currentColor">',
        f'<defs><marker id="{arrow}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="currentColor" '
        'opacity=".7"/></marker></defs>',
        f'<g transform="translate({MARGIN} {MARGIN + 22})">',
        *_inner(drawn, arrow),
        "</g>",
        f'<g transform="translate({MARGIN} {MARGIN})">{legend}</g>',
        "</svg>",
    ]
    return "".join(parts)


def _measure(box: Box) -> _Drawn:
    if not box.opened:
        lines = _lines(box)
        width = max(len(lines[0]) * CHAR, len(lines[1]) * SMALL_CHAR) + 2 * PAD
        return _Drawn(box, (width, (2 if lines[1] else 1) * LINE + PAD), lines)
    parts = tuple(_measure(part) for part in box.inside)
    sizes = [part.size for part in parts]
    inlet = outlet = -1
    if any(a < 0 for a, _ in box.wires):
        inlet = len(sizes)
        sizes.append(PORT)
    if any(b < 0 for _, b in box.wires):
        outlet = len(sizes)
        sizes.append(PORT)
    edges = [(inlet if a < 0 else a, outlet if b < 0 else b) for a, b in box.wires]
    first, last = (None if port < 0 else port for port in (inlet, outlet))
    anchors = {i: part.anchors for i, part in enumerate(parts) if part.anchors}
    layout = layered(sizes, edges, first, last, anchors)
    drawn = _Drawn(box, layout.size, (_shorten(box.label), ""), parts, layout, (inlet, outlet))
    if box.name:
        width, height = layout.size
        title = len(drawn.lines[0]) * CHAR
        drawn.size = (max(width, title) + 2 * PAD, height + 2 * TITLE)
        shift = (drawn.size[0] - width) / 2
        middle = drawn.size[0] / 2
        enter, leave = (
            middle if port < 0 else layout.corners[port][0] + PORT[0] / 2 + shift
            for port in drawn.ports
        )
        drawn.anchors = (enter, leave)
    return drawn


def _lines(box: Box) -> tuple[str, str]:
    if box.op is None:
        return _shorten(box.label), _amount(len(box.ops))
    outputs = box.op.outputs
    shape = _shape(outputs[0]) if outputs else ""
    kind = "" if box.label.rstrip("_0123456789").lower() == box.op.type.lower() else box.op.type
    return _shorten(box.label), _shorten(f"{kind} {shape}".strip())


def _shape(tensor: Any) -> str:
    """`?x784`, `scalar`, or nothing where not even the rank is known."""
    shape = tensor.get_shape()
    if shape.ndims is None:
        return ""
    dims = shape.as_list()
    return "×".join("?" if d is None else str(d) for d in dims) if dims else "scalar"


def _shorten(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 9]}…{text[-8:]}"


def _inner(drawn: _Drawn, arrow: str) -> list[str]:
    """What is inside an opened scope, in its own coordinates."""
    layout = drawn.layout
    if layout is None:
        return []
    out: list[str] = []
    inlet, outlet = drawn.ports
    for (a, b), wire in drawn.box.wires.items():
        route = layout.routes[inlet if a < 0 else a, outlet if b < 0 else b]
        if a < 0:  # from the frame's upper side, TITLE above what is inside
            route = [(route[0][0], -TITLE), *route]
        if b < 0:
            route = [*route, (route[-1][0], layout.size[1] + TITLE)]
        # An arrow where the wire ends in a box that is not opened; there it goes on inside.
        ends = b >= 0 and not drawn.parts[b].box.opened
        out.append(_wire(route, wire, arrow if ends else ""))
    for part, (x, y) in zip(drawn.parts, layout.corners, strict=False):
        out.append(f'<g transform="translate({x:.1f} {y:.1f})">{_box(part, arrow)}</g>')
    return out


def _wire(points: list[Point], wire: Wire, arrow: str) -> str:
    path = _curve(points)
    style = ' stroke-dasharray="4 3"' if wire.control else ""
    head = f' marker-end="url(#{arrow})"' if arrow else ""
    told = ", ".join(f"{t.name} {t.dtype.name} [{_shape(t)}]" for t in wire.tensors)
    return (
        f'<path d="{path}" fill="none" stroke="currentColor" stroke-opacity=".55" '
        f'stroke-width="1.2"{style}{head}><title>{escape(told or "control edge")}</title></path>'
    )


def _curve(points: list[Point]) -> str:
    """A smooth path: upright at its ends, along the line of its neighbours in between."""
    last = len(points) - 1
    path = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
    for i, ((x, y), (to_x, to_y)) in enumerate(zip(points, points[1:], strict=False)):
        reach = (to_y - y) / 2
        slope = _slope(points[i - 1], points[i + 1]) if i else 0.0
        to_slope = _slope(points[i], points[i + 2]) if i + 1 < last else 0.0
        path.append(
            f"C{x + slope * reach * 0.7:.1f} {y + reach * 0.7:.1f} "
            f"{to_x - to_slope * reach * 0.7:.1f} {to_y - reach * 0.7:.1f} {to_x:.1f} {to_y:.1f}"
        )
    return "".join(path)


def _slope(before: Point, after: Point) -> float:
    down = after[1] - before[1]
    return (after[0] - before[0]) / down if down else 0.0


def _box(drawn: _Drawn, arrow: str) -> str:
    box, (width, height) = drawn.box, drawn.size
    colour = COLOURS[box.kind]
    radius = 10 if box.kind in ("input", "variable") else 4
    frame = (
        f'<rect width="{width:.1f}" height="{height:.1f}" rx="{radius}" fill="{colour}" '
        f'fill-opacity="{0.07 if box.opened else 0.2}" stroke="{colour}"/>'
    )
    if box.opened:
        layout_width = drawn.layout.size[0] if drawn.layout else 0.0
        shift = (width - layout_width) / 2
        title = f'<text x="{PAD}" y="14" opacity=".8">{escape(drawn.lines[0])}</text>'
        inner = "".join(_inner(drawn, arrow))
        return f'{frame}{title}<g transform="translate({shift:.1f} {TITLE})">{inner}</g>'
    middle = width / 2
    first, second = drawn.lines
    text = f'<text x="{middle:.1f}" y="{PAD + 8:.0f}" text-anchor="middle">{escape(first)}</text>'
    if second:
        text += (
            f'<text x="{middle:.1f}" y="{PAD + 22:.0f}" text-anchor="middle" font-size="10" '
            f'opacity=".75">{escape(second)}</text>'
        )
    return f"<g><title>{escape(_told(box))}</title>{frame}{text}</g>"


def _told(box: Box) -> str:
    """The tooltip: the whole name, types, outputs, device and the user's line."""
    if box.op is None:
        return f"{box.name}: {_amount(len(box.ops))}"
    op = box.op
    lines = [f"{op.name} = {op.type}"]
    lines += [f"{t.name}: {t.dtype.name} [{_shape(t)}]" for t in op.outputs]
    if len(box.ops) > 1:
        lines.append("with " + ", ".join(inner.name for inner in box.ops[1:6]))
    if op.device:
        lines.append(f"on {op.device}")
    if op.origin is not None:
        lines.append(f"made at {op.origin}")
    return "\n".join(lines)


def _legend(root: Box) -> tuple[str, float]:
    x, out, present = 0.0, [], kinds(root)
    for kind, colour in COLOURS.items():
        if not present[kind]:
            continue
        out.append(
            f'<rect x="{x:.1f}" width="10" height="10" rx="3" fill="{colour}" fill-opacity=".35" '
            f'stroke="{colour}"/><text x="{x + 15:.1f}" y="9" font-size="10">{WORDS[kind]}</text>'
        )
        x += 15 + len(WORDS[kind]) * SMALL_CHAR + 14
    return "".join(out), x
