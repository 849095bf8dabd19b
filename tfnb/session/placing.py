"""The placement state of a session: devices, the state groups of its graph, and the devices of existing state.

White paper, sections 3.2.1 and 4.3. A policy that uses costs begins with estimates; a step that was traced is placed
again with the measured costs. Invariant: when a step has placed state on a device, all later steps use it there.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping, Sequence

from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import GraphLike
from tfnb.placement.costs import CostModel
from tfnb.placement.groups import StateGroups, state_groups
from tfnb.placement.place import Placement, Policy, Rules, first_device, random_device
from tfnb.placement.search import Search
from tfnb.placement.simulate import Greedy, simulate

__all__ = ["Placing"]


def _policy(text: str, costs: CostModel, limits: Mapping[str, int]) -> Policy:
    """The placement policy of this name. Raises `InvalidArgumentError` for an unknown name."""
    name, _, seed = text.partition(":")
    if name in ("", "first"):
        return first_device
    if name == "random" and seed.lstrip("-").isdigit():
        return random_device(int(seed))
    if text == "greedy":
        return Greedy(costs, limits)
    if text == "search":
        return Search(costs, limits)
    names = "'first', 'greedy', 'search' or 'random:SEED'"
    raise InvalidArgumentError(f"the placement policy {text!r} is not known; needed {names}")


class Placing:
    """The placement state of a session, which all its steps share.

    `limits` maps the full name of each device to the bytes of its memory, the default device first. `own` are the
    devices of this process if there are others. `costs` is the cost model, which traced steps update.
    """

    def __init__(
        self, limits: Mapping[str, int], soft: bool = False, policy: str = "", own: Sequence[str] = ()
    ) -> None:
        self.devices = tuple(limits)
        self.own = tuple(own)
        self.soft = soft
        self.costs = CostModel()
        self.policy: Policy = _policy(policy, self.costs, limits)
        self._asks_costs = isinstance(self.policy, (Greedy, Search))
        self._measured_then: weakref.WeakKeyDictionary[Placement, int] = weakref.WeakKeyDictionary()
        self._lock = threading.RLock()
        self._pins: dict[str, str] = {}
        self._known: tuple[weakref.ref[GraphLike], int, StateGroups] | None = None  # a graph, its version, its groups

    def rules(self, graph: GraphLike | None) -> Rules:
        """The placement rules for a step of the user's graph `graph` (None: the step has no graph)."""
        with self._lock:
            state = self._groups(graph) if graph is not None and len(self.devices) > 1 else StateGroups()
            return Rules(self.devices, self.soft, self.policy, state, dict(self._pins), self.own)

    def keep(self, placement: Placement) -> None:
        """Notes the devices of the state of a placed step, which later steps keep."""
        with self._lock:
            for name, device in placement.pins().items():
                self._pins.setdefault(name, device)
            if self._asks_costs and placement.groups:
                self._measured_then[placement] = self.costs.n_measured

    def is_outdated(self, placement: Placement) -> bool:
        """Returns whether this placement was chosen by costs and more operations have been measured since."""
        with self._lock:
            n_measured = self._measured_then.get(placement)
            return n_measured is not None and n_measured < self.costs.n_measured

    def explain(self, placement: Placement) -> str:
        """A text that lists the devices of all groups with the reasons, and the duration of the step by the cost
        model."""
        graph, default_device = placement.graph, self.devices[0]
        placed = simulate(graph, {i: n.device for i, n in graph.nodes.items()}, self.costs)
        on_first = simulate(graph, dict.fromkeys(graph.nodes, default_device), self.costs)
        durations = f"it would take {placed.total:.0f} us, all of it on {default_device} {on_first.total:.0f} us"
        transfers = f"{len(placed.transfers)} tensors of {placed.bytes_sent:,} bytes go from device to device"
        measured = f"costs of {self.costs.n_measured} ops and shapes are measured, the others estimated"
        return f"{placement.report()}\nBy the cost model {durations}; {transfers}; {measured}."

    @property
    def pins(self) -> Mapping[str, str]:
        """The device of each operation that creates state, as far as steps have placed them."""
        with self._lock:
            return dict(self._pins)

    def _groups(self, graph: GraphLike) -> StateGroups:
        cached = self._known
        if cached is None or cached[0]() is not graph or cached[1] != graph.version:
            self._known = cached = weakref.ref(graph), graph.version, state_groups(graph.get_operations())
        return cached[2]
