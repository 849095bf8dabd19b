"""Edges between nodes become edges between boxes: each goes to the smallest box that holds both of its ends.

What crosses a box's border is counted there, as its inlet and outlet. Invariant: the data edges of all bundles and the
edges inside leaves add up to those of the graph, whichever boxes are opened. All of it is a few passes over arrays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tfnb.notebook.graph.tree import Tree

__all__ = ["Bundles", "EdgeEnds", "border", "bundles", "edge_ends"]


@dataclass
class EdgeEnds:
    """Of each edge, the two parts it connects in the smallest box that holds both ends (equal: inside one leaf)."""

    start: np.ndarray
    stop: np.ndarray


@dataclass
class Bundles:
    """Edges from box `start` to box `stop`, parts of one box: how many data edges, different tensors and control edges.

    `spec` is that of all its tensors, or -1 where they differ or are not known.
    """

    start: np.ndarray
    stop: np.ndarray
    edges: np.ndarray
    tensors: np.ndarray
    controls: np.ndarray
    spec: np.ndarray


def edge_ends(tree: Tree, source: np.ndarray, target: np.ndarray) -> EdgeEnds:
    """For edges between boxes (leaves)."""
    a, b = source.astype(np.int64), target.astype(np.int64)
    while True:
        deeper = tree.depth[a] - tree.depth[b]
        apart = (deeper == 0) & (a != b) & (tree.parent[a] != tree.parent[b])
        up_a, up_b = (deeper > 0) | apart, (deeper < 0) | apart
        if not (up_a.any() or up_b.any()):
            return EdgeEnds(a, b)
        a = np.where(up_a, tree.parent[a], a)
        b = np.where(up_b, tree.parent[b], b)


def border(tree: Tree, box: np.ndarray, until: np.ndarray) -> np.ndarray:
    """How many of the edges that end in `box` cross each box's border on their way from `until`, which holds `box`."""
    count = np.zeros(len(tree.parent), np.int64)
    at, stop = box, until
    while True:
        inside = at != stop
        if not inside.any():
            return count
        at, stop = at[inside], stop[inside]
        np.add.at(count, at, 1)
        at = tree.parent[at]


def bundles(tree: Tree, data: EdgeEnds, tensor: np.ndarray, spec: np.ndarray, control: EdgeEnds) -> Bundles:
    """EdgeEnds edges with the same ends as one; `tensor` and `spec` tell what each data edge carries."""
    n = len(tree.parent)
    crossing = data.start != data.stop
    keys = data.start[crossing] * n + data.stop[crossing]
    waits = control.start != control.stop
    control_keys = control.start[waits] * n + control.stop[waits]
    pairs = np.unique(np.concatenate([keys, control_keys]))
    at = np.searchsorted(pairs, keys)
    edges = np.bincount(at, minlength=len(pairs))
    controls = np.bincount(np.searchsorted(pairs, control_keys), minlength=len(pairs))
    carried = np.stack([at, tensor[crossing]], 1) if len(at) else np.zeros((0, 2), np.int64)
    tensors = np.bincount(np.unique(carried, axis=0)[:, 0], minlength=len(pairs))
    low = np.full(len(pairs), np.iinfo(np.int64).max)
    high = np.full(len(pairs), -1)
    np.minimum.at(low, at, spec[crossing])
    np.maximum.at(high, at, spec[crossing])
    return Bundles(pairs // n, pairs % n, edges, tensors, controls, np.where(low == high, high, -1))
