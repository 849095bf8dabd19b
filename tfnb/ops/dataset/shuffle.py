"""Shuffled data sets (`tf.data`; white paper, section 4.5: shuffling of input).

A buffer holds the next elements; each new element replaces a random one, which is delivered. When the elements are in
columns (records of files, rows of arrays), a whole batch of exchanges takes a few indexing operations. Invariant: the
order depends on the seed alone, not on how many elements are taken at once.
"""

from __future__ import annotations

import random
from collections import deque

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ops.dataset.sources import ColumnRows, Element, Rows, Source
from tfnb.ops.dataset.transforms import Over

__all__ = ["Shuffled"]

_AHEAD = 256  # elements exchanged at once for a consumer of single elements, but at most the size of the buffer


class _ShuffleRows(Rows):
    def __init__(self, rows: Rows, size: int, seed: int) -> None:
        self._rows = rows
        self._size = size
        self._random = random.Random(seed).random
        self._held: list[Element] = []
        self._ended = False

    def take(self, n: int) -> list[Element]:
        buffer, rand = self._held, self._random
        while not self._ended and len(buffer) < self._size:
            self._more(buffer, self._size - len(buffer))
        elements: list[Element] = []
        while len(elements) < n and buffer:
            fresh = [] if self._ended else self._rows.take(n - len(elements))
            self._ended = self._ended or not fresh
            size = len(buffer)
            for element in fresh:
                i = int(rand() * size)
                elements.append(buffer[i])
                buffer[i] = element
            while self._ended and buffer and len(elements) < n:
                i = int(rand() * len(buffer))
                buffer[i], buffer[-1] = buffer[-1], buffer[i]
                elements.append(buffer.pop())
        return elements

    def _more(self, held: list[Element], n: int) -> None:
        fresh = self._rows.take(n)
        held.extend(fresh)
        self._ended = not fresh

    def close(self) -> None:
        self._rows.close()


class _ShuffleColumns(ColumnRows):
    """A pass over a shuffled data set in columns: the buffer is one array per component."""

    def __init__(self, rows: Rows, size: int, seed: int) -> None:
        self._rows = rows
        self._size = size
        self._draw = np.random.default_rng(seed)
        self._held: list[np.ndarray] | None = None  # the buffer; after the last element, its remaining contents
        self._ended = False
        self._ready: deque[Element] = deque()

    def take(self, n: int) -> list[Element]:
        if not self._ready:
            columns = self.take_columns(max(n, min(_AHEAD, self._size)))
            self._ready.extend(zip(*columns, strict=True))
        return [self._ready.popleft() for _ in range(min(n, len(self._ready)))]

    def some(self, n: int) -> list[np.ndarray]:
        buffer = self._held
        if buffer is None:
            buffer = self._held = [np.array(c) for c in self._rows.take_columns(self._size)]
        if not self._ended:
            fresh = self._rows.take_columns(n)
            if len(fresh[0]):
                return self._exchange(buffer, fresh)
            self._ended = True
            order = self._draw.permutation(len(buffer[0]))
            buffer = [c[order] for c in buffer]
        self._held = [c[n:] for c in buffer]
        return [c[:n] for c in buffer]

    def _exchange(self, held: list[np.ndarray], fresh: list[np.ndarray]) -> list[np.ndarray]:
        """Puts the fresh elements at random positions, one after the other; returns the replaced elements."""
        at = (self._draw.random(len(fresh[0])) * len(held[0])).astype(np.intp)
        order = np.argsort(at, kind="stable")
        places = at[order]
        repeated = places[1:] == places[:-1]  # the position was drawn before, so it holds a fresh element now
        later, before = order[1:][repeated], order[:-1][repeated]
        last = np.append(~repeated, True)[: len(at)]
        places, newest = places[last], order[last]
        columns = []
        for old, new in zip(held, fresh, strict=True):
            out = old[at]
            out[later] = new[before]
            old[places] = new[newest]
            columns.append(out)
        return columns

    def close(self) -> None:
        self._rows.close()


class Shuffled(Over):
    """Every pass has a new order unless `again` is false; the seed makes the sequence of passes reproducible."""

    def __init__(self, source: Source, size: int, seed: int | None, again: bool = True) -> None:
        super().__init__(source)
        if size <= 0:
            raise InvalidArgumentError("buffer_size must be greater than zero.")
        self.in_columns = source.in_columns
        self._size = size
        self._seeds = random.Random(seed)
        self._first = self._seeds.getrandbits(64)
        self._again = again

    def rows(self) -> Rows:
        seed = self._seeds.getrandbits(64) if self._again else self._first
        kind = _ShuffleColumns if self.in_columns else _ShuffleRows
        return kind(self.source.rows(), self._size, seed)
