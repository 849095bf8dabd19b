"""A part of a step: a plan with its kernels, as the passes make it and as tasks exchange it (white paper, 3.2.2).

Invariant: `payloads[i]` is the kernel of `plan.nodes[i]`, of the class that the node's kind asks for.
"""

from __future__ import annotations

from typing import NamedTuple

from tfnb.errors import Origin
from tfnb.runtime.kernels import AsyncKernel, Blamed
from tfnb.runtime.loops.form import ImmediateKernel, InnerLoop
from tfnb.runtime.plan import Plan
from tfnb.runtime.transfer import RecvKernel, SendKernel

__all__ = ["Payload", "PlanPart"]

Payload = ImmediateKernel | InnerLoop | AsyncKernel | SendKernel | RecvKernel | None
"""The kernel of a CLUSTER or HOST, of a LOOP, an ASYNC, a SEND, a RECV; None for nodes of the other kinds."""


class PlanPart(NamedTuple):
    """A plan of a step, and its kernels.

    `feeds[i]` is the number, among the step's feeds, of the plan's feed `i`; `fetches[i]` is the number, among the
    step's fetches, of the plan's fetch `i`. None means that the plan has all of them, in order. `name` is the device's.
    """

    plan: Plan
    payloads: tuple[Payload, ...]
    feeds: tuple[int, ...] | None = None
    fetches: tuple[int, ...] | None = None
    name: str = ""

    def node(self, index: int) -> Blamed:
        """The node of the graph that an error of plan node `index` names."""
        found: Blamed | None = getattr(self.payloads[index], "node", None)
        return found or _Named(self.plan.name(index), self.plan.nodes[index].kind.name)


class _Named(NamedTuple):
    """Stands in an error for a node of the plan that has no node of the graph."""

    name: str
    type: str
    origin: Origin | None = None
