"""Layered drawing of a directed graph in which data flows down, as in the figures of the papers.

It has the four steps of Sugiyama's method: break cycles, assign layers by longest path, order each layer by the means
of its neighbours, then move each box as near to its neighbours as the order of its layer allows (isotonic regression).
Invariant: boxes of a layer never overlap and keep their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

__all__ = ["Layout", "Point", "Size", "layered"]

Point = tuple[float, float]
Size = tuple[float, float]
Pair = tuple[int, int]

SWEEPS = 6
GAP_X, GAP_Y = 22.0, 34.0
# A layer of at most this height contains only the inlet or the outlet of a scope.
FLAT = 4.0
# The width of a bend of a long edge, which needs little room beside a box.
BEND: Size = (6.0, 0.0)


@dataclass(slots=True)
class Layout:
    """The top-left corner of each box, the points that each edge passes through, and the size of the drawing."""

    corners: list[Point]
    routes: dict[Pair, list[Point]]
    size: Size


@dataclass(slots=True)
class _Plan:
    """Boxes 0..n-1, followed by a bend for each layer that a long edge crosses."""

    sizes: list[Size]
    layer: list[int]
    links: list[Pair] = field(default_factory=list)
    chains: dict[Pair, list[int]] = field(default_factory=dict)
    order: list[list[int]] = field(default_factory=list)
    center: list[float] = field(default_factory=list)


def layered(
    sizes: Sequence[Size],
    edges: Iterable[Pair],
    first: int | None = None,
    last: int | None = None,
    anchors: Mapping[int, tuple[float, float]] | None = None,
) -> Layout:
    """Places boxes of the given sizes; `edges` are pairs of box numbers, and an edge from a box to itself is left out.

    Box `first` is above all others, `last` below. Edges enter and leave a box at its middle, or at the distances from
    its left side that `anchors` gives (in, out).
    """
    pairs = list(dict.fromkeys((a, b) for a, b in edges if a != b))
    if not sizes:
        return Layout([], {}, (0.0, 0.0))
    backward = _back_edges(len(sizes), pairs)
    down = {(a, b): ((b, a) if (a, b) in backward else (a, b)) for a, b in pairs}
    layer = _layers(len(sizes), set(down.values()))
    if first is not None:
        layer = [at + 1 for at in layer]
        layer[first] = 0
    if last is not None:
        layer[last] = max(layer) + 1
    plan = _Plan(list(sizes), layer)
    _add_bends(plan, down)
    _order(plan)
    _place(plan)
    return _finish(plan, len(sizes), down, anchors or {})


def _back_edges(n: int, pairs: Sequence[Pair]) -> set[Pair]:
    """Edges that close a cycle in a depth-first walk (NextIteration -> Merge, or scopes that call each other)."""
    successors: dict[int, list[int]] = {}
    visited = [False] * n
    for a, b in pairs:
        successors.setdefault(a, []).append(b)
    targets = {b for _, b in pairs}
    back_edges: set[Pair] = set()
    for root in sorted(range(n), key=lambda i: i in targets):
        if visited[root]:
            continue
        visited[root] = True
        on_path, stack = {root}, [(root, iter(successors.get(root, ())))]
        while stack:
            node, rest = stack[-1]
            step = next(rest, None)
            if step is None:
                stack.pop()
                on_path.discard(node)
            elif step in on_path:
                back_edges.add((node, step))
            elif not visited[step]:
                visited[step] = True
                on_path.add(step)
                stack.append((step, iter(successors.get(step, ()))))
    return back_edges


def _layers(n: int, pairs: set[Pair]) -> list[int]:
    """Layers by the longest path from the sources; then each source moves down to the layer above its first reader."""
    predecessors, successors = _neighbours(n, pairs)
    pending = [len(b) for b in predecessors]
    ready = [i for i in range(n) if not pending[i]]
    layer = [0] * n
    while ready:
        node = ready.pop()
        for reader in successors[node]:
            layer[reader] = max(layer[reader], layer[node] + 1)
            pending[reader] -= 1
            if not pending[reader]:
                ready.append(reader)
    for node in range(n):
        if not predecessors[node] and successors[node]:
            layer[node] = min(layer[reader] for reader in successors[node]) - 1
    return layer


def _neighbours(n: int, pairs: Iterable[Pair]) -> tuple[list[list[int]], list[list[int]]]:
    predecessors: list[list[int]] = [[] for _ in range(n)]
    successors: list[list[int]] = [[] for _ in range(n)]
    for a, b in pairs:
        successors[a].append(b)
        predecessors[b].append(a)
    return predecessors, successors


def _add_bends(plan: _Plan, down: Mapping[Pair, Pair]) -> None:
    for a, b in dict.fromkeys(down.values()):
        chain = [a]
        for layer in range(plan.layer[a] + 1, plan.layer[b]):
            chain.append(len(plan.sizes))
            plan.sizes.append(BEND)
            plan.layer.append(layer)
        chain.append(b)
        plan.chains[a, b] = chain
        plan.links += list(zip(chain, chain[1:], strict=False))


def _order(plan: _Plan) -> None:
    predecessors, successors = _neighbours(len(plan.sizes), plan.links)
    plan.order = [[] for _ in range(max(plan.layer) + 1)]
    for node, at in enumerate(plan.layer):
        plan.order[at].append(node)
    rank = {node: float(i) for row in plan.order for i, node in enumerate(row)}
    best, fewest = [list(row) for row in plan.order], _crossings(plan.order, successors)
    for sweep in range(SWEEPS):
        neighbours, rows = (predecessors, plan.order[1:]) if sweep % 2 == 0 else (successors, plan.order[-2::-1])
        for row in rows:
            row.sort(key=lambda i: _mean([rank[j] for j in neighbours[i]], rank[i]))
            rank.update((node, float(i)) for i, node in enumerate(row))
        crossings = _crossings(plan.order, successors)
        if crossings < fewest:
            best, fewest = [list(row) for row in plan.order], crossings
    plan.order = best


def _crossings(order: Sequence[Sequence[int]], after: Sequence[Sequence[int]]) -> int:
    total = 0
    for row, next_row in zip(order, order[1:], strict=False):
        rank = {node: i for i, node in enumerate(next_row)}
        earlier_targets: list[int] = []
        for node in row:
            targets = sorted(rank[t] for t in after[node])
            total += sum(e > t for t in targets for e in earlier_targets)
            earlier_targets += targets
    return total


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _place(plan: _Plan) -> None:
    """Chooses the centers of boxes: each layer in turn moves as near as it can to its neighbours' mean centers."""
    predecessors, successors = _neighbours(len(plan.sizes), plan.links)
    plan.center = [0.0] * len(plan.sizes)
    for row in plan.order:
        _settle(plan, row, [0.0] * len(row))
    all_neighbours = [b + a for b, a in zip(predecessors, successors, strict=True)]
    for sweep in range(2 * SWEEPS):
        neighbours = (predecessors, successors, all_neighbours)[sweep % 3]
        for row in plan.order if neighbours is not successors else plan.order[::-1]:
            targets = [_mean([plan.center[j] for j in neighbours[i]], plan.center[i]) for i in row]
            _settle(plan, row, targets)


