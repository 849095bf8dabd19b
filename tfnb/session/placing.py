"""What a session knows for placing: its devices, the groups of state of its graph, where state is already.

White paper, sections 3.2.1 and 4.3. Invariant: once a step has put state on a device, later steps find it there.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from tfnb.errors import InvalidArgumentError
from tfnb.placement.groups import StateGroups, state_groups
from tfnb.placement.place import Placement, Policy, Rules, first_device, random_device

__all__ = ["Placing", "policy_named"]


def policy_named(text: str) -> Policy:
    """The policy for "first" (or nothing) or "random:SEED". Raises `InvalidArgumentError` for another text."""
    name, _, seed = text.partition(":")
    if name in ("", "first"):
        return first_device
    if name == "random" and seed.lstrip("-").isdigit():
        return random_device(int(seed))
    raise InvalidArgumentError(f"the placement policy {text!r} is not known; needed 'first' or 'random:SEED'")


class Placing:
    """Shared by all steps of a session. `devices`: full names, the default first; `own`: those of this process, where
    others are not."""

    def __init__(
        self, devices: Sequence[str], soft: bool = False, policy: Policy = first_device, own: Sequence[str] = ()
    ) -> None:
        self.devices = tuple(devices)
        self.own = tuple(own)
        self.soft = soft
        self.policy = policy
        self._lock = threading.Lock()
        self._pins: dict[str, str] = {}
        self._known: tuple[Any, int, StateGroups] | None = None  # graph, its version, its groups

    def rules(self, graph: Any) -> Rules:
        """For a step of the user's graph `graph` (None: of no graph)."""
        with self._lock:
            state = self._groups(graph) if graph is not None and len(self.devices) > 1 else StateGroups()
            return Rules(self.devices, self.soft, self.policy, state, dict(self._pins), self.own)

    def keep(self, placement: Placement) -> None:
        """A step was placed: its state stays where it is."""
        with self._lock:
            for name, device in placement.pins().items():
                self._pins.setdefault(name, device)

    @property
    def pins(self) -> Mapping[str, str]:
        """Operation that makes state -> its device, so far."""
        with self._lock:
            return dict(self._pins)

    def _groups(self, graph: Any) -> StateGroups:
        known = self._known
        if known is None or known[0]() is not graph or known[1] != graph.version:
            self._known = known = weakref.ref(graph), graph.version, state_groups(graph.get_operations())
        return known[2]
