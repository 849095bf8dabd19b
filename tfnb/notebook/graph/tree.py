"""The tree of boxes of a graph: scopes by name, series of like boxes folded, and no box with too many parts.

Boxes are numbered in preorder, so inside box b are the boxes b+1 .. end[b]-1. Invariant: each node has one leaf;
a box that is both a node and a scope (`w` with `w/read`) holds its node as its first part.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["MAX_DEPTH", "MOST_PARTS", "Draft", "Tree", "draft", "fold", "number"]

# A name with more slashes than this is hostile or generated: its rest stands in one leaf.
MAX_DEPTH = 32
# No opened box shows more parts than this at once; the rest is folded further.
MOST_PARTS = 160
# So many like boxes with numbered names are a series; of single nodes it takes more.
SERIES, SERIES_OF_NODES = 3, 6
# A search for cycles is worth its time in a small scope.
SMALL = 80
_NUMBER = re.compile(r"^(.*?)(\d*)$", re.DOTALL)


@dataclass
class Draft:
    """Boxes in the order of their making; box 0 is the whole. `node[b]`: the node that b is (or is named by), or -1.

    `main[b]`: the part of b that stands for b's own node, or -1. `series[b]`: b only holds a series.
    """

    parent: list[int]
    label: list[str]
    node: list[int]
    parts: list[list[int]]
    main: list[int]
    series: list[bool]
    leaf: list[int]  # of each node

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
    """A draft in preorder, as columns. `end[b]` is one past the last box inside b; `leaf[i]` the box of node i."""

    parent: np.ndarray
    end: np.ndarray
    depth: np.ndarray
    node: np.ndarray
    main: np.ndarray
    series: np.ndarray
    leaf: np.ndarray
    label: list[str]

    def parts(self, box: int) -> list[int]:
        """The boxes directly inside."""
        found, at = [], box + 1
        while at < self.end[box]:
            found.append(at)
            at = int(self.end[at])
        return found

    def path(self, box: int) -> str:
        """The whole name; a series goes by its own label."""
        parts: list[str] = []
        while box > 0:
            if not self.series[box] or not parts:
                parts.append(self.label[box])
            box = int(self.parent[box])
        return "/".join(reversed(parts))


def draft(names: Sequence[str]) -> Draft:
    """The scopes of these names."""
    found = Draft([], [], [], [], [], [], [])
    found.add(-1, "")
    known: dict[tuple[int, str], int] = {}
    scopes: dict[str, int] = {}

    def step(at: int, part: str) -> int:
        box = known.get((at, part))
        if box is None:
            box = known[at, part] = found.add(at, part)
        return box

    for i, name in enumerate(names):
        parts = name.split("/", MAX_DEPTH - 1)
        prefix = name[: -len(parts[-1]) - 1]
        at = scopes.get(prefix, -1) if len(parts) > 1 else 0
        if at < 0:
            at = 0
            for part in parts[:-1]:
                at = step(at, part)
            scopes[prefix] = at
        box = step(at, parts[-1])
        if found.node[box] >= 0:  # two nodes of one name: only a broken file has them
            box = found.add(at, parts[-1])
        found.node[box] = i
        found.leaf.append(box)
    for box in range(1, len(found.parent)):
        if found.node[box] >= 0 and found.parts[box]:
            main = found.add(box, found.label[box], found.node[box])
            found.parts[box].insert(0, found.parts[box].pop())
            found.main[box] = main
            found.leaf[found.node[box]] = main
    _unwrap(found)
    return found


def _unwrap(found: Draft) -> None:
    """A scope that holds nothing but one other box gives way to it, which takes its name in."""
    instead: dict[int, int] = {}  # of a box that gives way, the box that takes its place
    for box in range(len(found.parent) - 1, 0, -1):  # a scope's parts come before the scope
        parts = found.parts[box]
        if len(parts) == 1 and found.node[box] < 0:
            only = instead[box] = instead.get(parts[0], parts[0])
            found.label[only] = f"{found.label[box]}/{found.label[only]}"
            found.parent[only] = found.parent[box]
            found.parts[box] = []
            found.parent[box] = -1  # no longer of the tree
    for parts in found.parts:
        parts[:] = [instead.get(part, part) for part in parts]


def number(found: Draft) -> tuple[Tree, np.ndarray]:
    """The tree in preorder, and the new number of each drafted box (-1 for what is no longer there)."""
    order: list[int] = []
    stack = [0]
    while stack:
        box = stack.pop()
        order.append(box)
        stack.extend(reversed(found.parts[box]))
    old = np.array(order, np.int64)
    new = np.full(len(found.parent), -1, np.int64)
    new[old] = np.arange(len(old))
    parent = np.array(found.parent, np.int64)[old]
    parent[1:] = new[parent[1:]]
    size = np.ones(len(old), np.int64)
    depth = np.zeros(len(old), np.int64)
    above = parent.tolist()
    sizes = size.tolist()
    for b in range(len(old) - 1, 0, -1):
        sizes[above[b]] += sizes[b]
    deep = depth.tolist()
    for b in range(1, len(old)):
        deep[b] = deep[above[b]] + 1
    main = np.array(found.main, np.int64)[old]
    main[main >= 0] = new[main[main >= 0]]
    return Tree(
        parent,
        np.arange(len(old)) + np.array(sizes),
        np.array(deep),
        np.array(found.node, np.int64)[old],
        main,
        np.array(found.series, bool)[old],
        new[np.array(found.leaf, np.int64)] if found.leaf else np.zeros(0, np.int64),
        [found.label[b] for b in order],
    ), new


# ---- folding -----------------------------------------------------------------------------------------


def fold(found: Draft, alike: list[int], after: list[list[int]]) -> None:
    """Folds series, in place: `alike[b]` is equal for boxes of one structure, `after[b]` are the parts b's edges go to.

    Both grow with the boxes that are added.
    """
    box = -1
    while (box := box + 1) < len(found.parent):
        for new in range(len(alike), len(found.parent)):
            alike.append(-new)
            after.append([])
        if found.parent[box] < 0 and box:
            continue
        parts = found.parts[box]
        if len(parts) >= SERIES:
            _fold_series(found, box, alike, after)
        if len(found.parts[box]) > MOST_PARTS:
            _fold_kinds(found, box, alike)
        if len(found.parts[box]) > MOST_PARTS:
            _fold_runs(found, box)


def _fold_series(found: Draft, box: int, alike: Sequence[int], after: Sequence[Sequence[int]]) -> None:
    stems: dict[tuple[str, int], list[int]] = {}
    for part in found.parts[box]:
        match = _NUMBER.match(found.label[part])
        stem = (match[1] if match else found.label[part]).rstrip("_")
        stems.setdefault((stem, alike[part]), []).append(part)
    small = len(found.parts[box]) <= SMALL
    groups = []
    for members in stems.values():
        if len(members) < (SERIES if found.parts[members[0]] else SERIES_OF_NODES):
            continue
        if len(members) == len(found.parts[box]) and found.series[box]:
            continue
        if small and _encloses(members, after):
            continue
        groups.append((members, _series_label([found.label[m] for m in members])))
    _group(found, box, groups)


def _encloses(members: Sequence[int], after: Sequence[Sequence[int]]) -> bool:
    """Whether a path leaves the members and comes back: one box in their place would close a cycle."""
    own = set(members)
    seen: set[int] = set()
    todo = [b for m in members for b in after[m] if b not in own]
    while todo:
        box = todo.pop()
        if box in own:
            return True
        if box not in seen:
            seen.add(box)
            todo += after[box]
    return False


def _fold_kinds(found: Draft, box: int, alike: Sequence[int]) -> None:
    """Too many parts: those of one structure become one box, whatever they are called."""
    kinds: dict[int, list[int]] = {}
    for part in found.parts[box]:
        if not found.series[part]:
            kinds.setdefault(alike[part], []).append(part)
    many = len(found.parts[box])
    groups = [(m, f"{found.label[m[0]]} and similar") for m in kinds.values() if 2 < len(m) < many]
    _group(found, box, groups)


def _fold_runs(found: Draft, box: int) -> None:
    """Still too many: runs of parts that were made one after the other; `MOST_PARTS` of these at most."""
    while len(found.parts[box]) > MOST_PARTS:
        parts = list(found.parts[box])
        length = min(MOST_PARTS, -(-len(parts) // 12))
        runs = [parts[at : at + length] for at in range(0, len(parts), length)]
        groups = [(r, f"{found.label[r[0]][:40]} … {found.label[r[-1]][:40]}") for r in runs if len(r) > 1]
        _group(found, box, groups)


def _group(found: Draft, box: int, groups: Sequence[tuple[list[int], str]]) -> None:
    """For each (members, label) a box in the place of the first member, with all members inside.

    All groups of a box are made in one pass over its parts, of which there may be hundreds of thousands.
    """
    if not groups:
        return
    parts = found.parts[box]
    first_of: dict[int, int] = {}  # the first member of a group, and the new box
    inside: set[int] = set()
    for members, label in groups:
        series = first_of[members[0]] = found.add(box, label)
        inside.update(members)
        found.parts[series] = members
        found.series[series] = True
        for part in members:
            found.parent[part] = series
    old = parts[: len(parts) - len(groups)]  # the new boxes were added behind
    found.parts[box] = [first_of.get(p, p) for p in old if p in first_of or p not in inside]


def _series_label(labels: Sequence[str]) -> str:
    """`layer_[1…12]` of layer_1 .. layer_12, `MatMul_[0…5]` of MatMul, MatMul_1 .. MatMul_5."""
    first, last = labels[0], labels[-1]
    match = _NUMBER.match(last)
    stem = match[1] if match else last
    begin = _NUMBER.match(first)
    at = begin[2] if begin and begin[1] == stem and begin[2] else "0"
    return f"{stem}[{at}…{match[2] if match and match[2] else len(labels) - 1}]"
