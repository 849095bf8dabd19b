"""Placement by local search in simulation, from the greedy placement (white paper, section 4.3, names the problem).

A move takes a region to another device, which is a variable and the operations that are nearest behind it (a layer), or
a group with some of its neighbours. Invariant: every accepted move makes the simulated step shorter, or keeps its
length and sends fewer bytes, so the result is never worse than the greedy placement.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from tfnb.ir.opdef import Kind
from tfnb.ir.step_graph.graph import Graph
from tfnb.placement.costs import CostModel, nbytes
from tfnb.placement.place import Choice, Group, first_device
from tfnb.placement.simulate import Greedy, simulate

__all__ = ["Search"]

_FREE = (Kind.CONST, Kind.PLACEHOLDER)


class Search:
    """The policy. `moves` is the number of random moves that are tried; equal seeds give equal placements."""

    def __init__(
        self, costs: CostModel, limits: Mapping[str, int] | None = None, seed: int = 0, moves: int = 300
    ) -> None:
        self._greedy = Greedy(costs, limits)
        self._seed, self._moves = seed, moves

    def __call__(self, graph: Graph, groups: Sequence[Group], devices: Sequence[str]) -> list[Choice]:
        """Chooses a device for each group. Raises the errors of `Greedy`."""
        greedy = self._greedy(graph, groups, devices)
        state = _Searched(graph, groups, [c.device for c in greedy], self._greedy)
        greedy_score = state.score
        state.move_regions()
        alternative = _Searched(graph, groups, [c.device for c in first_device(graph, groups, devices)], self._greedy)
        if alternative.fits_everywhere():
            alternative.move_regions()
            state = min(state, alternative, key=lambda s: s.score)
        state.wander(random.Random(self._seed), self._moves)
        reason = f"by search ({greedy_score[0]:.0f} us greedily, {state.score[0]:.0f} us so)"
        return [Choice(d, c.why if d == c.device else reason) for d, c in zip(state.where, greedy, strict=True)]


class _Searched:
    """The best placement so far, as the device `where[k]` of each group k.

    `score` holds its simulated duration in microseconds and the number of bytes that it sends.
    """

    def __init__(self, graph: Graph, groups: Sequence[Group], where: list[str], greedy: Greedy) -> None:
        self.graph, self.groups, self.where = graph, groups, where
        self._costs, self._limits = greedy.costs, greedy.limits
        self._group_of = {n.id: k for k, g in enumerate(groups) for n in g.nodes}
        self._state = [sum(nbytes(n.specs[0]) for n in g.nodes if n.opdef.kind is Kind.VARIABLE) for g in groups]
        self._beside = self._neighbours()
        is_movable = (any(n.opdef.kind not in _FREE for n in g.nodes) and not g.pinned for g in groups)
        self.movable = [k for k, moves in enumerate(is_movable) if moves]
        self.score = self._play()

    def _neighbours(self) -> list[set[int]]:
        neighbours: list[set[int]] = [set() for _ in self.groups]
        for n in self.graph.nodes.values():
            for e in n.inputs:
                a, b = self._group_of[n.id], self._group_of[e.id]
                if a != b and self.graph.nodes[e.id].opdef.kind not in _FREE:
                    neighbours[a].add(b)
                    neighbours[b].add(a)
        return neighbours

    def regions(self) -> list[set[int]]:
        """Returns the regions: for each group of variables, this group and the groups to which it is the nearest one.

        Distances are counted in edges, in the direction of the data.
        """
        readers: list[set[int]] = [set() for _ in self.groups]
        for n in self.graph.nodes.values():
            for e in n.inputs:
                readers[self._group_of[e.id]].add(self._group_of[n.id])
        region = {k: k for k, size in enumerate(self._state) if size}
        frontier = list(region)
        for k in frontier:  # it grows during the loop
            for m in sorted(readers[k]):
                if m not in region:
                    region[m] = region[k]
                    frontier.append(m)
        return [{m for m, r in region.items() if r == k} for k in dict.fromkeys(region.values())]

    def move_regions(self) -> None:
        """Moves whole regions until no move is an improvement."""
        regions = self.regions()
        while True:
            score = self.score
            for region in regions:
                for device in dict.fromkeys(d for k in region for d in self.groups[k].feasible):
                    self.try_move(region, device)
            if self.score == score:
                return

    def wander(self, rng: random.Random, moves: int) -> None:
        """Tries random moves of groups with their neighbours."""
        movable = [k for k in self.movable if len(self.groups[k].feasible) > 1]
        for _ in range(moves if movable else 0):
            k = rng.choice(movable)
            target = rng.choice([d for d in self.groups[k].feasible if d != self.where[k]])
            self.try_move(self.around(k, rng.choice((0, 0, 1, 2, 4))), target)

    def fits_everywhere(self) -> bool:
        return all(self._fits(d) for d in set(self.where))

    def _play(self) -> tuple[float, int]:
        simulation = simulate(self.graph, {i: self.where[k] for i, k in self._group_of.items()}, self._costs)
        return simulation.total, simulation.bytes_sent

    def around(self, k: int, steps: int) -> set[int]:
        """Returns a group, and the groups on the same device that are at most `steps` edges away from it."""
        reachable, frontier = {k}, {k}
        for _ in range(steps):
            frontier = {m for j in frontier for m in self._beside[j] if self.where[m] == self.where[k]} - reachable
            reachable |= frontier
        return reachable

    def try_move(self, chosen: set[int], target: str) -> None:
        """Moves those of the chosen groups for which the device is feasible, if that improves the score."""
        group_ids = [k for k in chosen if target in self.groups[k].feasible and not self.groups[k].pinned]
        former_devices = {k: self.where[k] for k in group_ids}
        for k in group_ids:
            self.where[k] = target
        score = self._play() if self._fits(target) else self.score
        if score < self.score:
            self.score = score
            return
        for k, device in former_devices.items():
            self.where[k] = device

    def _fits(self, device: str) -> bool:
        limit = self._limits.get(device, 0)
        return not limit or sum(s for s, d in zip(self._state, self.where, strict=True) if d == device) <= limit
