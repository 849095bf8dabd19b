"""Edges between nodes become edges between boxes: each is drawn in the smallest box that contains both of its ends.

An edge that crosses the border of a box is counted there, as one of its inlets or outlets. Invariant: the data edges of
all bundles and the edges inside leaves add up to those of the graph, whichever boxes are open. The whole computation is
a few passes over arrays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tfnb.notebook.graph.tree import Tree

__all__ = ["Bundles", "EdgeEnds", "border", "bundles", "edge_ends"]


@dataclass
class EdgeEnds:
    """For each edge, the two parts that it connects in the smallest box with both ends (equal inside one leaf)."""

    start: np.ndarray
    stop: np.ndarray


@dataclass
class Bundles:
    """Edges from box `start` to box `stop`, both parts of one box: the numbers of data edges, of different tensors and
    of control edges.

    `spec` is that of all its tensors, or -1 where they differ or are unknown.
    """

    start: np.ndarray
    stop: np.ndarray
    edges: np.ndarray
    tensors: np.ndarray
    controls: np.ndarray
    spec: np.ndarray


def edge_ends(tree: Tree, source: np.ndarray, target: np.ndarray) -> EdgeEnds:
    """Returns the ends of edges between boxes that are leaves."""
    a, b = source.astype(np.int64), target.astype(np.int64)
    while True:
        depth_difference = tree.depth[a] - tree.depth[b]
        is_sideways = (depth_difference == 0) & (a != b) & (tree.parent[a] != tree.parent[b])
        rises_a, rises_b = (depth_difference > 0) | is_sideways, (depth_difference < 0) | is_sideways
        if not (rises_a.any() or rises_b.any()):
            return EdgeEnds(a, b)
        a = np.where(rises_a, tree.parent[a], a)
        b = np.where(rises_b, tree.parent[b], b)


def border(tree: Tree, box: np.ndarray, until: np.ndarray) -> np.ndarray:
    """Returns, for each box, the number of edges that cross its border. Edge i ends in `box[i]` and comes from
    `until[i]`, a box around it.
    """
    count = np.zeros(len(tree.parent), np.int64)
    at, stop = box, until
    while True:
        is_inside = at != stop
        if not is_inside.any():
            return count
        at, stop = at[is_inside], stop[is_inside]
        np.add.at(count, at, 1)
        at = tree.parent[at]


def bundles(tree: Tree, data: EdgeEnds, tensor: np.ndarray, spec: np.ndarray, control: EdgeEnds) -> Bundles:
    """Joins edges with the same ends into one; `tensor` and `spec` give the tensor of each data edge and its spec."""
    n = len(tree.parent)
    is_crossing = data.start != data.stop
    keys = data.start[is_crossing] * n + data.stop[is_crossing]
    is_control_crossing = control.start != control.stop
    control_keys = control.start[is_control_crossing] * n + control.stop[is_control_crossing]
    pairs = np.unique(np.concatenate([keys, control_keys]))
    at = np.searchsorted(pairs, keys)
    edges = np.bincount(at, minlength=len(pairs))
    controls = np.bincount(np.searchsorted(pairs, control_keys), minlength=len(pairs))
    bundle_tensors = np.stack([at, tensor[is_crossing]], 1) if len(at) else np.zeros((0, 2), np.int64)
    tensors = np.bincount(np.unique(bundle_tensors, axis=0)[:, 0], minlength=len(pairs))
    low = np.full(len(pairs), np.iinfo(np.int64).max)
    high = np.full(len(pairs), -1)
    np.minimum.at(low, at, spec[is_crossing])
    np.maximum.at(high, at, spec[is_crossing])
    return Bundles(pairs // n, pairs % n, edges, tensors, controls, np.where(low == high, high, -1))
