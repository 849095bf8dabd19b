"""The builder's drawing as a static picture with the Python below it, for saved notebooks and nbconvert.

Invariant: every text is escaped, and all colours are either `currentColor` or readable on light and dark backgrounds,
so that one picture suits every theme and needs no style sheet, script or network.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from tfnb.notebook.graph.layered_layout import layered
from tfnb.notebook.protocol.builder import BuilderNode, OutputPort

__all__ = ["builder_html", "builder_picture"]

COLOURS = {"op": "#0072b2", "layer": "#009e73", "function": "#cc79a7", "code": "#8d8d99"}
PROBLEM = "#d55e00"
FONT = "Helvetica Neue, Helvetica, Arial, Liberation Sans, sans-serif"
CHAR, SMALL_CHAR = 6.9, 5.4  # the mean width of a letter at 12 and 9.5 pixels
LONGEST, LEAST_WIDTH, PAD, LINE, MARGIN = 34, 70.0, 9.0, 13.0, 10.0
MOST_NODES, MOST_HEIGHT, MOST_CODE = 300, 640, 100_000
Box = tuple[float, float, float, float]


def builder_html(picture: str, source: str) -> str:
    """Returns the HTML of a saved notebook: the picture, and the code that can be folded."""
    if len(source) > MOST_CODE:
        source = source[:MOST_CODE] + "\n..."
    code = f"<pre style='overflow:auto;max-height:30em'>{escape(source)}</pre>" if source.strip() else ""
    return f"{picture}<details open='open'><summary>Python</summary>{code}</details>" if code else picture


def builder_picture(nodes: Sequence[BuilderNode], positions: Mapping[str, Sequence[float]]) -> str:
    """Returns the SVG of the nodes at their positions, or in layers if one of them has none."""
    if not nodes:
        return "<p>The graph is empty.</p>"
    left_out = max(0, len(nodes) - MOST_NODES)
    nodes = nodes[:MOST_NODES]
    boxes = _boxes(nodes, positions)
    x0, y0 = min(b[0] for b in boxes.values()) - MARGIN, min(b[1] for b in boxes.values()) - MARGIN
    x1 = max(b[0] + b[2] for b in boxes.values()) + MARGIN
    y1 = max(b[1] + b[3] for b in boxes.values()) + MARGIN
    wires = [
        _wire(boxes[port["wire"]["node"]], boxes[node["id"]])
        for node in nodes
        for port in node["inputs"]
        if port["wire"] is not None and port["wire"]["node"] in boxes
    ]
    label = f"graph of {len(nodes) + left_out:,} nodes"
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{label}" width="{x1 - x0:.0f}" '
        f'height="{y1 - y0:.0f}" viewBox="{x0:.1f} {y0:.1f} {x1 - x0:.1f} {y1 - y0:.1f}" '
        f'style="max-width:100%;height:auto" font-family="{FONT}" fill="currentColor">'
        f'<g fill="none" stroke="currentColor" stroke-opacity=".55" stroke-width="1.3">{"".join(wires)}</g>'
        f"{''.join(_node(node, boxes[node['id']]) for node in nodes)}</svg>"
    )
    more = f"<p>and {left_out:,} more nodes</p>" if left_out else ""
    return f'<div style="overflow:auto;max-height:{MOST_HEIGHT}px">{svg}</div>{more}'


def _lines(node: BuilderNode) -> tuple[str, str]:
    title = node["title"] if node["id"].startswith("line:") else f"{node['id']} = {node['title']}"
    return _short(title), _short(_spec(node["outputs"][0])) if node["outputs"] else ""


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _spec(output: OutputPort) -> str:
    if not output["dtype"]:
        return ""
    if output["shape"] is None:
        return f"{output['dtype']}, any shape"
    return f"{output['dtype']} [{', '.join('?' if n is None else str(n) for n in output['shape'])}]"


def _boxes(nodes: Sequence[BuilderNode], positions: Mapping[str, Sequence[float]]) -> dict[str, Box]:
    sizes = []
    for node in nodes:
        first, second = _lines(node)
        width = max(len(first) * CHAR, len(second) * SMALL_CHAR, LEAST_WIDTH - 2 * PAD) + 2 * PAD
        sizes.append((width, (2 if second else 1) * LINE + PAD))
    if all(node["id"] in positions for node in nodes):
        corners = [(positions[node["id"]][0], positions[node["id"]][1]) for node in nodes]
    else:
        numbers = {node["id"]: k for k, node in enumerate(nodes)}
        edges = [
            (numbers[port["wire"]["node"]], k)
            for k, node in enumerate(nodes)
            for port in node["inputs"]
            if port["wire"] is not None and port["wire"]["node"] in numbers
        ]
        corners = layered(sizes, edges).corners
    return {node["id"]: (*at, *size) for node, at, size in zip(nodes, corners, sizes, strict=True)}


def _wire(start: Box, stop: Box) -> str:
    """Returns a curve from one box to another: to the right if the other stands there, else down."""
    if start[0] + start[2] < stop[0]:
        ax, ay, bx, by = start[0] + start[2], start[1] + start[3] / 2, stop[0], stop[1] + stop[3] / 2
        bend = (bx - ax) / 2
        return f'<path d="M{ax:.1f} {ay:.1f}C{ax + bend:.1f} {ay:.1f} {bx - bend:.1f} {by:.1f} {bx:.1f} {by:.1f}"/>'
    ax, ay, bx, by = start[0] + start[2] / 2, start[1] + start[3], stop[0] + stop[2] / 2, stop[1]
    bend = max(abs(by - ay) / 2, 12)
    return f'<path d="M{ax:.1f} {ay:.1f}C{ax:.1f} {ay + bend:.1f} {bx:.1f} {by - bend:.1f} {bx:.1f} {by:.1f}"/>'


def _node(node: BuilderNode, box: Box) -> str:
    x, y, width, height = box
    problem = node["problem"]
    colour = PROBLEM if problem is not None else COLOURS[node["kind"]]
    dashes = ' stroke-dasharray="5 3"' if problem is not None else ""
    first, second = _lines(node)
    tooltip = node["source"] if problem is None else f"{node['source']}\n{problem['text']}"
    middle = x + width / 2
    lines = (
        f'<text x="{middle:.1f}" y="{y + PAD / 2 + 10:.1f}" font-size="12" text-anchor="middle">{escape(first)}</text>'
    )
    if second:
        lines += (
            f'<text x="{middle:.1f}" y="{y + PAD / 2 + 10 + LINE:.1f}" font-size="9.5" text-anchor="middle" '
            f'fill-opacity=".75">{escape(second)}</text>'
        )
    return (
        f"<g><title>{escape(tooltip[:500])}</title>"
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="5" fill="{colour}" '
        f'fill-opacity=".14" stroke="{colour}" stroke-width="1.3"{dashes}/>{lines}</g>'
    )
