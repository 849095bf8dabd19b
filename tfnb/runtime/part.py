"""A part of a step: a plan with its kernels; and what every way to run it has in common at the end of a run.

Invariant: a step gives all its fetches, each from the one part that has it, or raises its first error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from tfnb.devices.interface import Device
from tfnb.errors import CancelledError, InvalidArgumentError, Origin
from tfnb.runtime.frames import DEAD
from tfnb.runtime.kernels import Blamed
from tfnb.runtime.plan import Plan
from tfnb.runtime.rendezvous import Rendezvous
from tfnb.runtime.stats import WAIT, StepStats
from tfnb.runtime.values import Value

__all__ = ["PlanPart", "abort", "fetched", "recorded_wait"]


class PlanPart(NamedTuple):
    """A plan of a step, and its kernels. Its feeds are number `feeds[...]` of the step's, its fetches number
    `fetches[...]` (None: all, in order)."""

    plan: Plan
    payloads: tuple[Any, ...]
    feeds: tuple[int, ...] | None = None
    fetches: tuple[int, ...] | None = None
    name: str = ""

    def own_feeds(self, feeds: Sequence[Value]) -> Sequence[Value]:
        """Of the step's feeds those of this part."""
        return feeds if self.feeds is None else [feeds[k] for k in self.feeds]

    def node(self, index: int) -> Blamed:
        """The graph node to blame for what plan node `index` did."""
        found: Blamed | None = getattr(self.payloads[index], "node", None)
        return found or _Named(self.plan.name(index), self.plan.nodes[index].kind.name)


class _Named(NamedTuple):
    """Stands for a node of the plan that has no graph node, in messages."""

    name: str
    type: str
    origin: Origin | None = None


def fetched(results: Iterable[tuple[PlanPart, Sequence[Any]]]) -> list[Value]:
    """The step's fetches in order, from those of its parts. Raises `InvalidArgumentError` for a dead one."""
    found: dict[int, Value] = {}
    for part, values in results:
        for k, value in enumerate(values):
            if value is DEAD:
                node, slot = part.plan.fetches[k]
                raise InvalidArgumentError(
                    f"output {slot} of '{part.plan.name(node)}' has no value: it is on a branch that was not taken",
                    part.node(node),
                )
            found[k if part.fetches is None else part.fetches[k]] = value
    return [found[k] for k in range(len(found))]


def abort(rendezvous: Rendezvous, error: BaseException) -> CancelledError:
    """Wakes whoever waits for a value of a step that raised `error`; what they are told."""
    reason = CancelledError(f"the step was stopped: {error}")
    reason.__cause__ = error
    rendezvous.abort(reason)
    return reason


def recorded_wait(device: Device, recorder: StepStats) -> None:
    """Waits for a device, and notes for how long."""
    start = recorder.now_us()
    device.synchronize()
    recorder.span(WAIT, f"wait for {device.name.rpartition('device:')[2]}", start)
