"""Queues as data structures: FIFO, shuffled, padded and by priority (white paper, section 4.6; OSDI'16, section 3.1).

Elements are tuples of arrays. Enqueue and dequeue operations wait in lists (`Lines`), so a full or empty queue holds no
thread. Invariant: an element is in the queue, held by the one attempt that collects it, or delivered.
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tfnb.errors import CancelledError, InvalidArgumentError, OutOfRangeError
from tfnb.ir.opdef import AsyncCall
from tfnb.ops.sync.waiting_list import Attempt, Lines
from tfnb.types import DType, Shape, bracketed

__all__ = ["FIFOQueue", "PaddingFIFOQueue", "PriorityQueue", "Queue", "RandomShuffleQueue"]

Element = tuple[Any, ...]
_ENQUEUE, _DEQUEUE = "Enqueue", "Dequeue"


class Queue:
    """The common part of all queues; each kind stores elements by `_put`, `_take`, `_put_back` and `_available`.

    capacity: None means no limit. shapes: one per component, or empty if they are not specified.
    """

    _sorts = False  # elements that come later may belong before those that wait, so they leave all at once

    def __init__(self, name: str, capacity: int | None, dtypes: Sequence[DType], shapes: Sequence[Shape]) -> None:
        self.name = name
        self.capacity = capacity
        self.dtypes = tuple(dtypes)
        self.shapes = tuple(shapes)
        self.closed = False
        self._lines = Lines(_ENQUEUE, _DEQUEUE)

    # ---- how a kind stores its elements; all called under the lock --------------------------

    def _put(self, element: Element) -> None:
        raise AssertionError("a kind of queue says how")

    def _take(self) -> Element:
        raise AssertionError("a kind of queue says how")

    def _put_back(self, elements: Sequence[Element]) -> None:
        """Returns the elements that were taken last, in the order in which they were taken."""
        raise AssertionError("a kind of queue says how")

    def _count(self) -> int:
        raise AssertionError("a kind of queue says how")

    def _available(self) -> int:
        """The number of elements that may be dequeued now."""
        return self._count()

    # ---- operations --------------------------------------------------------------------------

    @property
    def kind(self) -> str:
        return type(self).__name__

    def size(self) -> int:
        with self._lines.lock:
            return self._count()

    def check_same(self, other: Queue) -> None:
        """Raises `InvalidArgumentError` unless `other`, created for the same name, has the same properties."""
        for aspect, own_value, other_value in (
            ("capacity", self.capacity, other.capacity),
            ("component types", [d.name for d in self.dtypes], [d.name for d in other.dtypes]),
            ("component shapes", list(map(str, self.shapes)), list(map(str, other.shapes))),
        ):
            if own_value != other_value:
                raise InvalidArgumentError(
                    f"Shared queue '{self.name}' has {aspect} {own_value} but requested {aspect} was {other_value}"
                )

    def enqueue(self, call: AsyncCall, elements: Sequence[Element]) -> Callable[[], str]:
        """Enqueues the elements one by one as space becomes free; cancellation keeps those already enqueued."""
        left = deque(elements)

        def step(attempt: Attempt) -> bool:
            if self.closed:
                return attempt.fail(CancelledError(f"{self.kind} '{self.name}' is closed."))
            while left and (self.capacity is None or self._count() < self.capacity):
                self._put(left.popleft())
                attempt.moved = True
            return not left

        self._lines.submit(_ENQUEUE, Attempt(call, step))
        return lambda: f"{self.describe()}; waits for room for {len(left)}"

    def dequeue(self, call: AsyncCall) -> Callable[[], str]:
        def step(attempt: Attempt) -> bool:
            if self._available() > 0:
                attempt.result = self._take()
                return True
            return self.closed and attempt.fail(self._too_few(1))

        self._lines.submit(_DEQUEUE, Attempt(call, step))
        return lambda: f"{self.describe()}; waits for an element"

    def dequeue_many(self, call: AsyncCall, n: int, up_to: bool) -> Callable[[], str]:
        """Dequeues `n` elements and stacks them; with `up_to`, a closed queue delivers its remaining elements."""
        if n < 0:
            raise InvalidArgumentError(f"{self.kind}: cannot dequeue {n} elements, needed n >= 0")
        if not self.shapes or not self._stackable():
            raise InvalidArgumentError(
                f"{self.kind}'s DequeueMany and DequeueUpTo require the components to have specified shapes."
            )
        elements: list[Element] = []

        def undo() -> None:
            self._put_back(elements)
            elements.clear()

        def step(attempt: Attempt) -> bool:
            if self._sorts and not self.closed and self._count() < n:
                return False
            while len(elements) < n and self._available() > 0:
                elements.append(self._take())
                attempt.moved = True
            if len(elements) == n or (self.closed and up_to and elements):
                attempt.result = lambda: self._stacked(elements)
                return True
            if not self.closed:
                return False
            undo()
            return attempt.fail(self._too_few(n))

        self._lines.submit(_DEQUEUE, Attempt(call, step, undo))
        return lambda: f"{self.describe()}; has {len(elements)} of the {n} elements it waits for"

    def close(self, call: AsyncCall, cancel_pending_enqueues: bool) -> Callable[[], str]:
        """Rejects new elements from now on. Waiting enqueues are completed first, or cancelled."""
        if cancel_pending_enqueues:
            self._lines.cancel_line(_ENQUEUE, "Enqueue operation was cancelled")

        def step(attempt: Attempt) -> bool:
            if self.closed:
                return attempt.fail(CancelledError(f"Queue '{self.name}' is already closed."))
            self.closed = True
            return True

        self._lines.submit(_ENQUEUE, Attempt(call, step))
        return lambda: f"{self.describe()}; closes after those that wait to enqueue"

    def dispose(self) -> None:
        """Cancels all waiting operations, since the queue's container was reset."""
        with self._lines.lock:
            self.closed = True
        for line in (_ENQUEUE, _DEQUEUE):
            self._lines.cancel_line(line, f"{self.kind} '{self.name}': its container was reset")

    def describe(self) -> str:
        """Returns a description for reports of waiting operations."""
        with self._lines.lock:
            room = "" if self.capacity is None else f" of {self.capacity}"
            state = "closed" if self.closed else "open"
            waits = ", ".join(
                f"{self._lines.waiting(line)} {text}"
                for line, text in ((_ENQUEUE, "enqueuing"), (_DEQUEUE, "dequeuing"))
            )
            return f"{self.kind} '{self.name}' is {state} and holds {self._count()}{room} elements ({waits})"

    # ---- elements ---------------------------------------------------------------------------

    def check(self, components: Sequence[np.ndarray], many: bool) -> None:
        """Raises `InvalidArgumentError` unless the components form an element (or, with `many`, rows of elements)."""
        if len(components) != len(self.dtypes):
            raise InvalidArgumentError(
                f"Wrong number of components in tuple. Expected {len(self.dtypes)}, got {len(components)}"
            )
        if many and any(c.ndim == 0 or len(c) != len(components[0]) for c in components):
            shapes = ", ".join(str(c.shape) for c in components)
            raise InvalidArgumentError(
                f"All input tensors must have the same size in the 0th dimension; got the shapes {shapes}"
            )
        for i, (c, allowed) in enumerate(zip(components, self.shapes, strict=False)):
            shape = c.shape[1:] if many else c.shape
            if not allowed.is_compatible_with(shape):
                rows = (len(c),) if many else ()
                expected = [*rows, *("?" if d is None else d for d in allowed.sizes or ())]
                raise InvalidArgumentError(
                    f"Shape mismatch in tuple component {i}. Expected {bracketed(expected)}, got {bracketed(c.shape)}"
                )

    def _stackable(self) -> bool:
        return all(s.is_fully_defined() for s in self.shapes)

    def _stacked(self, elements: Sequence[Element]) -> list[np.ndarray]:
        return [
            _stack([e[i] for e in elements], d, shape.known())
            for i, (d, shape) in enumerate(zip(self.dtypes, self.shapes, strict=True))
        ]

    def _too_few(self, n: int) -> OutOfRangeError:
        return OutOfRangeError(
            f"{self.kind} '{self.name}' is closed and has insufficient elements "
            f"(requested {n}, current size {self._count()})"
        )


