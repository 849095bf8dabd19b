"""Data sets of comma-separated values: `CsvDataset`, and `make_csv_dataset`, which infers column names and types.

Invariant: while the graph is built, files are read only to infer names and types that the user did not give.
"""

from __future__ import annotations

import glob
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from tfnb.client.dataset.api import Compression, compression
from tfnb.client.dataset.dataset import Dataset
from tfnb.client.dataset.element_spec import ElementSpec
from tfnb.client.dataset.transformations import long
from tfnb.client.io.records import TFRecordOptions
from tfnb.errors import InvalidArgumentError, NotFoundError, OpError
from tfnb.ir.default import get_default_graph, graph_of
from tfnb.ir.tensor import GraphLike, Tensor, TensorLike
from tfnb.ops.io.csv_files import CSV_DATASET, CSV_TYPES, CsvFile
from tfnb.ops.io.files import csv_fields
from tfnb.types import DType, DTypeLike, as_dtype, bool_, float32, float64, int32, int64, scalar, string

__all__ = ["API", "CsvDataset"]

Path: TypeAlias = str | bytes | os.PathLike[str]
FilePattern: TypeAlias = Path | Sequence[Path]


class CsvDataset(Dataset):
    """The records of files of comma-separated values, as tuples of scalars.

    record_defaults: for each column its dtype (every record must have the field), or a tensor with the value of missing
    fields. compression_type: None, "GZIP" or "ZLIB". header: skip the first record of each file. field_delim: the
    separator, one character. use_quote_delim: fields may be enclosed in double quotes. na_value: a field with this text
    is missing. select_cols: the numbers of the columns to read, ascending; None reads all. Raises
    `InvalidArgumentError` for a dtype that a column cannot have; a step raises it, with file and record, for a bad
    record.
    """

    def __init__(
        self,
        filenames: TensorLike,
        record_defaults: Sequence[TensorLike | DTypeLike],
        compression_type: Compression = None,
        buffer_size: TensorLike | None = None,
        header: TensorLike = False,
        field_delim: TensorLike = ",",
        use_quote_delim: TensorLike = True,
        na_value: TensorLike = "",
        select_cols: Sequence[int] | None = None,
    ) -> None:
        graph = graph_of([filenames, *record_defaults])
        defaults = [_default(graph, d) for d in record_defaults]
        columns = graph.to_tensor(np.array([] if select_cols is None else select_cols, np.int64), int64)
        shapes = [scalar] * len(defaults)
        names = graph.to_tensor(filenames, None if hasattr(filenames, "dtype") else string)
        skip_header, quotes = graph.to_tensor(header, bool_), graph.to_tensor(use_quote_delim, bool_)
        handle = CSV_DATASET(
            names,
            compression(compression_type),
            long(4 << 20 if buffer_size is None else buffer_size),
            skip_header,
            field_delim,
            quotes,
            na_value,
            columns,
            defaults,
            output_shapes=tuple(shapes),
            graph=graph,
        )
        super().__init__(handle, ElementSpec(tuple(d.dtype for d in defaults), tuple(shapes)))


def _default(graph: GraphLike, given: TensorLike | DTypeLike) -> Tensor:
    """Returns the default of a column as a tensor. A dtype gives an empty tensor, whose column has no default."""
    try:
        dtype = as_dtype(given) if isinstance(given, (DType, str, type, np.dtype)) else None
    except TypeError:
        dtype = None
    value: Any = given if dtype is None else np.empty(0, dtype.np)
    default: Tensor = graph.to_tensor(value, dtype)
    if default.dtype not in CSV_TYPES:
        raise InvalidArgumentError(f"a column of CSV cannot be {default.dtype.name}; it can be one of {CSV_TYPES}")
    return default