def _settle(plan: _Plan, row: Sequence[int], wish: Sequence[float]) -> None:
    """Moves the boxes of a row to the least-squares solution for the wished centers that keeps their order, by pooling
    adjacent violators.
    """
    offset, shifts = 0.0, []
    for i, node in enumerate(row):
        if i:
            offset += (plan.sizes[row[i - 1]][0] + plan.sizes[node][0]) / 2 + GAP_X
        shifts.append(offset)
    pools: list[list[float]] = []  # [sum, count]
    for target, shift in zip(wish, shifts, strict=True):
        pools.append([target - shift, 1.0])
        while len(pools) > 1 and pools[-2][0] / pools[-2][1] > pools[-1][0] / pools[-1][1]:
            total, count = pools.pop()
            pools[-1][0] += total
            pools[-1][1] += count
    free = [total / count for total, count in pools for _ in range(int(count))]
    for node, shift, at in zip(row, shifts, free, strict=True):
        plan.center[node] = at + shift


def _finish(
    plan: _Plan,
    n: int,
    down: Mapping[Pair, Pair],
    anchors: Mapping[int, tuple[float, float]],
) -> Layout:
    left = min(c - w / 2 for c, (w, _) in zip(plan.center, plan.sizes, strict=True))
    middles, top, gap = [], 0.0, 0.0
    for row in plan.order:
        height = max(plan.sizes[node][1] for node in row)
        middles.append(top + height / 2)
        gap = GAP_Y if height > FLAT else GAP_Y / 3
        top += height + gap
    positions = [(plan.center[i] - left, middles[plan.layer[i]]) for i in range(len(plan.sizes))]
    routes = {}
    for pair, (a, b) in down.items():
        chain = plan.chains[a, b]
        (_, exit_x), (enter_x, _) = (_anchor(plan, i, anchors) for i in (a, b))
        points = [(positions[a][0] + exit_x, positions[a][1] + plan.sizes[a][1] / 2)]
        points += [positions[i] for i in chain[1:-1]]
        points.append((positions[b][0] + enter_x, positions[b][1] - plan.sizes[b][1] / 2))
        routes[pair] = points if pair == (a, b) else points[::-1]
    corners = [(x - w / 2, y - h / 2) for (x, y), (w, h) in zip(positions[:n], plan.sizes, strict=False)]
    width = max(x + w / 2 for (x, _), (w, _) in zip(positions, plan.sizes, strict=True))
    return Layout(corners, routes, (width, top - gap))


def _anchor(plan: _Plan, box: int, anchors: Mapping[int, tuple[float, float]]) -> tuple[float, float]:
    """Returns the horizontal positions at which edges enter and leave a box, relative to its middle."""
    if box not in anchors:
        return 0.0, 0.0
    half_width = plan.sizes[box][0] / 2
    enter_x, exit_x = anchors[box]
    return enter_x - half_width, exit_x - half_width
