"""The nodes that are extracted from the drawing because their edges would cover it: bookkeeping, hubs, constants.

White paper, section 9.1: "we separate out high-degree nodes". An extracted node is listed beside its scope, or drawn as
a stub at its neighbours. Invariant: every scope keeps at least one node that is not extracted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfnb.notebook.graph.edge_bundles import Bundles
from tfnb.notebook.graph.table import UPDATES, is_variable
from tfnb.notebook.graph.tree import Tree
from tfnb.notebook.protocol.graph import EXTRACTED

__all__ = ["ATTACHED", "BOOKKEEPING", "HUB", "INPUTS", "extract_nodes", "extract_unconnected"]

HUB, BOOKKEEPING, ATTACHED = (EXTRACTED[why] for why in ("hub", "bookkeeping", "attached"))
# The least number of neighbours of a hub, which also has two fifths of its scope as neighbours. A box with most of the
# nodes of its scope is not a hub.
CROWDED = 8
INPUTS = frozenset({"Placeholder", "PlaceholderV2", "PlaceholderWithDefault"})
_SAVES = frozenset({"Save", "SaveV2", "SaveSlices", "Restore", "RestoreV2", "RestoreSlice", "MergeV2Checkpoints"})
_CONSTANTS = frozenset({"Const", "HostConst"})


class _Rules:
    def __init__(
        self,
        tree: Tree,
        types: Sequence[str],
        edges: Bundles,
        inside: np.ndarray,
        outlet: np.ndarray,
    ) -> None:
        # Lists, since a number of an array costs far more than one of a list.
        self.label, self.end, self.parent = tree.label, tree.end.tolist(), tree.parent.tolist()
        self.inside: list[float] = inside.tolist()  # the number of nodes in each box
        self.outlet: list[int] = outlet.tolist()
        n = len(tree.parent)
        self.types = [types[i] if i >= 0 else "" for i in tree.node.tolist()]
        is_bookkeeping = np.zeros(n, bool)
        updates = {kind for kind in set(types) if kind.startswith(UPDATES) or kind in _SAVES}
        is_bookkeeping[[leaf for leaf in tree.leaf.tolist() if self.types[leaf] in updates]] = True
        self.books: list[int] = np.add.accumulate(np.append(0, is_bookkeeping)).tolist()
        is_leaf = tree.end == np.arange(n) + 1
        for box in np.flatnonzero(~is_leaf).tolist():
            if _is_gradient(self.label[box]):
                is_bookkeeping[box : self.end[box]] = True
        self.behind: list[int] = np.add.accumulate(np.append(0, is_bookkeeping & is_leaf)).tolist()
        self.before: list[list[int]] = [[] for _ in range(n)]
        self.after: list[list[int]] = [[] for _ in range(n)]
        self.waits: set[int] = set()
        for a, b, data in zip(edges.start.tolist(), edges.stop.tolist(), edges.edges.tolist(), strict=True):
            self.after[a].append(b)
            self.before[b].append(a)
            if not data:
                self.waits.add(b)

    def parts(self, box: int) -> list[int]:
        parts, at, end = [], box + 1, self.end
        while at < end[box]:
            parts.append(at)
            at = end[at]
        return parts

    def is_bookkeeping(self, box: int) -> bool:
        label, kind = self.label[box], self.types[box]
        if _is_gradient(label):
            return True
        if is_variable(kind) or kind in INPUTS:
            return False
        if kind.endswith("Summary") or kind == "SummaryWriter":
            return True
        if kind == "NoOp" and not self.after[box]:
            return True
        end = self.end[box]
        if self.books[end] == self.books[box]:
            return False
        # An optimizer, or a scope that contains little else; but not a scope around the whole model.
        is_small = self.inside[box] * 2 <= self.inside[self.parent[box]]
        return bool(is_small or (self.behind[end] - self.behind[box]) * 2 > self.inside[box])

    def is_attached(self, box: int, out: dict[int, int]) -> bool:
        if self.outlet[box]:
            return False
        readers = [b for b in self.after[box] if out.get(b, ATTACHED) == ATTACHED]
        if not readers:
            return False
        if self.types[box] in _CONSTANTS and not self.before[box]:
            return True
        if is_variable(self.types[box]) or self.types[box] in INPUTS or box in self.waits:
            return False
        return all(is_variable(self.types[b]) or out.get(b) == ATTACHED for b in readers)


def _is_gradient(label: str) -> bool:
    return label == "gradients" or label.startswith(("gradients_", "gradients/"))


def extract_nodes(
    tree: Tree, types: Sequence[str], edges: Bundles, inside: np.ndarray, outlet: np.ndarray
) -> np.ndarray:
    """Returns, for each box, the reason why it is extracted from its scope: HUB, BOOKKEEPING, ATTACHED (a stub at its
    readers), or 0.
    """
    rules = _Rules(tree, types, edges, inside, outlet)
    reasons = [0] * len(tree.parent)
    in_bookkeeping = [False] * len(tree.parent)  # inside a scope that is bookkeeping
    for scope in np.flatnonzero(tree.end > np.arange(len(tree.parent)) + 1).tolist():
        in_bookkeeping[scope] = in_bookkeeping[rules.parent[scope]] or reasons[scope] == BOOKKEEPING if scope else False
        for box, reason in _of_scope(rules, rules.parts(scope), in_bookkeeping[scope]).items():
            reasons[box] = reason
    return np.array(reasons, np.int64)


def _of_scope(rules: _Rules, parts: list[int], behind: bool) -> dict[int, int]:
    out: dict[int, int] = {}
    if len(parts) < 2:
        return out
    if not behind:
        out = {box: BOOKKEEPING for box in parts if rules.is_bookkeeping(box)}
    for _ in range(4):  # a chain of at most four boxes that computes an initial value
        attached = [box for box in parts if box not in out and rules.is_attached(box, out)]
        if not attached:
            break
        out.update(dict.fromkeys(attached, ATTACHED))
    remaining = [box for box in parts if box not in out]
    if len(remaining) <= CROWDED:  # too few neighbours for a hub
        return out if remaining else {}
    degree = {box: len({b for b in rules.before[box] + rules.after[box] if b not in out}) for box in remaining}
    node_limit = sum(int(rules.inside[box]) for box in parts) / 4
    while remaining:
        hub = max((box for box in remaining if rules.inside[box] <= node_limit), key=degree.__getitem__, default=-1)
        if hub < 0 or degree[hub] < max(CROWDED, 2 * len(remaining) // 5):
            break
        out[hub] = HUB
        remaining.remove(hub)
        for box in {*rules.before[hub], *rules.after[hub]}:
            if box in degree:
                degree[box] -= 1
    return out if remaining else {}


def extract_unconnected(
    tree: Tree, types: Sequence[str], edges: Bundles, why: np.ndarray, crossing: np.ndarray
) -> None:
    """Marks, in place, boxes without an edge to a drawn box (slots of an optimizer) as bookkeeping.

    `crossing[b]`: how many drawn edges cross the border of b.
    """
    n = len(tree.parent)
    edge_counts = np.zeros(n, np.int64)
    is_drawn = (why[edges.start] == 0) & (why[edges.stop] == 0)
    np.add.at(edge_counts, edges.start[is_drawn], 1)
    np.add.at(edge_counts, edges.stop[is_drawn], 1)
    stubs = np.zeros(n, np.int64)
    np.add.at(stubs, edges.stop[why[edges.start] == ATTACHED], 1)
    is_unconnected = (edge_counts == 0) & (why == 0) & (crossing == 0) & (stubs == 0)
    joined = np.bincount(tree.parent[1:][(edge_counts > 0)[1:]], minlength=n)
    for box in np.flatnonzero(is_unconnected).tolist():
        kind = types[tree.node[box]] if tree.node[box] >= 0 else ""
        if box and joined[tree.parent[box]] > 1 and kind not in INPUTS:
            why[box] = BOOKKEEPING
