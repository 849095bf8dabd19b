"""Transformations of data sets: mapping, filtering, repeating, interleaving, concatenation (`tf.data`).

Each transformation is a `Source` based on another one, and takes as many elements at once as are requested. Invariant:
the order of elements is that of a sequential pass, also with parallel calls.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, OpError
from tfnb.ops.dataset.sources import ColumnRows, Element, Rows, Source

__all__ = [
    "Concatenated",
    "Filtered",
    "Forgiving",
    "Interleaved",
    "Mapped",
    "Over",
    "Repeated",
    "Sharded",
    "Skipped",
    "Steps",
    "Taken",
    "Zipped",
    "each",
    "exactly",
]

Function = Callable[..., Sequence[Any]]


class Over(Source):
    """A source based on another one."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.waits = source.waits


class Steps(Rows):
    """A pass that a Python generator implements; `below` are the passes that it uses."""

    def __init__(self, elements: Iterator[Element], *below: Rows) -> None:
        self._elements = elements
        self._below = below
        self._closed = False

    def take(self, n: int) -> list[Element]:
        elements = []
        for element in self._elements:
            elements.append(element)
            if len(elements) == n:
                break
        if self._closed:
            self._end()
        return elements

    def close(self) -> None:
        self._closed = True
        for rows in self._below:
            rows.close()
        self._end()

    def _end(self) -> None:
        """Ends the generator, which closes its files. If a thread is still inside it, that thread does so later."""
        if isinstance(self._elements, Generator):
            with contextlib.suppress(ValueError):
                self._elements.close()


def each(rows: Rows) -> Iterator[Element]:
    """Yields the elements of a pass one by one."""
    while elements := rows.take(1):
        yield from elements


def exactly(rows: Rows, n: int) -> list[Element]:
    """Returns the next `n` elements, or all that are left."""
    elements = rows.take(n)
    while elements and len(elements) < n:
        more = rows.take(n - len(elements))
        if not more:
            break
        elements += more
    return elements


class _MapRows(Rows):
    def __init__(self, rows: Rows, function: Function) -> None:
        self._rows = rows
        self._function = function
        self._held: deque[Element] = deque()

    def take(self, n: int) -> list[Element]:
        if not self._held:
            self._held.extend(self._rows.take(n))
        elements: list[Element] = []
        while self._held and len(elements) < n:
            element = self._held.popleft()
            try:
                elements.append(tuple(self._function(*element)))
            except BaseException:
                if not elements:
                    raise
                self._held.appendleft(element)  # an error, raised in its turn
                break
        return elements

    def close(self) -> None:
        self._rows.close()


class _ParallelRows(Rows):
    """Keeps `n_calls` calls running; the results have the order of the elements."""

    def __init__(self, rows: Rows, function: Function, n_calls: int) -> None:
        self._rows = rows
        self._function = function
        self._n = n_calls
        self._pool = ThreadPoolExecutor(n_calls, thread_name_prefix="tfnb-map")
        self._going: deque[Future[Any]] = deque()
        self._error: BaseException | None = None

    def take(self, n: int) -> list[Element]:
        room = max(self._n, n) - len(self._going)
        if room > 0 and self._error is None:
            self._start(room)
        if not self._going and self._error is not None:
            error, self._error = self._error, None
            raise error
        elements: list[Element] = []
        while self._going and len(elements) < n:
            if elements and self._going[0].done() and self._going[0].exception() is not None:
                break
            elements.append(tuple(self._going.popleft().result()))
        return elements

    def _start(self, room: int) -> None:
        """Starts calls. An error of the pass below is raised after the elements before it."""
        try:
            for element in self._rows.take(room):
                self._going.append(self._pool.submit(self._function, *element))
        except BaseException as e:
            self._error = e

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)  # does not wait, since a function may never return
        self._rows.close()


class Mapped(Over):
    """The results of `function` for each element, with up to `n_calls` parallel calls (0: sequential calls).

    `waits`: the function may block, as one that takes an element of a queue.
    """

    def __init__(self, source: Source, function: Function, n_calls: int = 0, waits: bool = False) -> None:
        super().__init__(source)
        self.waits = source.waits or waits
        self._function = function
        self._n_calls = n_calls

    def rows(self) -> Rows:
        if self._n_calls > 1:
            return _ParallelRows(self.source.rows(), self._function, self._n_calls)
        return _MapRows(self.source.rows(), self._function)


