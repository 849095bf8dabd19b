"""Data sets of batches: elements are stacked, padded, and separated again (`tf.data`).

When a data set stores its elements in columns (rows of arrays, records of files), batches are slices of the columns.
Invariant: a batch holds consecutive elements; only the last batch may be smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfnb.errors import DataLossError, InvalidArgumentError
from tfnb.ops.dataset.sources import Element, Rows, Source
from tfnb.ops.dataset.transforms import Over, Steps, each, exactly
from tfnb.ops.sync.queue_store import pad_and_stack
from tfnb.types import DType, Shape

__all__ = ["Batched", "Padded", "Unbatched"]


def stack_rows(rows: Sequence[Any], dtype: DType, component: int) -> np.ndarray:
    """Stacks one component of several elements. Raises `InvalidArgumentError` when their shapes differ."""
    first = rows[0]
    if type(first) is bytes:
        texts = np.empty(len(rows), object)
        texts[:] = rows
        return texts
    shape = np.shape(first)
    for i, r in enumerate(rows):
        if np.shape(r) != shape:
            raise InvalidArgumentError(
                f"Cannot batch tensors with different shapes in component {component}. First element had shape "
                f"{list(shape)} and element {i} had shape {list(np.shape(r))}."
            )
    if dtype.np != np.object_:
        if not shape:
            return np.array(rows, dtype.np)
        return np.concatenate(rows).reshape(len(rows), *shape).astype(dtype.np, copy=False)
    column = np.empty((len(rows), *shape), object)
    if shape:
        for i, r in enumerate(rows):
            column[i] = r
    else:
        column[:] = [r.item() if isinstance(r, np.ndarray) else r for r in rows]
    return column


class _BatchRows(Rows):
    def __init__(
        self, rows: Rows, n: int, drop: bool, stack: Callable[[list[Element]], Element], in_columns: bool = False
    ) -> None:
        self._rows, self._n, self._drop, self._stack = rows, n, drop, stack
        self._in_columns = in_columns

    def take(self, n: int) -> list[Element]:
        if self._in_columns:
            columns = self._rows.take_columns(self._n)
            count = len(columns[0])
            if self._drop and 0 < count < self._n:
                self._rows.take_columns(1)  # raises the error if one made the batch short
                return []
            return [tuple(columns)] if count else []
        elements = exactly(self._rows, self._n)
        if not elements or (self._drop and len(elements) < self._n):
            return []
        return [self._stack(elements)]

    def close(self) -> None:
        self._rows.close()


class Batched(Over):
    """Batches of `n` consecutive elements, stacked; `drop` leaves out a smaller last batch."""

    def __init__(self, source: Source, n: int, drop: bool, dtypes: Sequence[DType]) -> None:
        super().__init__(source)
        if n <= 0:
            raise InvalidArgumentError(f"Batch size must be greater than zero, got {n}.")
        self._n, self._drop, self._dtypes = n, drop, tuple(dtypes)

    def rows(self) -> Rows:
        return _BatchRows(self.source.rows(), self._n, self._drop, self._stack, self.source.in_columns)

    def _stack(self, elements: list[Element]) -> Element:
        columns = zip(*elements, strict=True)
        return tuple(stack_rows(c, d, i) for i, (c, d) in enumerate(zip(columns, self._dtypes, strict=True)))


class Padded(Batched):
    """Batches of padded elements; a dimension that is open in `shapes` gets the largest size in the batch."""

    def __init__(
        self, source: Source, n: int, drop: bool, dtypes: Sequence[DType], shapes: Sequence[Shape], pads: Sequence[Any]
    ) -> None:
        super().__init__(source, n, drop, dtypes)
        self._shapes, self._pads = tuple(shapes), tuple(pads)

    def rows(self) -> Rows:
        return _BatchRows(self.source.rows(), self._n, self._drop, self._stack)

    def _stack(self, elements: list[Element]) -> Element:
        return tuple(
            self._padded(i, [np.asarray(x, d.np) for x in column], d)
            for i, (column, d) in enumerate(zip(zip(*elements, strict=True), self._dtypes, strict=True))
        )

    def _padded(self, i: int, rows: list[np.ndarray], dtype: DType) -> np.ndarray:
        padded_shape = self._shapes[i]
        if padded_shape.sizes is None:
            padded_shape = Shape((None,) * rows[0].ndim)
        dims = padded_shape.sizes or ()
        for r in rows:
            if r.ndim != len(dims) or any(d is not None and n > d for d, n in zip(dims, r.shape, strict=True)):
                raise DataLossError(
                    f"Attempted to pad to a smaller size than the input element: component {i} has the shape "
                    f"{list(r.shape)}, the padded shape is {padded_shape}"
                )
        return pad_and_stack(rows, dtype, padded_shape, self._pads[i])


class Unbatched(Over):
    """The rows of the components of each element, as separate elements."""

    def rows(self) -> Rows:
        rows = self.source.rows()
        return Steps((row for e in each(rows) for row in zip(*e, strict=True)), rows)
