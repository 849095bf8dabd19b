"""The model of the graph view: a table of nodes, the tree of boxes that name scopes form, and the edges between boxes.

White paper, section 9.1 (visualisation of computation graphs). Invariant: every node of a graph is in exactly one leaf
box, and every edge is drawn in exactly one box: the smallest that contains both of its ends.
"""

from __future__ import annotations

from tfnb.notebook.graph.model import GraphModel, graph_model

__all__ = ["GraphModel", "graph_model"]