class Filtered(Over):
    """The elements for which `predicate` is true, which may block if it `waits`."""

    def __init__(self, source: Source, predicate: Function, waits: bool = False) -> None:
        super().__init__(source)
        self.waits = source.waits or waits
        self._predicate = predicate

    def rows(self) -> Rows:
        return _FilterRows(self.source.rows(), self._predicate)


class _FilterRows(Rows):
    def __init__(self, rows: Rows, predicate: Function) -> None:
        self._rows = rows
        self._predicate = predicate

    def take(self, n: int) -> list[Element]:
        while element := self._rows.take(1):
            if bool(self._predicate(*element[0])[0]):
                return element
        return []

    def close(self) -> None:
        self._rows.close()


class Interleaved(Over):
    """The elements of the data sets that `function` returns: `block` at a time from `cycle` data sets in turn."""

    waits = True

    def __init__(self, source: Source, function: Function, cycle: int = 1, block: int = 1) -> None:
        super().__init__(source)
        if cycle <= 0 or block <= 0:
            raise InvalidArgumentError(f"cycle_length and block_length must be > 0, got {cycle} and {block}")
        self._function, self._cycle, self._block = function, cycle, block

    def rows(self) -> Rows:
        if self._cycle == 1:
            return _FlatRows(self.source.rows(), self._open)
        rows = self.source.rows()
        return Steps(self._steps(rows), rows)

    def _open(self, element: Element) -> Rows:
        dataset = np.asarray(self._function(*element)[0], object).item()
        if not isinstance(dataset, Source):
            raise InvalidArgumentError("the function of flat_map or interleave must give a data set")
        return dataset.rows()

    def _steps(self, rows: Rows) -> Iterator[Element]:
        outer = each(rows)
        slots: list[Rows | None] = []
        for _ in range(self._cycle):
            element = next(outer, None)
            slots.append(None if element is None else self._open(element))
        while any(s is not None for s in slots):
            for i in range(len(slots)):
                left = self._block
                while left and (slot := slots[i]) is not None:
                    elements = slot.take(left)
                    yield from elements
                    left -= len(elements)
                    if not elements:
                        slot.close()
                        element = next(outer, None)
                        slots[i] = None if element is None else self._open(element)
                        break


class _FlatRows(Rows):
    def __init__(self, rows: Rows, open: Callable[[Element], Rows]) -> None:
        self._rows = rows
        self._open = open
        self._inner: Rows | None = None

    def take(self, n: int) -> list[Element]:
        while True:
            if self._inner is None:
                element = self._rows.take(1)
                if not element:
                    return []
                self._inner = self._open(element[0])
            elements = self._inner.take(n)
            if elements:
                return elements
            self._inner.close()
            self._inner = None

    def close(self) -> None:
        if self._inner is not None:
            self._inner.close()
        self._rows.close()


class _RepeatRows(ColumnRows):
    def __init__(self, source: Source, count: int) -> None:
        self._source = source
        self._left = count  # negative: repeat forever
        self._rows: Rows | None = None
        self._empty = True

    def take(self, n: int) -> list[Element]:
        while (rows := self._walk()) is not None:
            elements = rows.take(n)
            if elements:
                self._empty = False
                return elements
            self._end_walk()
        return []

    def some(self, n: int) -> list[np.ndarray]:
        columns = [np.empty(0)]
        while (rows := self._walk()) is not None:
            columns = rows.take_columns(n)
            if len(columns[0]):
                self._empty = False
                break
            self._end_walk()
        return columns

    def _walk(self) -> Rows | None:
        if self._rows is None and self._left:
            self._left -= 1
            self._rows, self._empty = self._source.rows(), True
        return self._rows

    def _end_walk(self) -> None:
        self.close()
        self._rows = None
        if self._empty and self._left < 0:
            self._left = 0  # an empty data set is not repeated forever

    def close(self) -> None:
        if self._rows is not None:
            self._rows.close()


