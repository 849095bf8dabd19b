"""Data sets of comma-separated values: `CsvDataset`, and `make_csv_dataset`, which finds names and types itself.

Invariant: files are looked at when the graph is built only to find names and types that were not given.
"""

from __future__ import annotations

import glob
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tfnb.client.dataset.api import compression
from tfnb.client.dataset.dataset import Dataset, long
from tfnb.errors import InvalidArgumentError, NotFoundError, OpError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.default import get_default_graph, graph_of
from tfnb.ir.tensor import TensorLike
from tfnb.ops.io.csv_files import CSV_DATASET, CSV_TYPES, CsvFile
from tfnb.ops.io.files import csv_fields
from tfnb.types import DType, as_dtype, bool_, float32, float64, int32, int64, scalar, string

__all__ = ["API", "CsvDataset"]


class CsvDataset(Dataset):
    """The records of files of comma-separated values: tuples of scalars.

    record_defaults: for each column a dtype (the field must be there), or a tensor of the value for missing fields.
    compression_type: None, "GZIP" or "ZLIB". header: the first record of each file is skipped. na_value: a field of
    this text counts as missing. select_cols: the columns wanted, ascending. A bad record is an `InvalidArgumentError`
    with file and record when the data set is walked.
    """

    def __init__(
        self,
        filenames: Any,
        record_defaults: Sequence[Any],
        compression_type: Any = None,
        buffer_size: Any = None,
        header: Any = False,
        field_delim: Any = ",",
        use_quote_delim: Any = True,
        na_value: Any = "",
        select_cols: Any = None,
    ) -> None:
        graph = graph_of([filenames, *record_defaults])
        defaults = [_default(graph, d) for d in record_defaults]
        columns = graph.to_tensor(np.array([] if select_cols is None else select_cols, np.int64), int64)
        shapes = [scalar] * len(defaults)
        names = graph.to_tensor(filenames, None if hasattr(filenames, "dtype") else string)
        skip, quotes = graph.to_tensor(header, bool_), graph.to_tensor(use_quote_delim, bool_)
        handle = CSV_DATASET(
            names,
            compression(compression_type),
            long(buffer_size or 0),
            skip,
            field_delim,
            quotes,
            na_value,
            columns,
            defaults,
            output_shapes=tuple(shapes),
            graph=graph,
        )
        super().__init__(handle, tuple(d.dtype for d in defaults), shapes)


def _default(graph: GraphBuilder, given: Any) -> Any:
    try:
        dtype = as_dtype(given) if isinstance(given, (DType, str, type, np.dtype)) else None
    except TypeError:
        dtype = None
    found = graph.to_tensor(given) if dtype is None else graph.to_tensor(np.empty(0, dtype.np), dtype)
    if found.dtype not in CSV_TYPES:
        raise InvalidArgumentError(f"a column of CSV cannot be {found.dtype.name}; it can be one of {CSV_TYPES}")
    return found


def make_csv_dataset(
    file_pattern: Any,
    batch_size: TensorLike,
    column_names: Sequence[str] | None = None,
    column_defaults: Sequence[Any] | None = None,
    label_name: str | None = None,
    select_columns: Sequence[Any] | None = None,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    header: bool = True,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int = 1,
    num_parallel_reads: int = 1,
    sloppy: bool = False,
    num_rows_for_inference: int | None = 100,
    compression_type: Any = None,
    ignore_errors: bool = False,
) -> Dataset:
    """Batches of CSV files: dicts of column name -> vector, or (dict, label) with `label_name`.

    file_pattern: a pattern or several, or names. column_names: default: the first record of the files, which must be
    the same in all. column_defaults: for each column a dtype or a value for missing fields; default: the least of
    int32, int64, float32, float64, string that fits the first `num_rows_for_inference` records (None: all), and 0 or
    "". select_columns: names or numbers of those wanted. num_epochs: None: for ever, and then every batch is full.
    `sloppy` is accepted; the order is always the same. Raises `NotFoundError` when no file matches,
    `InvalidArgumentError` for names, columns or records that do not fit.
    """
    files = _matching(file_pattern)
    look = _Look(files, field_delim, use_quote_delim, compression(compression_type), header)
    names = list(column_names) if column_names is not None else look.names()
    if len(set(names)) != len(names):
        raise InvalidArgumentError(f"two columns have one name: {names}")
    chosen = list(range(len(names))) if select_columns is None else _numbers(select_columns, names)
    if column_defaults is None:
        column_defaults = look.defaults(len(names), chosen, na_value, num_rows_for_inference)
    if len(column_defaults) != len(chosen):
        raise InvalidArgumentError(f"{len(column_defaults)} defaults for {len(chosen)} columns")
    wanted = [names[c] for c in chosen]
    if label_name is not None and label_name not in wanted:
        raise InvalidArgumentError(f"the label {label_name!r} must be one of the columns {wanted}")

    def read(name: Any) -> Dataset:
        return CsvDataset(
            name,
            column_defaults,
            compression_type,
            None,
            header,
            field_delim,
            use_quote_delim,
            na_value,
            None if select_columns is None else chosen,
        )

    def features(*columns: Any) -> Any:
        found = OrderedDict(zip(wanted, columns, strict=True))
        return found if label_name is None else (found, found.pop(label_name))

    data = Dataset.from_tensor_slices(files)
    data = data.shuffle(len(files), shuffle_seed) if shuffle else data
    data = data.interleave(read, cycle_length=num_parallel_reads)
    data = data.ignore_errors() if ignore_errors else data
    data = data.shuffle(shuffle_buffer_size, shuffle_seed) if shuffle else data
    data = data if num_epochs == 1 else data.repeat(num_epochs)
    data = data.batch(batch_size, drop_remainder=num_epochs is None)
    return data.map(features).prefetch(prefetch_buffer_size)


