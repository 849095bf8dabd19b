"""A part of a step: the plan of one partition and the kernels of its nodes (white paper, section 3.2.2).

Invariant: `payloads[i]` is the kernel of `plan.nodes[i]` and has the class that the kind of the node requires.
"""

from __future__ import annotations

from typing import NamedTuple

from tfnb.errors import Blamed, BlamedNode
from tfnb.runtime.kernels import AsyncKernel
from tfnb.runtime.loops.form import ImmediateKernel, InnerLoop
from tfnb.runtime.plan import Plan
from tfnb.runtime.transfer import RecvKernel, SendKernel

__all__ = ["Payload", "PlanPart"]

Payload = ImmediateKernel | InnerLoop | AsyncKernel | SendKernel | RecvKernel | None
"""The kernel of a CLUSTER or HOST, of a LOOP, an ASYNC, a SEND, a RECV; None for nodes of the other kinds."""


class PlanPart(NamedTuple):
    """The plan of a part of a step, and its kernels.

    Feed `i` of the plan is feed `feeds[i]` of the step, and fetch `i` of the plan is fetch `fetches[i]` of the step.
    None means that the plan has all feeds or fetches of the step, in the same order. `name` is the full name of the
    device.
    """

    plan: Plan
    payloads: tuple[Payload, ...]
    feeds: tuple[int, ...] | None = None
    fetches: tuple[int, ...] | None = None
    name: str = ""

    def node(self, index: int) -> Blamed:
        """The node that errors of plan node `index` name: the graph node of its kernel, or a substitute."""
        node: Blamed | None = getattr(self.payloads[index], "node", None)
        return node or BlamedNode(self.plan.name(index), self.plan.nodes[index].kind.name, None)