class Repeated(Over):
    """The elements of `count` passes over the source (negative: of passes without end)."""

    def __init__(self, source: Source, count: int) -> None:
        super().__init__(source)
        self.in_columns = source.in_columns
        self._count = count

    def rows(self) -> Rows:
        return _RepeatRows(self.source, self._count)


class _LimitRows(Rows):
    def __init__(self, rows: Rows, n: int) -> None:
        self._rows = rows
        self._left = n

    def take(self, n: int) -> list[Element]:
        if not self._left:
            return []
        elements = self._rows.take(n if self._left < 0 else min(n, self._left))
        self._left -= len(elements) if self._left > 0 else 0
        return elements

    def close(self) -> None:
        self._rows.close()


class Taken(Over):
    """The first `n` elements (negative: all elements)."""

    def __init__(self, source: Source, n: int) -> None:
        super().__init__(source)
        self._n = n

    def rows(self) -> Rows:
        return _LimitRows(self.source.rows(), self._n)


class Skipped(Over):
    """All but the first `n` elements (negative: no elements)."""

    def __init__(self, source: Source, n: int) -> None:
        super().__init__(source)
        self._n = n

    def rows(self) -> Rows:
        rows = self.source.rows()
        return Steps(self._rest(rows), rows)

    def _rest(self, rows: Rows) -> Iterator[Element]:
        if self._n < 0:
            return
        left = self._n
        while left:
            elements = rows.take(left)
            if not elements:
                return
            left -= len(elements)
        yield from each(rows)


class Sharded(Over):
    """Every `n`-th element, starting with number `index`."""

    def __init__(self, source: Source, n: int, index: int) -> None:
        super().__init__(source)
        if n < 1 or not 0 <= index < n:
            raise InvalidArgumentError(f"num_shards must be >= 1 and index in [0, num_shards), got {n} and {index}")
        self._n, self._index = n, index

    def rows(self) -> Rows:
        rows = self.source.rows()
        return Steps((e for i, e in enumerate(each(rows)) if i % self._n == self._index), rows)


class Zipped(Source):
    """Elements that combine the components of one element of each source; ends with the shortest source."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = list(sources)
        self.waits = any(s.waits for s in sources)

    def rows(self) -> Rows:
        return _ZipRows([s.rows() for s in self._sources])


class _ZipRows(Rows):
    def __init__(self, rows: list[Rows]) -> None:
        self._rows = rows

    def take(self, n: int) -> list[Element]:
        parts = [self._rows[0].take(n)]
        for rows in self._rows[1:]:
            parts.append(exactly(rows, len(parts[0])) if parts[0] else [])
        return [tuple(x for e in elements for x in e) for elements in zip(*parts, strict=False)]

    def close(self) -> None:
        for rows in self._rows:
            rows.close()


class Concatenated(Source):
    """The elements of the first source, then those of the second."""

    def __init__(self, first: Source, second: Source) -> None:
        self._sources = first, second
        self.waits = first.waits or second.waits

    def rows(self) -> Rows:
        return _ChainRows([s.rows() for s in self._sources])


class _ChainRows(Rows):
    def __init__(self, rows: list[Rows]) -> None:
        self._rows = rows
        self._left = list(rows)

    def take(self, n: int) -> list[Element]:
        while self._left:
            elements = self._left[0].take(n)
            if elements:
                return elements
            del self._left[0]
        return []

    def close(self) -> None:
        for rows in self._rows:
            rows.close()


class Forgiving(Over):
    """Leaves out elements that raise an error, and calls `counted` for each."""

    def __init__(self, source: Source, counted: Callable[[int], None]) -> None:
        super().__init__(source)
        self._counted = counted

    def rows(self) -> Rows:
        return _ForgivingRows(self.source.rows(), self._counted)


class _ForgivingRows(Rows):
    def __init__(self, rows: Rows, counted: Callable[[int], None]) -> None:
        self._rows = rows
        self._counted = counted

    def take(self, n: int) -> list[Element]:
        while True:
            try:
                return self._rows.take(n)
            except OpError:
                self._counted(1)

    def close(self) -> None:
        self._rows.close()
