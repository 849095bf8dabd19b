"""Partial runs: one step whose feeds and fetches are given in several calls (`Session.partial_run_setup`).

The step runs in a thread of its own. A missing feed is an asynchronous node, which occupies no thread. Invariant: a
call fetches only values that depend on earlier feeds, so it never waits for a later call.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tfnb.errors import InvalidArgumentError
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor
from tfnb.passes.partial import Exchange
from tfnb.session.feed import feed_array, own_feed
from tfnb.session.fetch import FetchPlan
from tfnb.system import threads
from tfnb.system.interrupts import holding_interrupts
from tfnb.system.ownership import make_own

__all__ = ["PartialRun"]

_NUMBERS = itertools.count(1)


class PartialRun:
    """One partial run. `needs[k]` are the numbers of the feeds on which fetch k depends. `execute()` runs the step."""

    def __init__(
        self,
        plan: FetchPlan,
        feeds: Sequence[Tensor],
        needs: Sequence[set[int]],
        exchange: Exchange,
        execute: Callable[[], Any],
    ) -> None:
        self.handle = f"partial_run_{next(_NUMBERS)}"
        self._fetches: dict[Any, int] = {x: k for k, x in enumerate((*plan.tensors, *plan.operations))}
        self._feeds = {t: k for k, t in enumerate(feeds)}
        self._needs = needs
        self._exchange = exchange
        self._execute = execute
        self._fed: set[int] = set()
        self._taken: set[int] = set()
        self._lock = threading.Lock()
        threads.start(threading.Thread(target=self._run, daemon=True, name="tfnb-partial-run"))

    def _run(self) -> None:
        try:
            self._execute()
        except BaseException as e:
            self._exchange.fail(e)

    @property
    def finished(self) -> bool:
        """Whether everything has been fetched."""
        return len(self._taken) == len(self._fetches)

    def part(self, plan: FetchPlan, feeds: Mapping[Tensor, Any]) -> list[Any]:
        """Feeds `feeds` and returns the values of the plan's tensors. Raises `InvalidArgumentError` for a feed or fetch
        that was not set up or was given before, and for a fetch that needs a missing feed."""
        arrays = {t: own_feed(feed_array(t, v), v) for t, v in feeds.items()}  # the step goes on after the call
        with holding_interrupts():  # so that an interrupt cannot come between noting a feed and giving it
            numbers = self._give(plan, arrays)
        values = [self._exchange.take(k) for k in numbers]
        del values[len(plan.tensors) :]
        make_own(values, range(len(values)))
        return values

    def _give(self, plan: FetchPlan, arrays: Mapping[Tensor, Any]) -> list[int]:
        """Gives the feeds to the step; returns the numbers of the fetches."""
        with self._lock:
            fetches: tuple[Tensor | Operation, ...] = (*plan.tensors, *plan.operations)
            numbers = [self._number(self._fetches, x, "fetch", self._taken) for x in fetches]
            values = {self._number(self._feeds, t, "feed", self._fed): a for t, a in arrays.items()}
            names = {k: t.name for t, k in self._feeds.items()}
            for x, k in zip(fetches, numbers, strict=True):
                missing = self._needs[k] - self._fed - set(values)
                if missing:
                    missing_names = ", ".join(sorted(names[m] for m in missing))
                    raise InvalidArgumentError(
                        f"the fetch {x.name} can't be computed before {missing_names} is fed", _op(x)
                    )
            self._fed |= set(values)
            self._taken |= set(numbers)
        for k, array in values.items():
            self._exchange.feed(k, array)
        return numbers

    def _number(self, known: Mapping[Any, int], x: Tensor | Operation, what: str, used: set[int]) -> int:
        k = known.get(x)
        if k is None:
            raise InvalidArgumentError(f"the {what} {x.name} was not specified in partial_run_setup", _op(x))
        if k in used:
            raise InvalidArgumentError(f"the {what} {x.name} had already been given in this partial run", _op(x))
        return k


def _op(x: Tensor | Operation) -> Operation:
    return x if isinstance(x, Operation) else x.op
