"""The tree of boxes of a graph: a box for each name scope; series of equal boxes are folded into one.

Boxes are numbered in preorder, so the boxes inside box b are b+1 .. end[b]-1. Invariant: each node has one leaf; a box
that is both a node and a scope (`w` with `w/read`) has its node as its first part; and no box has too many parts.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["MAX_DEPTH", "MOST_PARTS", "Draft", "Tree", "draft", "fold", "number"]

# A name with more slashes than this is hostile or generated: its rest becomes the label of one leaf.
MAX_DEPTH = 32
# The largest number of parts of a box; a box with more parts is folded further.
MOST_PARTS = 160
# The least number of equal boxes with numbered names that become a series; for single nodes it is larger.
SERIES, SERIES_OF_NODES = 3, 6
# Only in scopes of at most this many parts is a search for cycles fast enough.
SMALL = 80
_NUMBER = re.compile(r"^(.*?)(\d*)$", re.DOTALL)


@dataclass
class Draft:
    """Boxes in the order of their creation; box 0 is the whole graph.

    `node[b]`: the node that b represents or is named after, or -1. `main[b]`: the part of b that represents b's own
    node, or -1. `series[b]`: whether b exists only to hold a series.
    """

    parent: list[int]
    label: list[str]
    node: list[int]
    parts: list[list[int]]
    main: list[int]
    series: list[bool]
    leaf: list[int]  # the leaf of each node

    def add(self, parent: int, label: str, node: int = -1) -> int:
        self.parent.append(parent)
        self.label.append(label)
        self.node.append(node)
        self.parts.append([])
        self.main.append(-1)
        self.series.append(False)
        box = len(self.parent) - 1
        if parent >= 0:
            self.parts[parent].append(box)
        return box


@dataclass
class Tree:
    """A draft in preorder, as columns. `end[b]` is one past the last box inside b; `leaf[i]` is the box of node i."""

    parent: np.ndarray
    end: np.ndarray
    depth: np.ndarray
    node: np.ndarray
    main: np.ndarray
    series: np.ndarray
    leaf: np.ndarray
    label: list[str]

    def parts(self, box: int) -> list[int]:
        """Returns the boxes directly inside a box."""
        boxes, at = [], box + 1
        while at < self.end[box]:
            boxes.append(at)
            at = int(self.end[at])
        return boxes

    def path(self, box: int) -> str:
        """Returns the full name of a box, or for a series its label."""
        parts: list[str] = []
        while box > 0:
            if not self.series[box] or not parts:
                parts.append(self.label[box])
            box = int(self.parent[box])
        return "/".join(reversed(parts))


def draft(names: Sequence[str], beside: Collection[int] = ()) -> Draft:
    """Returns the boxes of the name scopes in these names of nodes.

    `beside`: the nodes that are drawn beside the node that they are named after, as `add/y` beside `add`, which would
    otherwise be a scope.
    """
    plan = Draft([], [], [], [], [], [], [])
    plan.add(-1, "")
    boxes: dict[tuple[int, str], int] = {}
    scopes: dict[str, int] = {}

    def step(at: int, part: str) -> int:
        box = boxes.get((at, part))
        if box is None:
            box = boxes[at, part] = plan.add(at, part)
        return box

    for i, name in enumerate(names):
        parts = name.split("/", MAX_DEPTH - 1)
        if i in beside:
            parts[-2:] = [f"{parts[-2]}/{parts[-1]}"]
        prefix = name[: -len(parts[-1]) - 1]
        at = scopes.get(prefix, -1) if len(parts) > 1 else 0
        if at < 0:
            at = 0
            for part in parts[:-1]:
                at = step(at, part)
            scopes[prefix] = at
        box = step(at, parts[-1])
        if plan.node[box] >= 0:  # two nodes of one name, as only a broken file has
            box = plan.add(at, parts[-1])
        plan.node[box] = i
        plan.leaf.append(box)
    for box in range(1, len(plan.parent)):
        if plan.node[box] >= 0 and plan.parts[box]:
            main = plan.add(box, plan.label[box], plan.node[box])
            plan.parts[box].insert(0, plan.parts[box].pop())
            plan.main[box] = main
            plan.leaf[plan.node[box]] = main
    _unwrap(plan)
    return plan


def _unwrap(drafted: Draft) -> None:
    """Replaces a scope that contains only one other box by that box, in place.

    The label of the box then starts with the label of the scope.
    """
    replacement: dict[int, int] = {}  # for a box that is replaced, the box in its place
    for box in range(len(drafted.parent) - 1, 0, -1):  # parts come before their scope
        parts = drafted.parts[box]
        if len(parts) == 1 and drafted.node[box] < 0:
            child = replacement[box] = replacement.get(parts[0], parts[0])
            drafted.label[child] = f"{drafted.label[box]}/{drafted.label[child]}"
            drafted.parent[child] = drafted.parent[box]
            drafted.parts[box] = []
            drafted.parent[box] = -1  # removed from the tree
    for parts in drafted.parts:
        parts[:] = [replacement.get(part, part) for part in parts]


def number(drafted: Draft) -> tuple[Tree, np.ndarray]:
    """Returns the tree in preorder, and the new number of each drafted box (-1 for a box that was removed)."""
    order: list[int] = []
    stack = [0]
    while stack:
        box = stack.pop()
        order.append(box)
        stack.extend(reversed(drafted.parts[box]))
    draft_boxes = np.array(order, np.int64)
    new = np.full(len(drafted.parent), -1, np.int64)
    new[draft_boxes] = np.arange(len(draft_boxes))
    parent = np.array(drafted.parent, np.int64)[draft_boxes]
    parent[1:] = new[parent[1:]]
    size = np.ones(len(draft_boxes), np.int64)
    depth = np.zeros(len(draft_boxes), np.int64)
    parent_of = parent.tolist()
    sizes = size.tolist()
    for b in range(len(draft_boxes) - 1, 0, -1):
        sizes[parent_of[b]] += sizes[b]
    depths = depth.tolist()
    for b in range(1, len(draft_boxes)):
        depths[b] = depths[parent_of[b]] + 1
    main = np.array(drafted.main, np.int64)[draft_boxes]
    main[main >= 0] = new[main[main >= 0]]
    return Tree(
        parent,
        np.arange(len(draft_boxes)) + np.array(sizes),
        np.array(depths),
        np.array(drafted.node, np.int64)[draft_boxes],
        main,
        np.array(drafted.series, bool)[draft_boxes],
        new[np.array(drafted.leaf, np.int64)] if drafted.leaf else np.zeros(0, np.int64),
        [drafted.label[b] for b in order],
    ), new


# ---- folding -----------------------------------------------------------------------------------------


def fold(drafted: Draft, alike: list[int], after: list[list[int]]) -> None:
    """Folds series, in place: `alike[b]` is equal for boxes of equal structure, `after[b]` are the parts that the edges
    of b lead to.

    Both lists grow with the boxes that are added.
    """
    box = -1
    while (box := box + 1) < len(drafted.parent):
        for new in range(len(alike), len(drafted.parent)):
            alike.append(-new)
            after.append([])
        if drafted.parent[box] < 0 and box:
            continue
        parts = drafted.parts[box]
        if len(parts) >= SERIES:
            _fold_series(drafted, box, alike, after)
        if len(drafted.parts[box]) > MOST_PARTS:
            _fold_kinds(drafted, box, alike)
        if len(drafted.parts[box]) > MOST_PARTS:
            _fold_runs(drafted, box)


def _fold_series(drafted: Draft, box: int, alike: Sequence[int], after: Sequence[Sequence[int]]) -> None:
    stems: dict[tuple[str, str, int], list[int]] = {}
    for part in drafted.parts[box]:
        stem, _, rest = _numbered(drafted.label[part])
        stems.setdefault((stem.rstrip("_"), rest, alike[part]), []).append(part)
    is_small = len(drafted.parts[box]) <= SMALL
    groups = []
    for members in stems.values():
        if len(members) < (SERIES if drafted.parts[members[0]] else SERIES_OF_NODES):
            continue
        if len(members) == len(drafted.parts[box]) and drafted.series[box]:
            continue
        if is_small and _encloses(members, after):
            continue
        groups.append((members, _series_label([drafted.label[m] for m in members])))
    _group(drafted, box, groups)


def _encloses(members: Sequence[int], after: Sequence[Sequence[int]]) -> bool:
    """Returns whether a path leaves the members and returns to them. A box in their place would then be part of a
    cycle.
    """
    member_set = set(members)
    visited: set[int] = set()
    pending = [b for m in members for b in after[m] if b not in member_set]
    while pending:
        box = pending.pop()
        if box in member_set:
            return True
        if box not in visited:
            visited.add(box)
            pending += after[box]
    return False


def _fold_kinds(drafted: Draft, box: int, alike: Sequence[int]) -> None:
    """Folds a box with too many parts: parts of equal structure become one box, whatever their names."""
    kinds: dict[int, list[int]] = {}
    for part in drafted.parts[box]:
        if not drafted.series[part]:
            kinds.setdefault(alike[part], []).append(part)
    n_parts = len(drafted.parts[box])
    groups = [(m, f"{drafted.label[m[0]]} and similar") for m in kinds.values() if 2 < len(m) < n_parts]
    _group(drafted, box, groups)


def _fold_runs(drafted: Draft, box: int) -> None:
    """Folds a box that still has too many parts: consecutive parts become runs, `MOST_PARTS` of them at most."""
    while len(drafted.parts[box]) > MOST_PARTS:
        parts = list(drafted.parts[box])
        length = min(MOST_PARTS, -(-len(parts) // 12))
        runs = [parts[at : at + length] for at in range(0, len(parts), length)]
        groups = [(r, f"{drafted.label[r[0]][:40]} … {drafted.label[r[-1]][:40]}") for r in runs if len(r) > 1]
        _group(drafted, box, groups)


def _group(drafted: Draft, box: int, groups: Sequence[tuple[list[int], str]]) -> None:
    """Puts, for each (members, label), a box in the place of the first member, with all members inside.

    All groups of a box are created in one pass over its parts, of which there may be hundreds of thousands.
    """
    if not groups:
        return
    parts = drafted.parts[box]
    first_of: dict[int, int] = {}  # the first member of a group -> the new box
    grouped: set[int] = set()
    for members, label in groups:
        series = first_of[members[0]] = drafted.add(box, label)
        grouped.update(members)
        drafted.parts[series] = members
        drafted.series[series] = True
        for part in members:
            drafted.parent[part] = series
    old_parts = parts[: len(parts) - len(groups)]  # the new boxes were appended
    drafted.parts[box] = [first_of.get(p, p) for p in old_parts if p in first_of or p not in grouped]


def _series_label(labels: Sequence[str]) -> str:
    """Returns the label of a series: `layer_[1…12]` of layer_1 .. layer_12, `MatMul_[0…5]` of MatMul, MatMul_1 ..
    MatMul_5.
    """
    stem, number, rest = _numbered(labels[-1])
    first_stem, first_number, _ = _numbered(labels[0])
    at = first_number if first_stem == stem and first_number else "0"
    return f"{stem}[{at}…{number or len(labels) - 1}]{rest}"


def _numbered(label: str) -> tuple[str, str, str]:
    """Returns a label as what is before its number, the number and what is after it.

    The number is at the end, or at the end of the node that a constant is named after: `mul_`, `12`, `/y`.
    """
    match = _NUMBER.match(label)
    if match and match[2]:
        return match[1], match[2], ""
    reader, slash, rest = label.rpartition("/")
    match = _NUMBER.match(reader)
    return (match[1], match[2], slash + rest) if match and slash else (label, "", "")
