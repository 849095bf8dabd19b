"""The sources of data sets: tensors, ranges, files, Python generators (`tf.data`).

A `Source` describes a data set and can be iterated any number of times; a `Rows` is one pass. Elements are tuples of
arrays (strings: bytes). They are taken many at a time, so the cost per element stays small. Invariant: a pass delivers
its elements once and in order, and after the last one only empty lists.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, OpError, UnimplementedError, UnknownError
from tfnb.ops.io.record_files import RecordFile
from tfnb.system.interrupts import is_from_handler
from tfnb.system.ownership import arguments

__all__ = [
    "ColumnRows",
    "Files",
    "Generator",
    "IteratorRows",
    "Ranges",
    "Rows",
    "Slices",
    "Source",
    "Tensors",
]

Element = tuple[Any, ...]


class Rows:
    """One pass over a data set."""

    def take(self, n: int) -> list[Element]:
        """Returns the next elements: at least one and at most `n`; an empty list at the end."""
        raise AssertionError("a kind of walk says how")

    def take_columns(self, n: int) -> list[np.ndarray]:
        """Returns the next `n` elements as one array per component.

        There are fewer before the end or before an error, which the next call raises. Only for sources in columns.
        """
        raise AssertionError("a kind of walk in columns says how")

    def close(self) -> None:
        """Releases threads and files."""


class Source:
    """A data set.

    `waits`: iterating it may take long or block. `in_columns`: its passes implement `take_columns`.
    """

    waits = False
    in_columns = False

    def rows(self) -> Rows:
        """Returns a new pass."""
        raise AssertionError("a kind of source says how")


class ColumnRows(Rows):
    """A pass that delivers columns, one array per component. An error is raised after the elements before it."""

    _pending: OpError | None = None

    def some(self, n: int) -> list[np.ndarray]:
        """At least one and at most `n` of the next elements; columns without elements at the end."""
        raise AssertionError("a kind of walk in columns says how")

    def take_columns(self, n: int) -> list[np.ndarray]:
        if self._pending is not None:
            error, self._pending = self._pending, None
            raise error
        parts = []
        missing = n
        try:
            while True:
                parts.append(self.some(missing))
                count = len(parts[-1][0])
                missing -= count
                if not missing or not count:
                    break
        except OpError as e:
            if not parts:
                raise
            self._pending = e
        full = [p for p in parts if len(p[0])] or parts[-1:]
        return full[0] if len(full) == 1 else [np.concatenate(c) for c in zip(*full, strict=True)]


class IteratorRows(Rows):
    """A pass over a Python iterator of elements."""

    def __init__(self, elements: Iterator[Element]) -> None:
        self._elements = elements

    def take(self, n: int) -> list[Element]:
        return list(itertools.islice(self._elements, n))


class Tensors(Source):
    """A data set of one element."""

    def __init__(self, components: Sequence[np.ndarray]) -> None:
        self.element = tuple(components)

    def rows(self) -> Rows:
        return IteratorRows(iter([self.element]))


class _Columns(Rows):
    """A pass over the rows of arrays, which also delivers slices of them (`take_columns`)."""

    def __init__(self, columns: Sequence[np.ndarray]) -> None:
        self._columns = columns
        self._at = 0

    def take(self, n: int) -> list[Element]:
        return list(zip(*self.take_columns(n), strict=True))

    def take_columns(self, n: int) -> list[np.ndarray]:
        begin, self._at = self._at, self._at + n
        return [c[begin : begin + n] for c in self._columns]


class Slices(Source):
    """The rows of arrays that have the same first dimension."""

    in_columns = True

    def __init__(self, components: Sequence[np.ndarray]) -> None:
        shapes = [c.shape for c in components]
        if any(not s for s in shapes) or len({s[0] for s in shapes}) > 1:
            raise InvalidArgumentError(
                f"All components must have the same first dimension to be sliced, got the shapes {shapes}"
            )
        self.columns = list(components)

    def rows(self) -> Rows:
        return _Columns(self.columns)


class SparseSlices(Source):
    """The rows of a sparse tensor as indices, values and shape. Raises `InvalidArgumentError` if out of order."""

    def __init__(self, indices: np.ndarray, values: np.ndarray, shape: np.ndarray) -> None:
        if shape.size < 2 or indices.shape != (values.size, shape.size):
            raise InvalidArgumentError(
                f"a sparse tensor of rank 2 or more was needed, got indices {indices.shape}, values {values.shape} and "
                f"shape {shape.tolist()}"
            )
        rows = indices[:, 0]
        if (np.diff(rows) < 0).any():
            raise UnimplementedError("the rows of the sparse tensor are out of order; they must be sorted")
        if rows.size and not 0 <= rows[0] <= rows[-1] < shape[0]:
            raise InvalidArgumentError("the rows of the sparse tensor are outside its shape")
        self._indices, self._values, self._shape = indices[:, 1:], values, shape[1:]
        self._limits = np.searchsorted(rows, np.arange(shape[0] + 1))

    def rows(self) -> Rows:
        return IteratorRows(self._elements())

    def _elements(self) -> Iterator[Element]:
        for begin, end in zip(self._limits, self._limits[1:], strict=False):
            yield self._indices[begin:end], self._values[begin:end], self._shape


class Ranges(Source):
    """The int64 numbers of a range."""

    def __init__(self, start: int, stop: int, step: int) -> None:
        if step == 0:
            raise InvalidArgumentError("step must be a non-zero integer.")
        self._range = range(start, stop, step)

    def rows(self) -> Rows:
        return IteratorRows((np.int64(i),) for i in self._range)


class _FileRows(ColumnRows):
    def __init__(self, source: Files) -> None:
        self._source = source
        self._names = iter(source.names)
        self._file: RecordFile | None = None

    def take(self, n: int) -> list[Element]:
        return list(zip(self._records(n)))

    def some(self, n: int) -> list[np.ndarray]:
        records = self._records(n)
        column = np.empty(len(records), object)
        column[:] = records
        return [column]

    def _records(self, n: int) -> list[bytes]:
        while True:
            if self._file is None:
                name = next(self._names, None)
                if name is None:
                    return []
                self._file = self._source.open(name)
            try:
                records = self._file.take(n)
            except OpError:
                self._leave()  # a consumer that ignores the error continues with the next file
                raise
            if records:
                return records
            self._leave()

    def _leave(self) -> None:
        if self._file is not None:
            self._source.counted(getattr(self._file, "skipped", 0))
            self._file.close()
            self._file = None

    close = _leave


class Files(Source):
    """The records of files; `counted` is called with the number of damaged records left out of a file."""

    in_columns = True

    def __init__(
        self,
        names: Sequence[bytes],
        open: Callable[[bytes], RecordFile],
        counted: Callable[[int], None] = lambda n: None,
    ) -> None:
        self.names = list(names)
        self.open = open
        self.counted = counted

    def rows(self) -> Rows:
        return _FileRows(self)


class Generator(Source):
    """The elements of a dataset that a Python generator function yields.

    `convert(value)` turns each value into an element.
    """

    waits = True

    def __init__(
        self, function: Callable[..., Any], args: Sequence[np.ndarray], convert: Callable[[Any], Element]
    ) -> None:
        self._function = function
        self._args = tuple(args)
        self._convert = convert

    def rows(self) -> Rows:
        return IteratorRows(_Converted(self._function(*arguments(self._args)), self._convert))


class _Converted:
    """The values of an iterable, each converted into an element; after one that cannot be converted come the others."""

    def __init__(self, values: Iterable[Any], convert: Callable[[Any], Element]) -> None:
        self._values, self._convert = iter(values), convert

    def __iter__(self) -> _Converted:
        return self

    def __next__(self) -> Element:
        try:
            return self._convert(next(self._values))
        except (StopIteration, OpError):
            raise
        except BaseException as e:
            if is_from_handler(e):
                raise
            raise UnknownError(f"the generator raised {type(e).__name__}: {e}") from e
