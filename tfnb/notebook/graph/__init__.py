"""The model of the graph view: a table of nodes, the tree of boxes that name scopes form, and the edges between boxes.

White paper, section 9.1 (visualisation of computation graphs). Invariant: every node of a graph is in exactly one leaf
box, and every edge is drawn in exactly one box: the smallest that contains both of its ends.

The kernel makes the model and sends it as compressed columns, 0.4 MB for 36,000 nodes. It also draws the picture that
stays in a saved notebook, as SVG. The browser (`labextension/src/views/graph`) draws on a canvas what dagre has laid
out in a worker.
"""

from __future__ import annotations

from tfnb.notebook.graph.model import GraphModel, graph_model

__all__ = ["GraphModel", "graph_model"]