def _matching(pattern: Any) -> list[str]:
    """The files of a pattern or of several, each known to be there, in order."""
    patterns = [pattern] if isinstance(pattern, (str, bytes, os.PathLike)) else list(pattern)
    found = [f for p in patterns for f in glob.glob(os.fsdecode(p))]
    if not patterns or not found:
        raise NotFoundError(f"no file matches {pattern!r}")
    return sorted(found)


def _numbers(columns: Sequence[Any], names: Sequence[str]) -> list[int]:
    found = []
    for c in columns:
        known = names.index(c) if isinstance(c, str) and c in names else c
        if not isinstance(known, int) or not 0 <= known < len(names):
            raise InvalidArgumentError(f"{c!r} is no column; there are {list(names)}")
        found.append(known)
    if len(set(found)) != len(found):
        raise InvalidArgumentError(f"select_columns names a column twice: {list(columns)}")
    return sorted(found)


class _Look:
    """What can be seen in the first records of files."""

    def __init__(self, files: Sequence[str], delimiter: str, quotes: bool, kind: Any, header: bool) -> None:
        self._files, self._delimiter, self._quotes = files, delimiter.encode(), quotes
        self._kind, self._header = kind, header

    def _records(self, name: str) -> Iterator[list[bytes]]:
        file = CsvFile(name, self._kind, self._quotes)
        try:
            while records := file.take(1):
                try:
                    yield csv_fields(records[0], self._delimiter, self._quotes) or [b""]
                except OpError as e:
                    raise InvalidArgumentError(f"{name}, record {file.position}: {e.message}") from None
        finally:
            file.close()

    def names(self) -> list[str]:
        if not self._header:
            raise InvalidArgumentError("make_csv_dataset: give column_names, or files with a header")
        first: list[str] | None = None
        for name in self._files:
            fields = next(self._records(name), None)
            if fields is None:
                raise InvalidArgumentError(f"{name} is empty: it has no header")
            found = [f.decode() for f in fields]
            if first is not None and found != first:
                raise InvalidArgumentError(f"{name} has the columns {found}, {self._files[0]} has {first}")
            first = found
        return first or []

    def defaults(self, width: int, columns: Sequence[int], missing: str, rows: int | None) -> list[Any]:
        kinds: list[DType | None] = [None] * len(columns)
        for fields in self._some(rows):
            if len(fields) != width:
                raise InvalidArgumentError(f"a record has {len(fields)} fields, needed {width}: {fields}")
            for k, c in enumerate(columns):
                text = fields[c].decode(errors="replace")
                if text not in ("", missing):
                    kinds[k] = _wider(kinds[k], text)
        graph = get_default_graph()
        return [
            graph.to_tensor([""], string) if t is None or t is string else graph.to_tensor(np.zeros(1, t.np), t)
            for t in kinds
        ]

    def _some(self, rows: int | None) -> Iterator[list[bytes]]:
        seen = 0
        for name in self._files:
            records = self._records(name)
            if self._header:
                next(records, None)
            for fields in records:
                if rows is not None and seen >= rows:
                    return
                seen += 1
                yield fields


def _wider(before: DType | None, text: str) -> DType:
    """The least type that fits the text and what came before."""
    least = 0 if before is None else CSV_TYPES.index(before)
    return next(t for t in CSV_TYPES[least:] if _FITS[t](text))


def _is_integer(text: str, limit: int) -> bool:
    try:
        return -limit <= int(text) < limit
    except ValueError:
        return False


def _is_float(text: str, dtype: DType) -> bool:
    try:
        with np.errstate(over="ignore"):
            return bool(dtype.np.type(text) < np.inf)
    except ValueError:
        return False


_FITS: dict[DType, Callable[[str], bool]] = {
    int32: lambda text: _is_integer(text, 1 << 31),
    int64: lambda text: _is_integer(text, 1 << 63),
    float32: lambda text: _is_float(text, float32),
    float64: lambda text: _is_float(text, float64),
    string: lambda text: True,
}

API: dict[str, Any] = {}
for _place in ("data.experimental", "contrib.data"):
    API |= {f"{_place}.CsvDataset": CsvDataset, f"{_place}.make_csv_dataset": make_csv_dataset}