def _stack(rows: Sequence[Any], dtype: DType, shape: tuple[int, ...]) -> np.ndarray:
    if not shape and dtype.np != np.object_:
        return np.array(rows, dtype.np)
    column = np.empty((len(rows), *shape), dtype.np)
    for i, row in enumerate(rows):
        column[i] = row.item() if not shape and isinstance(row, np.ndarray) else row
    return column


class FIFOQueue(Queue):
    """A first-in-first-out queue."""

    def __init__(self, name: str, capacity: int | None, dtypes: Sequence[DType], shapes: Sequence[Shape]) -> None:
        super().__init__(name, capacity, dtypes, shapes)
        self._elements: deque[Element] = deque()

    def _put(self, element: Element) -> None:
        self._elements.append(element)

    def _take(self) -> Element:
        return self._elements.popleft()

    def _put_back(self, elements: Sequence[Element]) -> None:
        self._elements.extendleft(reversed(elements))

    def _count(self) -> int:
        return len(self._elements)


class PaddingFIFOQueue(FIFOQueue):
    """A first-in-first-out queue that pads elements of different shapes with zeros when it stacks them."""

    def _stackable(self) -> bool:
        return all(s.sizes is not None for s in self.shapes)

    def _stacked(self, elements: Sequence[Element]) -> list[np.ndarray]:
        return [
            pad_and_stack([e[i] for e in elements], d, shape)
            for i, (d, shape) in enumerate(zip(self.dtypes, self.shapes, strict=True))
        ]


