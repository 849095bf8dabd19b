"""`tf.show_graph`: a view of a graph to open, search and trace, for graphs of up to 36,000 nodes and more.

White paper, section 9.1. The output of the cell is a picture. If there is a kernel, the browser replaces the picture by
the live view, which asks the kernel only for the details of a selected node. Invariant: a saved notebook shows the
picture, also without a network.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import uuid4

from traitlets import Unicode

from tfnb.errors import InvalidArgumentError
from tfnb.ir.default import get_default_graph
from tfnb.notebook.assets import widget_module
from tfnb.notebook.channel import Channel
from tfnb.notebook.graph.model import GraphModel, graph_model
from tfnb.notebook.graph.picture import graph_picture
from tfnb.notebook.protocol.graph import (
    COLOURS,
    CardMessage,
    FromKernel,
    GraphMessage,
    GraphOptions,
)
from tfnb.notebook.replaceable_output import in_kernel

__all__ = ["GraphView", "LiveGraph", "show_graph"]

LEAST_HEIGHT, MOST_HEIGHT = 220, 4000
MOST_LIVE = 64  # the largest number of open channels; the oldest of more is closed


class GraphChannel(Channel):
    """The channel to the browser, which keeps in `shown` what is open and selected for a page that is loaded again."""

    _esm = widget_module("graph_widget")
    shown = Unicode().tag(sync=True)


_shown: deque[weakref.ref[GraphChannel]] = deque()


def _keep(channel: GraphChannel) -> None:
    """Registers an open channel, and closes the oldest one of too many.

    The widget library keeps every open channel in memory, and a cell that is run again does not close its last one.
    """
    _shown.append(weakref.ref(channel))
    while len(_shown) > MOST_LIVE:
        oldest = _shown.popleft()()
        if oldest is not None:
            oldest.close()


class LiveGraph:
    """A view of one or several graphs, each of which is built when it is first requested; `options` are as in
    TypeScript.

    `first`: the number of the graph that is shown at first.
    """

    def __init__(
        self, graphs: Sequence[tuple[str, Callable[[], GraphModel]]], options: GraphOptions, first: int = 0
    ) -> None:
        self._graphs = graphs
        self._options = options
        self._first = first
        self._models: dict[int, GraphModel] = {}
        self._messages: dict[int, bytes] = {}
        self._channels: list[weakref.ref[GraphChannel]] = []

    def model(self, stage: int) -> GraphModel:
        if stage not in self._models:
            self._models[stage] = self._graphs[stage][1]()
        return self._models[stage]

    def html(self) -> str:
        """Returns the HTML of the picture and, if there is a kernel, the element in which the live view appears."""
        picture = graph_picture(self.model(self._first), self._options)
        if not in_kernel() or not self.model(self._first).nodes[0]:
            return picture
        key = uuid4().hex
        channel = GraphChannel(key)
        channel.on_msg(self._received)
        self._channels.append(weakref.ref(channel))
        _keep(channel)
        return (
            f'<div id="tfnb-{key}" class="tfnb-graph-place" data-tfnb-view="{key}">{picture}</div>'
            f'<script>globalThis.tfnbViews?.["{key}"]?.(document.getElementById("tfnb-{key}"))</script>'
        )

    def close(self) -> None:
        """Closes the channels to the browser, which keep the graph in memory. The pictures stay."""
        for reference in self._channels:
            channel = reference()
            if channel is not None:
                channel.close()
        self._channels.clear()

    def _received(self, channel: GraphChannel, message: object, _buffers: object) -> None:
        """Handles a message from the browser, in the thread of a comm."""
        reply = self.answer(message) if isinstance(message, dict) else None
        if reply is not None:
            channel.send(reply[0], buffers=reply[1])

    def answer(self, message: Mapping[str, Any]) -> tuple[FromKernel, list[bytes]] | None:
        """Returns the reply to a message of the browser, and the reply's buffers; None for any other message."""
        stage = message.get("stage", self._first)
        if not isinstance(stage, int) or not 0 <= stage < len(self._graphs):
            return None
        if message.get("type") == "graph":
            if stage not in self._messages:
                self._messages[stage] = self.model(stage).to_bytes()
            names = [name for name, _ in self._graphs]
            graph: GraphMessage = {"type": "graph", "stage": stage, "stages": names, "options": self._options}
            return graph, [self._messages[stage]]
        box, model = message.get("box"), self.model(stage)
        if message.get("type") == "card" and isinstance(box, int) and 0 <= box < len(model.tree.parent):
            card: CardMessage = {"type": "card", "stage": stage, "card": model.card(box)}
            return card, []
        return None


def show_graph(
    graph: object = None,
    run_metadata: object = None,
    *,
    colour: str | None = None,
    open: Sequence[str] | None = None,
    height: int | None = None,
) -> GraphView:
    """Returns the view of a `tf.Graph` (default: the default graph), a GraphDef or its bytes, or a stage of the
    compiler.

    `run_metadata`: the metadata of a traced step, to colour nodes by time and memory. `colour`: "structure", "device",
    "time" or "memory". `open`: names of the scopes that are open at first (default: as many as there is room for).
    `height`: in pixels (default: as much as the drawing needs, at most 560). Raises `DTypeError` if `graph` is not a
    graph, and `InvalidArgumentError` for other wrong arguments.
    """
    return GraphView(graph, run_metadata, colour=colour, open=open, height=height)


class GraphView:
    """The view that `show_graph` returns. `model` contains boxes and edges as columns."""

    def __init__(
        self,
        graph: object = None,
        run_metadata: object = None,
        *,
        colour: str | None = None,
        open: Sequence[str] | None = None,
        height: int | None = None,
    ) -> None:
        colour_by = next((choice for choice in COLOURS if choice == colour), None)
        if colour is not None and colour_by is None:
            raise InvalidArgumentError(f"needed a colour of {', '.join(COLOURS)}, got {colour!r}")
        if height is not None and not LEAST_HEIGHT <= height <= MOST_HEIGHT:
            raise InvalidArgumentError(f"needed a height from {LEAST_HEIGHT} to {MOST_HEIGHT}, got {height}")
        self.model: GraphModel = graph_model(get_default_graph() if graph is None else graph, run_metadata)
        for path in open or ():
            self.model.box(path)
        if colour is None and self.model.time_us is not None:
            colour_by = "time"
        options: GraphOptions = {"colour": colour_by or "structure"}
        if height is not None:
            options["height"] = int(height)
        if open is not None:
            options["open"] = [str(path) for path in open]
        self._live = LiveGraph([("", lambda: self.model)], options)

    def __repr__(self) -> str:
        m = self.model
        parts = m.tree.parts(0)
        lines = [f"<tf.show_graph: {m.nodes[0]:,} operations>"]
        lines += [f"{m.nodes[b]:10,}  {m.tree.label[b]}" for b in sorted(parts, key=lambda b: -m.nodes[b])[:20]]
        return "\n".join(lines + ["       ..."] * (len(parts) > 20))

    def close(self) -> None:
        """Closes the channel to the browser, which keeps the graph in memory; the picture stays."""
        self._live.close()

    def _repr_html_(self) -> str:
        return self._live.html()
