"""Finds boxes of equal structure by a hash of the nodes of a box and of their connections, and of nothing else.

It is the refinement of Weisfeiler and Lehman in each box, from the leaves up, on whole arrays. Invariant: names,
devices, the order of creation and initial values of variables do not matter, so the towers of a replicated model are
equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from tfnb.notebook.graph.edge_bundles import Bundles
from tfnb.notebook.graph.table import is_variable
from tfnb.notebook.graph.tree import Tree

__all__ = ["groups", "structure"]

ROUNDS = 3
# Scopes with fewer nodes are often equal by chance.
SMALLEST = 3
_A, _B = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
_S = np.uint64(29)


def structure(tree: Tree, types: Sequence[str], edges: Bundles, initial: np.ndarray) -> np.ndarray:
    """Returns a hash of 64 bits for each box. `initial` marks the boxes that only compute initial values, which do not
    count.
    """
    n = len(tree.parent)
    hashes = np.full(n, 1, np.uint64)
    type_hashes = {t: int.from_bytes(blake2b(t.encode(), digest_size=8).digest(), "little") for t in set(types)}
    of_node = np.array([type_hashes[t] for t in types], np.uint64)
    is_leaf = tree.end == np.arange(n) + 1
    nodes = tree.node[is_leaf]
    hashes[is_leaf] = np.where(nodes >= 0, of_node[nodes], np.uint64(1)) if len(of_node) else np.uint64(1)
    named = np.flatnonzero((tree.main >= 0) & ~is_leaf)
    states = [b for b in named.tolist() if is_variable(types[tree.node[b]])]
    level = np.where(initial[edges.start] | initial[edges.stop], -1, tree.depth[edges.start])
    for depth in range(int(tree.depth.max(initial=0)), 0, -1):
        boxes = np.flatnonzero(tree.depth == depth)
        at_depth = level == depth
        refined = _refined(hashes, boxes, edges.start[at_depth], edges.stop[at_depth])
        total = np.zeros(n, np.uint64)
        counted = boxes[~initial[boxes]]
        np.add.at(total, tree.parent[counted], _mix(refined[counted]))
        parents = np.unique(tree.parent[boxes])
        hashes[parents] = _mix(total[parents] + _A)
        hashes[states] = of_node[tree.node[states]]  # independently of the nodes that initialise, read and train it
    return hashes


def _refined(own: np.ndarray, boxes: np.ndarray, start: np.ndarray, stop: np.ndarray) -> np.ndarray:
    refined = own.copy()
    for _ in range(ROUNDS):
        messages = np.zeros(len(own), np.uint64)
        np.add.at(messages, stop, _mix(refined[start] * _A))
        np.add.at(messages, start, _mix(refined[stop] * _B))
        refined[boxes] = _mix(refined[boxes] + messages[boxes] * _B)
    return refined


def _mix(x: np.ndarray) -> np.ndarray:
    x = (x ^ (x >> _S)) * _A
    mixed: np.ndarray = (x ^ (x >> _S)) * _B
    return mixed


def groups(tree: Tree, alike: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """Returns, for each scope that equals another one, the number of its group, and -1 for other boxes. Group 0
    contains the most nodes.
    """
    group = np.full(len(tree.parent), -1, np.int64)
    scopes = np.flatnonzero((tree.end > np.arange(len(tree.parent)) + 1) & (nodes >= SMALLEST) & ~tree.series)
    scopes = scopes[scopes > 0]
    _, first, at, count = np.unique(alike[scopes], return_index=True, return_inverse=True, return_counts=True)
    weight = np.where(count > 1, count * nodes[scopes][first], 0)
    order = np.lexsort((first, -weight))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    group[scopes] = np.where(weight[at] > 0, rank[at], -1)
    return group