def make_csv_dataset(
    file_pattern: FilePattern,
    batch_size: TensorLike,
    column_names: Sequence[str] | None = None,
    column_defaults: Sequence[TensorLike | DTypeLike] | None = None,
    label_name: str | None = None,
    select_columns: Sequence[str | int] | None = None,
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
    compression_type: str | TFRecordOptions | None = None,
    ignore_errors: bool = False,
) -> Dataset:
    """Batches of the records of CSV files: dicts of column name -> vector, or (dict, label vector) with `label_name`.

    file_pattern: glob patterns or file names. column_names: by default the first record of the files, which must be the
    same in all. column_defaults: for each column its dtype, or the value of missing fields; by default the first of
    int32, int64, float32, float64 and string that can hold the values of the first `num_rows_for_inference` records
    (None: all), and 0 or "". select_columns: the names or numbers of the columns to read. num_epochs: how often the
    records are repeated; None repeats them without end, and then every batch is full. ignore_errors: skip bad records.
    The order is deterministic even if `sloppy` is set. Raises `NotFoundError` when no file matches, and
    `InvalidArgumentError` for names, columns or records that do not fit each other.
    """
    files = _matching(file_pattern)
    kind = TFRecordOptions.get_compression_type_string(compression_type)
    inference = _Inference(files, field_delim, use_quote_delim, kind, header)
    names = list(column_names) if column_names is not None else inference.names()
    if len(set(names)) != len(names):
        raise InvalidArgumentError(f"two columns have one name: {names}")
    columns = list(range(len(names))) if select_columns is None else _numbers(select_columns, names)
    defaults = column_defaults
    if defaults is None:
        defaults = inference.defaults(len(names), columns, na_value, num_rows_for_inference)
    if len(defaults) != len(columns):
        raise InvalidArgumentError(f"{len(defaults)} defaults for {len(columns)} columns")
    to_features = _features([names[c] for c in columns], label_name)
    selected = None if select_columns is None else columns

    def read(name: Tensor) -> Dataset:
        return CsvDataset(name, defaults, kind, None, header, field_delim, use_quote_delim, na_value, selected)

    data = Dataset.from_tensor_slices(files)
    data = data.shuffle(len(files), shuffle_seed) if shuffle else data
    data = data.interleave(read, cycle_length=num_parallel_reads)
    data = data.ignore_errors() if ignore_errors else data
    data = data.shuffle(shuffle_buffer_size, shuffle_seed) if shuffle else data
    data = data if num_epochs == 1 else data.repeat(num_epochs)
    data = data.batch(batch_size, drop_remainder=num_epochs is None)
    return data.map(to_features).prefetch(prefetch_buffer_size)


def _features(names: Sequence[str], label_name: str | None) -> Callable[..., Any]:
    """Returns the function from the columns of a batch to the dict of features, or to the features and the label.

    Raises `InvalidArgumentError` when the label is not one of the columns.
    """
    if label_name is not None and label_name not in names:
        raise InvalidArgumentError(f"the label {label_name!r} must be one of the columns {list(names)}")

    def features(*columns: Tensor) -> OrderedDict[str, Tensor] | tuple[OrderedDict[str, Tensor], Tensor]:
        columns_by_name = OrderedDict(zip(names, columns, strict=True))
        return columns_by_name if label_name is None else (columns_by_name, columns_by_name.pop(label_name))

    return features


def _matching(pattern: FilePattern) -> list[str]:
    """Returns the existing files that match a pattern, or one of several, sorted. Raises `NotFoundError` if there is
    none.
    """
    patterns = [pattern] if isinstance(pattern, (str, bytes, os.PathLike)) else list(pattern)
    files = [f for p in patterns for f in glob.glob(os.fsdecode(p))]
    if not patterns or not files:
        raise NotFoundError(f"no file matches {pattern!r}")
    return sorted(files)


def _numbers(columns: Sequence[str | int], names: Sequence[str]) -> list[int]:
    """Returns the ascending numbers of columns given by name or number. Raises `InvalidArgumentError` for an unknown
    column.
    """
    numbers = []
    for c in columns:
        index = names.index(c) if isinstance(c, str) and c in names else c
        if not isinstance(index, int) or not 0 <= index < len(names):
            raise InvalidArgumentError(f"{c!r} is no column; there are {list(names)}")
        numbers.append(index)
    if len(set(numbers)) != len(numbers):
        raise InvalidArgumentError(f"select_columns names a column twice: {list(columns)}")
    return sorted(numbers)


class _Inference:
    """Infers the names and types of columns from the first records of CSV files."""

    def __init__(self, files: Sequence[str], delimiter: str, quotes: bool, kind: str, header: bool) -> None:
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
        """Returns the column names in the headers. Raises `InvalidArgumentError` unless all files have the same
        header.
        """
        if not self._header:
            raise InvalidArgumentError("make_csv_dataset: give column_names, or files with a header")
        first: list[str] | None = None
        for name in self._files:
            fields = next(self._records(name), None)
            if fields is None:
                raise InvalidArgumentError(f"{name} is empty: it has no header")
            header = [f.decode() for f in fields]
            if first is not None and header != first:
                raise InvalidArgumentError(f"{name} has the columns {header}, {self._files[0]} has {first}")
            first = header
        return first or []

    def defaults(self, width: int, columns: Sequence[int], missing: str, rows: int | None) -> list[Tensor]:
        """Returns a default for each column. Its dtype fits the first `rows` records, without fields equal to
        `missing`.
        """
        kinds: list[DType | None] = [None] * len(columns)
        for fields in self._first_records(rows):
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

    def _first_records(self, rows: int | None) -> Iterator[list[bytes]]:
        count = 0
        for name in self._files:
            records = self._records(name)
            if self._header:
                next(records, None)
            for fields in records:
                if rows is not None and count >= rows:
                    return
                count += 1
                yield fields


def _wider(before: DType | None, text: str) -> DType:
    """Returns the first of `CSV_TYPES` that can hold the text and all values of the type `before`."""
    first = 0 if before is None else CSV_TYPES.index(before)
    return next(t for t in CSV_TYPES[first:] if _FITS[t](text))


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
