"""A part of a step that only reads variables for the master, as most parts of a parameter server do (OSDI'16, 4.2).

Such a part never waits, and running it twice changes nothing, so it needs no rendezvous and no cancellation. Invariant:
it sends the same messages as if it ran as a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfnb.runtime.cluster_kernel import ClusterKernel
from tfnb.runtime.part import PlanPart
from tfnb.runtime.plan import PlanKind
from tfnb.runtime.transfer import SendKernel
from tfnb.runtime.values import to_host
from tfnb.session.dask.task.task_rendezvous import key_text
from tfnb.session.dask.task_names import task_of
from tfnb.session.dask.transport.wire import Kind, Message

__all__ = ["ReadOnlyPart"]


class ReadOnlyPart:
    """A part of a step that only reads variables. `messages` may be called from many threads at once."""

    @classmethod
    def of(cls, parts: Sequence[PlanPart], fetches: Sequence[str], master: str) -> ReadOnlyPart | None:
        """Creates the object for the parts of a step at this task, or returns None if they do not only read variables.

        `fetches` are the keys of the fetches, and `master` is the name of the master's task.
        """
        if len(parts) != 1 or parts[0].plan.feeds:
            return None
        part = parts[0]
        kernels: dict[int, ClusterKernel] = {}
        sends: list[tuple[SendKernel, int, int]] = []
        for i, (node, kernel) in enumerate(zip(part.plan.nodes, part.payloads, strict=True)):
            if type(kernel) is ClusterKernel and not node.inputs and kernel.cluster.only_reads:
                kernels[i] = kernel
            elif type(kernel) is SendKernel and node.inputs and task_of(kernel.key.target) == master:
                sends.append((kernel, *node.inputs[0]))
            elif node.kind != PlanKind.NO_OP:
                return None
        places = part.fetches if part.fetches is not None else range(len(part.plan.fetches))
        fetched = [(fetches[k], *source) for k, source in zip(places, part.plan.fetches, strict=True)]
        sources = {s for _, s, _ in (*sends, *fetched)}
        return cls(kernels, sends, fetched) if sources and sources <= kernels.keys() else None

    def __init__(
        self,
        kernels: dict[int, ClusterKernel],
        sends: Sequence[tuple[SendKernel, int, int]],
        fetched: Sequence[tuple[str, int, int]],
    ) -> None:
        self._kernels = list(kernels.items())
        self._sends = [(key_text(kernel.key), kernel, node, slot) for kernel, node, slot in sends]
        self._fetched = fetched

    def messages(self, step: int) -> list[Message]:
        """Runs the part; returns the messages for the master, of which the last one ends the step.

        Raises the errors of the kernels.
        """
        outputs = {node: kernel.run(()) for node, kernel in self._kernels}
        values: list[tuple[str, Any]] = [(key, k.value((outputs[node][slot],))) for key, k, node, slot in self._sends]
        values += [(key, outputs[node][slot]) for key, node, slot in self._fetched]
        last = len(values) - 1
        return [
            Message(Kind.TENSOR, step, key, np.asarray(to_host(value)), False, i == last)
            for i, (key, value) in enumerate(values)
        ]