def pad_and_stack(rows: Sequence[Any], dtype: DType, wanted: Shape, pad: ArrayLike | None = None) -> np.ndarray:
    """Stacks rows; dimensions that are open in `wanted` get the largest size. `pad`: the filling (0, b"", False)."""
    dims = wanted.sizes
    assert dims is not None
    shapes = [np.shape(r) for r in rows]
    full = tuple(max((s[k] for s in shapes), default=0) if d is None else d for k, d in enumerate(dims))
    if not full or all(s == full for s in shapes):
        return _stack(rows, dtype, full)
    filling = pad if pad is not None else b"" if dtype.is_string else 0
    padded = np.full((len(rows), *full), filling, dtype.np)
    for i, (row, shape) in enumerate(zip(rows, shapes, strict=True)):
        padded[(i,) + tuple(slice(0, n) for n in shape)] = row
    return padded


class RandomShuffleQueue(Queue):
    """A queue that delivers a random element, and while open keeps at least `min_after_dequeue` elements."""

    def __init__(
        self,
        name: str,
        capacity: int | None,
        dtypes: Sequence[DType],
        shapes: Sequence[Shape],
        min_after_dequeue: int = 0,
        seeds: tuple[int, int] = (0, 0),
    ) -> None:
        super().__init__(name, capacity, dtypes, shapes)
        self.min_after_dequeue = min_after_dequeue
        self.seeds = seeds  # (0, 0) stands for none
        self._random = random.Random((seeds[0] << 32) ^ seeds[1] if any(seeds) else None)
        self._elements: list[Element] = []

    def check_same(self, other: Queue) -> None:
        super().check_same(other)
        if not isinstance(other, RandomShuffleQueue):
            return
        for aspect, own, requested in (
            ("min_after_dequeue", self.min_after_dequeue, other.min_after_dequeue),
            ("random seeds", self.seeds, other.seeds),
        ):
            if own != requested and not (aspect == "random seeds" and (0, 0) in (own, requested)):
                raise InvalidArgumentError(
                    f"Shared queue '{self.name}' has {aspect} {own} but requested {aspect} was {requested}"
                )

    def _put(self, element: Element) -> None:
        self._elements.append(element)

    def _take(self) -> Element:
        elements = self._elements
        i = int(self._random.random() * len(elements))
        elements[i], elements[-1] = elements[-1], elements[i]
        return elements.pop()

    def _put_back(self, elements: Sequence[Element]) -> None:
        self._elements.extend(elements)

    def _count(self) -> int:
        return len(self._elements)

    def _available(self) -> int:
        return len(self._elements) - (0 if self.closed else self.min_after_dequeue)


class PriorityQueue(Queue):
    """A queue that delivers the element with the smallest first component, an int64; among equals the oldest."""

    _sorts = True

    def __init__(self, name: str, capacity: int | None, dtypes: Sequence[DType], shapes: Sequence[Shape]) -> None:
        super().__init__(name, capacity, dtypes, shapes)
        self._heap: list[tuple[int, int, Element]] = []
        self._newest = 0
        self._oldest = 0

    def _put(self, element: Element) -> None:
        self._newest += 1
        heapq.heappush(self._heap, (int(element[0]), self._newest, element))

    def _take(self) -> Element:
        return heapq.heappop(self._heap)[2]

    def _put_back(self, elements: Sequence[Element]) -> None:
        for element in reversed(elements):
            self._oldest -= 1
            heapq.heappush(self._heap, (int(element[0]), self._oldest, element))

    def _count(self) -> int:
        return len(self._heap)
