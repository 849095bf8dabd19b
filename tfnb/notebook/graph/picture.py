"""The graph view as a static picture: the same boxes as SVG, for saved notebooks, nbconvert and papers.

Invariant: every text is escaped, and all colours are either `currentColor` or readable on light and dark backgrounds,
so that one picture suits every theme and needs no style sheet, script or network.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import count
from typing import Any

from tfnb.notebook.graph.extracted_nodes import ATTACHED
from tfnb.notebook.graph.layered_layout import Layout, Point, Size, layered
from tfnb.notebook.graph.model import GraphModel
from tfnb.notebook.protocol.graph import KINDS, GraphOptions

__all__ = ["graph_picture", "opened_boxes"]

# The number of boxes that a reader can take in at once.
ROOM = 22
COLOURS = {"input": "#009e73", "variable": "#e69f00", "constant": "#999999", "flow": "#cc79a7"}
GROUPS = (
    "#77aadd",
    "#ee8866",
    "#44bb99",
    "#d9c04c",
    "#ff8fa3",
    "#66bbdd",
    "#a9b82a",
    "#b48ccc",
    "#aaaa00",
)
GREY = "#8d8d99"
FONT = "Helvetica Neue, Helvetica, Arial, Liberation Sans, sans-serif"
CHAR, SMALL_CHAR = 6.9, 5.4  # the mean width of a letter at 12 and 9.5 pixels
LONGEST, MOST_EXTRACTED = 28, 12
LINE, PAD, TITLE, MARGIN, LEGEND = 13.0, 9.0, 20.0, 10.0, 22.0
PORT: Size = (2.0, 2.0)
# A higher picture gets a scroll bar.
MOST_HEIGHT = 640
_numbers = count(1)


@dataclass(slots=True)
class _Drawn:
    """A box with its size; if it is open, with the layout of its parts."""

    box: int
    size: Size
    lines: tuple[str, str] = ("", "")
    parts: list[_Drawn] = field(default_factory=list)
    layout: Layout | None = None
    edges: list[tuple[int, int, int]] = field(
        default_factory=list
    )  # (start, stop, bundle or -1); start and stop are indices of parts
    anchors: tuple[float, float] | None = None  # where edges enter and leave, measured from the left side


class _Draft:
    def __init__(self, model: GraphModel, opened: set[int]) -> None:
        self.model = model
        self.opened = opened
        self.edges: dict[int, list[int]] = {}
        b = model.bundles
        for k, scope in enumerate(model.tree.parent[b.start].tolist()):
            self.edges.setdefault(scope, []).append(k)

    def shown(self, scope: int) -> list[int]:
        parts = self.model.tree.parts(scope)
        return [p for p in parts if not self.model.extracted[p]] or parts

    def measure(self, box: int) -> _Drawn:
        if box not in self.opened:
            lines = _lines(self.model, box)
            width = max(len(lines[0]) * CHAR, len(lines[1]) * SMALL_CHAR) + 2 * PAD
            return _Drawn(box, (width, (2 if lines[1] else 1) * LINE + PAD), lines)
        parts = self.shown(box)
        drawing = _Drawn(box, (0, 0), (_short(self.model.tree.label[box]), ""), [self.measure(p) for p in parts])
        self._connect(drawing, parts)
        return drawing

    def _connect(self, drawn: _Drawn, shown: Sequence[int]) -> None:
        model, box = self.model, drawn.box
        number = {b: i for i, b in enumerate(shown)}
        sizes = [part.size for part in drawn.parts]
        for k in self.edges.get(box, ()):
            a, b = number.get(int(model.bundles.start[k])), number.get(int(model.bundles.stop[k]))
            if a is not None and b is not None:
                drawn.edges.append((a, b, k))
        inlet = outlet = None
        if box and any(model.inlet[b] for b in shown):
            inlet = len(sizes)
            sizes.append(PORT)
            drawn.edges += [(inlet, i, -1) for i, b in enumerate(shown) if model.inlet[b]]
        if box and any(model.outlet[b] for b in shown):
            outlet = len(sizes)
            sizes.append(PORT)
            drawn.edges += [(i, outlet, -1) for i, b in enumerate(shown) if model.outlet[b]]
        anchors = {i: part.anchors for i, part in enumerate(drawn.parts) if part.anchors}
        layout = drawn.layout = layered(sizes, [(a, b) for a, b, _ in drawn.edges], inlet, outlet, anchors)
        drawn.size = layout.size
        if box:
            width, height = layout.size
            full = max(width, len(drawn.lines[0]) * CHAR) + 2 * PAD
            drawn.size = (full, height + 2 * TITLE)
            shift = (full - width) / 2
            enter_x, exit_x = (
                full / 2 if port is None else layout.corners[port][0] + PORT[0] / 2 + shift for port in (inlet, outlet)
            )
            drawn.anchors = (enter_x, exit_x)


def opened_boxes(model: GraphModel, paths: Sequence[str] | None = None) -> set[int]:
    """Returns the boxes that are open at first: those of the paths and their ancestors, or as many as there is room
    for.
    """
    open_boxes = {0}
    if paths is not None:
        for path in paths:
            box = model.box(path)
            while box > 0:
                if model.tree.parts(box):
                    open_boxes.add(box)
                box = int(model.tree.parent[box])
        return open_boxes
    parts_of = _Draft(model, open_boxes).shown

    def scopes(boxes: Sequence[int]) -> list[int]:
        """Returns the scopes worth opening: those that data flows into, or that no data flows out of."""
        candidates = []
        for b in boxes:
            parts = model.tree.parts(b)
            if KINDS[model.kind[b]] == "scope" and (model.inlet[parts].any() or not model.outlet[parts].any()):
                candidates.append(b)
        return candidates

    n_shown = len(parts_of(0))
    closed = scopes(parts_of(0))
    while closed:
        smallest = min(closed, key=lambda b: len(parts_of(b)))
        parts = parts_of(smallest)
        n_shown += len(parts) - 1
        if n_shown > ROOM:
            break
        open_boxes.add(smallest)
        closed = [b for b in closed if b != smallest] + [b for b in parts if KINDS[model.kind[b]] == "scope"]
    return open_boxes


def graph_picture(model: GraphModel, options: GraphOptions | None = None) -> str:
    """Returns the HTML of the drawing in a frame that scrolls, and of a line with the number of operations."""
    total = int(model.nodes[0])
    if not total:
        return "<p>an empty dataflow graph</p>"
    open_boxes = opened_boxes(model, (options or {}).get("open"))
    root = _Draft(model, open_boxes).measure(0)
    notes = [f"dataflow graph: {_amount(total)}"]
    extracted = [b for b in model.tree.parts(0) if model.extracted[b] not in (0, ATTACHED)]
    if extracted and len(extracted) < len(model.tree.parts(0)):
        extracted.sort(key=lambda b: -model.nodes[b])
        names = [f"{_short(model.tree.label[b])} ({_amount(int(model.nodes[b]))})" for b in extracted[:MOST_EXTRACTED]]
        names += [f"{len(extracted) - MOST_EXTRACTED:,} more"] * (len(extracted) > MOST_EXTRACTED)
        notes.append(f"auxiliary nodes: {', '.join(names)}")
    return (
        f'<div class="tfnb-graph" style="max-height:{MOST_HEIGHT}px;overflow:auto">{_svg(model, root)}</div>'
        f'<p style="font-size:smaller;opacity:.8">{escape("; ".join(notes))}</p>'
    )


def _amount(n: int) -> str:
    return "1 operation" if n == 1 else f"{n:,} operations"


def _short(text: str) -> str:
    text = " ".join(text.split()) or "(no name)"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 9]}…{text[-8:]}"


def _lines(model: GraphModel, box: int) -> tuple[str, str]:
    """Returns the lines of text in a closed box."""
    label, kind, node = model.tree.label[box], KINDS[model.kind[box]], int(model.tree.node[box])
    if kind == "series":
        return _short(label), f"{len(model.tree.parts(box)):,} similar"
    if kind == "scope":
        return _short(label), f"{int(model.nodes[box]):,} ops"
    outputs = model.table.outputs[node]
    shape = model.table.specs[outputs[0]].partition(" ")[2] if outputs else ""
    op = model.table.types[node]
    is_redundant = label.rstrip("_0123456789").lower() == op.lower() or kind in (
        "variable",
        "input",
        "constant",
    )
    return _short(label), _short(f"{'' if is_redundant else op} {shape}".strip()) if shape or not is_redundant else ""


def _svg(model: GraphModel, root: _Drawn) -> str:
    boxes = list(_leaves(root))
    legend, legend_width = _legend(model, boxes)
    width = max(root.size[0], legend_width) + 2 * MARGIN
    height = root.size[1] + 2 * MARGIN + LEGEND
    arrow = f"tfnb-arrow-{next(_numbers)}"
    return "".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="dataflow graph" '
            f'font-family="{FONT}" font-size="12" fill="currentColor">',
            f'<defs><marker id="{arrow}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L8 4L0 8z" fill="currentColor" opacity=".7"/>'
            "</marker></defs>",
            f'<g transform="translate({MARGIN} {MARGIN + LEGEND})">',
            *_inner(model, root, arrow),
            f'</g><g transform="translate({MARGIN} {MARGIN})">{legend}</g></svg>',
        )
    )


def _inner(model: GraphModel, drawn: _Drawn, arrow: str) -> list[str]:
    """Returns the content of an open box, in its own coordinates."""
    layout = drawn.layout
    if layout is None:
        return []
    out: list[str] = []
    parts = len(drawn.parts)
    for a, b, bundle in drawn.edges:
        if a == b:
            continue
        route = layout.routes[a, b]
        if a >= parts:  # from the upper side of the frame, TITLE above the content
            route = [(route[0][0], -TITLE), *route]
        if b >= parts:
            route = [*route, (route[-1][0], layout.size[1] + TITLE)]
        # An arrow only if the edge ends at a closed box; inside an open box the edge continues.
        has_arrow = b < parts and drawn.parts[b].layout is None
        out.append(_edge(model, route, bundle, arrow if has_arrow else ""))
    for part, (x, y) in zip(drawn.parts, layout.corners, strict=False):
        out.append(f'<g transform="translate({x:.1f} {y:.1f})">{_box(model, part, arrow)}</g>')
    return out


def _edge(model: GraphModel, points: list[Point], bundle: int, arrow: str) -> str:
    tensors = 1 if bundle < 0 else int(model.bundles.tensors[bundle])
    style = "" if tensors else ' stroke-dasharray="4 3"'
    head = f' marker-end="url(#{arrow})"' if arrow else ""
    label = ""
    if bundle >= 0:
        spec = int(model.bundles.spec[bundle])
        shape = model.table.specs[spec] if spec >= 0 else ""
        label = "control edge" if not tensors else shape if tensors == 1 else f"{tensors:,} tensors {shape}".strip()
    width = 1.2 + 0.5 * min(max(tensors, 1).bit_length() - 1, 7)
    return (
        f'<path d="{_curve(points)}" fill="none" stroke="currentColor" stroke-opacity=".5" '
        f'stroke-width="{width:.1f}"{style}{head}><title>{escape(label)}</title></path>'
    )


def _curve(points: list[Point]) -> str:
    """Returns a smooth path through points. It is vertical at its ends, and elsewhere parallel to the line between the
    neighbours of a point.
    """
    last = len(points) - 1
    path = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
    for i, ((x, y), (to_x, to_y)) in enumerate(zip(points, points[1:], strict=False)):
        half_height = (to_y - y) / 2
        slope = _slope(points[i - 1], points[i + 1]) if i else 0.0
        to_slope = _slope(points[i], points[i + 2]) if i + 1 < last else 0.0
        path.append(
            f"C{x + slope * half_height * 0.7:.1f} {y + half_height * 0.7:.1f} "
            f"{to_x - to_slope * half_height * 0.7:.1f} {to_y - half_height * 0.7:.1f} {to_x:.1f} {to_y:.1f}"
        )
    return "".join(path)


def _slope(before: Point, after: Point) -> float:
    down = after[1] - before[1]
    return (after[0] - before[0]) / down if down else 0.0


def _box(model: GraphModel, drawn: _Drawn, arrow: str) -> str:
    kind, (width, height) = KINDS[model.kind[drawn.box]], drawn.size
    colour = _colour(model, drawn.box) or GREY
    radius = height / 2 if kind in ("input", "variable") and drawn.layout is None else 6
    alpha = 0.07 if drawn.layout else 0.3 if colour != GREY else 0.1
    frame = (
        f'<rect width="{width:.1f}" height="{height:.1f}" rx="{min(radius, 17):.0f}" fill="{colour}" '
        f'fill-opacity="{alpha}" stroke="{colour}"/>'
    )
    first, second = drawn.lines
    if drawn.layout:
        shift = (width - drawn.layout.size[0]) / 2
        title = f'<text x="{PAD}" y="14" opacity=".8" font-weight="600">{escape(first)}</text>'
        inner = "".join(_inner(model, drawn, arrow))
        return f'{frame}{title}<g transform="translate({shift:.1f} {TITLE})">{inner}</g>'
    if kind == "series":
        frame = f'<g opacity=".6" transform="translate(4 -4)">{frame}</g>{frame}'
    weight_attribute = ' font-weight="600"' if kind in ("scope", "series") else ""
    text = f'<text x="{width / 2:.1f}" y="{PAD + 7:.0f}" text-anchor="middle"{weight_attribute}>{escape(first)}</text>'
    if second:
        text += (
            f'<text x="{width / 2:.1f}" y="{PAD + 20:.0f}" text-anchor="middle" font-size="9.5" '
            f'opacity=".75">{escape(second)}</text>'
        )
    return f"<g><title>{escape(_tooltip(model, drawn.box))}</title>{frame}{text}</g>"


def _colour(model: GraphModel, box: int) -> str:
    kind = KINDS[model.kind[box]]
    if kind == "series":
        return _colour(model, model.tree.parts(box)[0])
    group = int(model.group[box])
    if kind == "scope":
        return "" if group < 0 else GROUPS[group % len(GROUPS)]
    return COLOURS.get(kind, "")


def _tooltip(model: GraphModel, box: int) -> str:
    """Returns the tooltip of a box: its full name, its type or size, and the source line that created it."""
    node = int(model.tree.node[box])
    path = model.tree.path(box)
    if node < 0:
        return f"{path}: {_amount(int(model.nodes[box]))}"
    lines = [f"{path} = {model.table.types[node]}"]
    lines += [model.table.specs[spec] for spec in model.table.outputs[node]]
    if model.table.devices[node]:
        lines.append(f"on {model.table.devices[node]}")
    lines += [f"source: {text}" for label, text in model.card(box)["rows"] if label == "source"]
    return "\n".join(lines)


def _leaves(drawn: _Drawn) -> Any:
    for part in drawn.parts:
        yield from _leaves(part)
    if drawn.layout is None:
        yield drawn.box


def _legend(model: GraphModel, boxes: Sequence[int]) -> tuple[str, float]:
    rows = [(COLOURS[kind], kind) for kind in COLOURS if any(KINDS[model.kind[b]] == kind for b in boxes)]
    groups: dict[int, list[int]] = {}
    for b in boxes:
        if KINDS[model.kind[b]] == "scope" and model.group[b] >= 0:
            groups.setdefault(int(model.group[b]), []).append(b)
    for group, members in sorted(groups.items())[:4]:
        if len(members) > 1:
            label = _short(model.tree.label[members[0]])
            rows.append((GROUPS[group % len(GROUPS)], f"same structure: {label} × {len(members)}"))
    x, out = 0.0, []
    for colour, text in rows:
        out.append(
            f'<rect x="{x:.1f}" width="10" height="10" rx="3" fill="{colour}" fill-opacity=".35" stroke="{colour}"/>'
            f'<text x="{x + 15:.1f}" y="9" font-size="9.5">{escape(text)}</text>'
        )
        x += 15 + len(text) * SMALL_CHAR + 14
    return "".join(out), x
