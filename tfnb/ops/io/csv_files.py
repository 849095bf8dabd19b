"""CSV files (comma-separated values) as data sets (`tf.data`; RFC 4180).

A record ends at a line end outside of quotes, so records are separated before fields are parsed. Invariant: after an
invalid record the pass continues with the next one, for consumers that ignore errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, OpError
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.record import record
from tfnb.ir.tensor import Tensor
from tfnb.ops.dataset.sources import Element, Rows, Source
from tfnb.ops.io.files import csv_fields, csv_value
from tfnb.ops.io.inflating import BROKEN
from tfnb.ops.io.record_files import RecordFile
from tfnb.ops.state.handles import make_handle
from tfnb.types import DType, Shape, float32, float64, int32, int64, scalar, string

__all__ = ["API", "CSV_DATASET", "CSV_TYPES", "OPS", "CsvFile"]

CSV_TYPES = (int32, int64, float32, float64, string)  # from the narrowest to the most general
_CHUNK = 1 << 20


class CsvFile(RecordFile):
    """The records of a CSV file without their line ends. `quotes`: a quoted field may contain line ends."""

    def __init__(self, name: bytes | str, compression: str = "", quotes: bool = True) -> None:
        super().__init__(name, compression)
        self._quotes = quotes
        self._iterator = self._records()

    def take(self, n: int) -> list[bytes]:
        records = [text.removesuffix(b"\r") for text in islice(self._iterator, n)]
        self.position += len(records)
        return records

    def _records(self) -> Iterator[bytes]:
        """Yields each record, assembled once from the pieces of the file that it spans.

        A line end inside of quotes does not end a record, so the search continues at the next quote: the cost of a
        record grows with the number of its quotes, not of its lines.
        """
        begun: list[bytes] = []  # the pieces of the incomplete record
        size, inside = 0, False  # inside: whether the position is inside of quotes
        while chunk := self._chunk():
            begin = at = 0
            while True:
                if inside:
                    at = chunk.find(b'"', at) + 1
                    if not at:
                        break
                end = chunk.find(b"\n", at)
                if self._quotes:
                    inside = chunk.count(b'"', at, end if end >= 0 else len(chunk)) & 1 == 1
                if end < 0:
                    break
                at = end + 1
                if not inside:
                    text = chunk[begin:end]
                    if begun:
                        text = b"".join((*begun, text))
                        begun, size = [], 0
                    yield text
                    begin = at
            begun.append(chunk[begin:])
            size += len(begun[-1])
            if size > self._max_record:
                raise self._too_long()
        if size:
            yield b"".join(begun)

    def _chunk(self) -> bytes:
        try:
            return self._file.read(_CHUNK)
        except BROKEN as e:
            raise self._lost(e) from None


@dataclass(frozen=True)
class Csv(Source):
    """Elements are the selected columns; a field that is required has an empty entry in `defaults`."""

    names: Sequence[bytes]
    compression: str
    header: bool
    delimiter: bytes
    quotes: bool
    missing: bytes
    columns: Sequence[int]  # empty: all columns
    types: Sequence[DType]
    defaults: Sequence[np.ndarray]

    def rows(self) -> Rows:
        return _CsvRows(self)


class _CsvRows(Rows):
    def __init__(self, source: Csv) -> None:
        self._source = source
        self._columns = source.columns or range(len(source.types))
        self._most = max(self._columns, default=-1)
        self._places = [f"field {column}" for column in self._columns]
        self._names = iter(source.names)
        self._file: CsvFile | None = None
        self._late: OpError | None = None  # the error of the record after those that were delivered

    def take(self, n: int) -> list[Element]:
        error, self._late = self._late, None
        if error is not None:
            raise error
        elements: list[Element] = []
        while len(elements) < n:
            try:
                element = self._next()
            except OpError as e:
                if not elements:
                    raise
                self._late = e
                break
            if element is None:
                break
            elements.append(element)
        return elements

    def _next(self) -> Element | None:
        while True:
            if self._file is None:
                name = next(self._names, None)
                if name is None:
                    return None
                self._file = CsvFile(name, self._source.compression, self._source.quotes)
                if self._source.header:
                    self._file.take(1)
            records = self._file.take(1)
            if records:
                try:
                    return self._element(records[0])
                except OpError as e:
                    where = f"{self._file.name}, record {self._file.position}"
                    raise InvalidArgumentError(f"{where}: {e.message}") from None
            self.close()

    def _element(self, text: bytes) -> Element:
        s = self._source
        fields = csv_fields(text, s.delimiter, s.quotes) or [b""]
        if len(fields) <= self._most or (not s.columns and len(fields) != len(s.types)):
            expected = f"more than {self._most}" if s.columns else len(s.types)
            raise InvalidArgumentError(f"Expect {expected} fields but have {len(fields)}")
        values = []
        for column, dtype, default, where in zip(self._columns, s.types, s.defaults, self._places, strict=True):
            field = fields[column]
            if field and field != s.missing:
                value = csv_value(field, dtype, where)
            elif default.size:
                value = default.reshape(-1)[0]
            else:
                raise InvalidArgumentError(f"{where} is required but missing")
            values.append(value if dtype is string else np.asarray(value, dtype.np))
        return tuple(values)

    def close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()


@record
class CsvDatasetAttrs:
    """`output_shapes`: the shapes of the columns, which are all scalars."""

    output_shapes: tuple[Shape, ...] = ()


def _csv(
    call: HostCall,
    names: np.ndarray,
    kind: np.ndarray,
    size: np.ndarray,
    header: np.ndarray,
    delimiter: np.ndarray,
    quotes: np.ndarray,
    missing: np.ndarray,
    columns: np.ndarray,
    *defaults: np.ndarray,
) -> np.ndarray:
    types, selected = call.types["output_types"], [int(c) for c in columns]
    if len(delimiter.item()) != 1:
        raise InvalidArgumentError(f"field_delim must be one byte, got {delimiter.item()!r}", call.op)
    if any(c < 0 for c in selected) or selected != sorted(set(selected)):
        raise InvalidArgumentError(f"select_cols must be ascending and >= 0, got {selected}", call.op)
    if selected and len(selected) != len(types):
        raise InvalidArgumentError(f"{len(selected)} columns are selected, {len(types)} have defaults", call.op)
    if any(d.size > 1 for d in defaults):
        raise InvalidArgumentError("a default is empty or one value", call.op)
    return make_handle(
        Csv(
            [bytes(n) for n in names.reshape(-1)],
            bytes(kind.item()).decode(),
            bool(header),
            delimiter.item(),
            bool(quotes),
            missing.item(),
            selected,
            types,
            defaults,
        )
    )


def _one(c: Infer) -> Shape:
    return scalar


CSV_DATASET: OpDef[Tensor] = OpDef(
    "CSVDataset",
    "filenames: string, compression_type: string, buffer_size: int64, header: bool, field_delim: string, "
    "use_quote_delim: bool, na_value: string, select_cols: int64, record_defaults: [output_types]",
    "handle: variant",
    """The records of CSV files; an element has one scalar per column.

    record_defaults: for each column a value for missing fields, or an empty vector when the field is required; they
    determine the dtypes. select_cols: the selected columns, ascending; empty: all. handle: the data set, a scalar.
    Errors during iteration name file and record: another number of fields, an invalid quote or number, or a missing
    required field. Host only.""",
    types={"output_types": CSV_TYPES},
    attrs=CsvDatasetAttrs,
    infer=_one,
    host=_csv,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
)
OPS: tuple[OpDef, ...] = (CSV_DATASET,)
API: dict[str, Any] = {}
