"""Data sets whose elements are data sets or depend on earlier elements: windows, groups by key, scans (`tf.data`).

Invariant: each element of the source is in the windows or the group determined by its position or key, in its original
order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ops.dataset.sources import Element, IteratorRows, Rows, Source
from tfnb.ops.dataset.transforms import Function, Over, Steps, each
from tfnb.ops.state.handles import make_handle

__all__ = ["Elements", "Grouped", "Scanned", "Windowed"]


class Elements(Source):
    """A data set of given elements."""

    def __init__(self, elements: Sequence[Element]) -> None:
        self._elements = elements

    def rows(self) -> Rows:
        return IteratorRows(iter(self._elements))


class Windowed(Over):
    """Windows as data sets of `size` elements, `stride` apart, starting every `shift` elements; one per component."""

    def __init__(self, source: Source, size: int, shift: int, stride: int, drop: bool) -> None:
        super().__init__(source)
        if min(size, shift, stride) <= 0:
            raise InvalidArgumentError(f"window: size, shift and stride must be > 0, got {size}, {shift}, {stride}")
        self._size, self._shift, self._stride, self._drop = size, shift, stride, drop

    def rows(self) -> Rows:
        rows = self.source.rows()
        return Steps(self._windows(rows), rows)

    def _windows(self, rows: Rows) -> Iterator[Element]:
        span = (self._size - 1) * self._stride + 1
        elements: list[Element] = []
        skip = 0  # the number of elements between windows
        for element in each(rows):
            if skip:
                skip -= 1
                continue
            elements.append(element)
            if len(elements) == span:
                yield self._window(elements)
                skip = max(self._shift - span, 0)
                del elements[: self._shift]
        while elements and not self._drop:
            yield self._window(elements)
            del elements[: self._shift]

    def _window(self, held: list[Element]) -> Element:
        members = held[:: self._stride]
        return tuple(make_handle(Elements([(x,) for x in column])) for column in zip(*members, strict=True))


class Grouped(Over):
    """Groups elements by key; `reduce(key, data set)` returns the data set that replaces a full group."""

    def __init__(self, source: Source, key: Function, reduce: Function, size: Function) -> None:
        super().__init__(source)
        self.waits = True
        self._key, self._reduce, self._size_of = key, reduce, size

    def rows(self) -> Rows:
        rows = self.source.rows()
        return Steps(self._elements(rows), rows)

    def _elements(self, rows: Rows) -> Iterator[Element]:
        groups: dict[int, list[Element]] = {}
        sizes: dict[int, int] = {}
        for element in each(rows):
            key = int(np.asarray(self._key(*element)[0]))
            if key not in groups:
                groups[key], sizes[key] = [], int(np.asarray(self._size_of(np.int64(key))[0]))
                if sizes[key] <= 0:
                    raise InvalidArgumentError(f"Window size must be greater than zero, but got {sizes[key]}.")
            groups[key].append(element)
            if len(groups[key]) == sizes[key]:
                yield from self._reduced(key, groups.pop(key))
        for key, left in groups.items():
            yield from self._reduced(key, left)

    def _reduced(self, key: int, elements: list[Element]) -> Iterator[Element]:
        dataset = np.asarray(self._reduce(np.int64(key), make_handle(Elements(elements)))[0], object).item()
        if not isinstance(dataset, Source):
            raise InvalidArgumentError("reduce_func must give a data set")
        rows = dataset.rows()
        try:
            yield from each(rows)
        finally:
            rows.close()


class Scanned(Over):
    """`function(state, element)` returns the next state, of `n` components, followed by an element."""

    def __init__(self, source: Source, initial: Sequence[Any], function: Function) -> None:
        super().__init__(source)
        self._initial, self._function = tuple(initial), function

    def rows(self) -> Rows:
        rows = self.source.rows()
        return Steps(self._elements(rows), rows)

    def _elements(self, rows: Rows) -> Iterator[Element]:
        state, n = self._initial, len(self._initial)
        for element in each(rows):
            results = tuple(self._function(*state, *element))
            state = results[:n]
            yield results[n:]
