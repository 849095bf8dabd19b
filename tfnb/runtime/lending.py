"""Which fed arrays a step may keep beyond its run, and which fetches may not be new arrays (white paper, section 4.2).

A step reads a fed array where it lies, without a copy, since clusters write all they compute to memory of their own.
Other nodes pass values on, and those with state may keep them: a queue, a table, an iterator. What they keep must not
be an array that the user changes later. Invariant: a feed that is not named here is not used when the run is over,
except by fetches that are named here, and nobody has the array of any other fetch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tfnb.runtime.kernels import HostKernel
from tfnb.runtime.loops.scalars import ScalarKernel
from tfnb.runtime.part import PlanPart
from tfnb.runtime.plan import PlanKind
from tfnb.runtime.transfer import RecvKernel, SendKernel

__all__ = ["kept_feeds", "shared_fetches"]

_Output = tuple[int, int, int]
"""An output of a node: the number of the part, the node, the slot."""

_PASS = frozenset(
    (PlanKind.SWITCH, PlanKind.MERGE, PlanKind.ENTER, PlanKind.EXIT, PlanKind.NEXT_ITERATION, PlanKind.LOOP_COND)
)


def kept_feeds(parts: Sequence[PlanPart]) -> tuple[int, ...]:
    """Returns the numbers, in order, of the feeds of a step that a node of `parts` may keep."""
    flow = _Flow(parts)
    feeds = {k for p in parts for k in (range(len(p.plan.feeds)) if p.feeds is None else p.feeds)}
    return tuple(k for k in sorted(feeds) if flow.keeps(k))


def shared_fetches(parts: Sequence[PlanPart]) -> tuple[int, ...]:
    """Returns the numbers, in order, of the fetches of `parts` whose arrays somebody else may have after the run.

    The output of a cluster is new in each run, so it is the user's if nothing but one fetch reads it. What another task
    sends is always new.
    """
    shared: list[int] = []
    for part in parts:
        plan = part.plan
        readers = Counter(source for node in plan.nodes for source in node.inputs)
        readers.update(plan.fetches)
        numbers = range(len(plan.fetches)) if part.fetches is None else part.fetches
        for number, source in zip(numbers, plan.fetches, strict=True):
            if plan.kinds[source[0]] != PlanKind.CLUSTER or readers[source] > 1:
                shared.append(number)
    return tuple(sorted(shared))


class _Flow:
    """Where values go unchanged, through nodes that may return an input or a part of it."""

    def __init__(self, parts: Sequence[PlanPart]) -> None:
        self._parts = parts
        self._readers: dict[_Output, list[tuple[int, int]]] = {}
        self._recvs: dict[object, tuple[int, int]] = {}
        for i, part in enumerate(parts):
            for n, node in enumerate(part.plan.nodes):
                kernel = part.payloads[n]
                if isinstance(kernel, RecvKernel):
                    self._recvs[kernel.key] = i, n
                for source, slot in node.inputs:
                    self._readers.setdefault((i, source, slot), []).append((i, n))

    def keeps(self, feed: int) -> bool:
        """Returns whether a node that may keep this feed can get it, or a value that has memory of it."""
        stack = list(self._sources(feed))
        seen = set(stack)
        while stack:
            for part, node in self._readers.get(stack.pop(), ()):
                outputs = self._outputs(part, node)
                if outputs is None:
                    return True
                for output in outputs:
                    if output not in seen:
                        seen.add(output)
                        stack.append(output)
        return False

    def _sources(self, feed: int) -> Iterator[_Output]:
        for i, part in enumerate(self._parts):
            numbers = range(len(part.plan.feeds)) if part.feeds is None else part.feeds
            yield from ((i, part.plan.feeds[k], 0) for k, number in enumerate(numbers) if number == feed)

    def _outputs(self, part: int, node: int) -> list[_Output] | None:
        """The outputs of a node that may have memory of its inputs. None if the node may keep its inputs."""
        plan_node, kernel = self._parts[part].plan.nodes[node], self._parts[part].payloads[node]
        kind = plan_node.kind
        if kind == PlanKind.CLUSTER or isinstance(kernel, ScalarKernel):
            return []
        if kind == PlanKind.SEND:
            assert isinstance(kernel, SendKernel)
            receiver = self._recvs.get(kernel.key)
            return [] if receiver is None else [(*receiver, 0)]  # another task gets its bytes while the step runs
        if kind == PlanKind.HOST and isinstance(kernel, HostKernel):
            op = kernel.node.opdef
            if op.calls_user:
                return []  # its function gets copies
            if op.stateful or op.writes:
                return None
        elif kind not in _PASS:
            return None
        return [(part, node, slot) for slot in range(plan_node.n_outputs)]
