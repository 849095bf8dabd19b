"""How wires are drawn: through points, or as named stubs. It is a part of the places, not of the code.

The key of a wire is its node and port, `node>port`; its value are the coordinates of the points, one after the other,
or [] for stubs. Invariant: a route changes no byte of the source.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

from tfnb.errors import InvalidArgumentError
from tfnb.notebook.builder.drawing import node_of
from tfnb.notebook.builder.state import Change, State
from tfnb.notebook.protocol.builder_details import RouteWire

__all__ = ["is_shown", "renamed_places", "route_wire"]

_MOST_POINTS = 100


def route_wire(state: State, edit: RouteWire) -> Change:
    """Draws a wire through points, as stubs, or with neither straight."""
    statement, port = state.statement(edit["node"]), edit["port"]
    ports = node_of(state.program, state.built, statement)["inputs"]
    if not any(p["name"] == port and p["wire"] is not None for p in ports):
        raise InvalidArgumentError(f"{port} of {statement.id} has no wire")
    points = [float(v) for point in edit["points"] for v in point]
    is_sound = all(len(point) == 2 for point in edit["points"]) and all(
        math.isfinite(v) and abs(v) < 1e7 for v in points
    )
    if not is_sound or len(points) > 2 * _MOST_POINTS:
        raise InvalidArgumentError(
            f"needed at most {_MOST_POINTS} points of two coordinates, got {edit['points']!r:.80}"
        )
    change = Change(state.program.source, message=f"{port} of {statement.id} is drawn straight")
    key = f"{statement.id}>{port}"
    if edit["is_link"]:
        change.positions[key], change.message = [], f"{port} of {statement.id} is a named link"
    elif points:
        change.positions[key], change.message = (
            points,
            f"{port} of {statement.id} goes through {len(points) // 2} {'bend' if len(points) == 2 else 'bends'}",
        )
    else:
        change.removed.append(key)
    return change


def renamed_places(positions: Mapping[str, list[float]], renamed: Mapping[str, str]) -> dict[str, list[float]]:
    """Returns the places under the new ids of nodes."""
    result = {}
    for key, place in positions.items():
        node, mark, port = key.partition(">")
        result[renamed.get(node, node) + mark + port] = place
    return result


def is_shown(key: str, nodes: Collection[str]) -> bool:
    """Returns whether a place is that of a node of the drawing, or of one of its wires."""
    return key.partition(">")[0] in nodes
