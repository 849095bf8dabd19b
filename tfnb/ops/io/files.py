"""Whole files, file names by pattern, conversion of raw bytes to numbers, and lines of CSV.

Invariant: a file is read when the step runs the op; an error of the operating system becomes one of tfnb's errors that
names the file; a record that does not match its declared fields raises an error with record and field.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfnb.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    PermissionDeniedError,
    ResourceExhaustedError,
    ShapeError,
    UnknownError,
)
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import GRADIENT_MISSING, NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.shapes import no_outputs, scalar_shape
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.strings.convert import number_from
from tfnb.ops.strings.elementwise import clipped, mapped, unquoted
from tfnb.system.files import FULL
from tfnb.types import (
    COMPLEX,
    FLOATS,
    OLD_NAMES,
    DType,
    DTypeLike,
    Shape,
    bool_,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    string,
    uint8,
    uint16,
)

__all__ = ["API", "OPS", "csv_fields", "csv_value"]

_ERRORS: tuple[tuple[type[OSError], type[OpError]], ...] = (
    (FileNotFoundError, NotFoundError),
    (PermissionError, PermissionDeniedError),
    (NotADirectoryError, FailedPreconditionError),
    (IsADirectoryError, FailedPreconditionError),
)


def _refused(name: bytes, e: Exception) -> OpError:
    kind = next((ours for theirs, ours in _ERRORS if isinstance(e, theirs)), UnknownError)
    if isinstance(e, OSError) and e.errno in FULL:
        kind = ResourceExhaustedError
    return kind(f"{clipped(name, 200)}: {getattr(e, 'strerror', None) or e}")


def _path(name: bytes) -> Path:
    if not name:
        raise NotFoundError("the file name is empty")
    return Path(os.fsdecode(name))


def _read(name: bytes) -> bytes:
    try:
        return _path(name).read_bytes()
    except (OSError, ValueError) as e:
        raise _refused(name, e) from e


READ_FILE: OpDef[Tensor] = OpDef(
    "ReadFile",
    "filename: string",
    "contents: string",
    """The contents of a file.

    filename: one string. contents: one string. Errors: NotFoundError, PermissionDeniedError. Runs on the host.""",
    infer=scalar_shape,
    host=lambda call, x: mapped(call, _read, x),
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
    api="read_file io.read_file",
)


def _write(call: HostCall, name: np.ndarray, contents: np.ndarray) -> tuple[()]:
    target = bytes(name.reshape(())[()])
    try:
        path = _path(target)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(contents.reshape(())[()]))
    except (OSError, ValueError) as e:
        raise _refused(target, e).with_op(call.op) from e
    return ()


WRITE_FILE: OpDef[Operation] = OpDef(
    "WriteFile",
    "filename: string, contents: string",
    "",
    """Writes a string to a file, replacing it if it exists; missing folders are created.

    filename, contents: one string each. Errors: PermissionDeniedError, FailedPreconditionError for a folder. Runs on
    the host.""",
    infer=no_outputs,
    host=_write,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
    api="write_file io.write_file",
)


def _matching(call: HostCall, patterns: np.ndarray) -> np.ndarray:
    paths: set[bytes] = set()
    for pattern in patterns.reshape(-1):
        names = glob.glob(os.fsdecode(bytes(pattern)))
        paths.update(os.fsencode(name) for name in names if os.path.isfile(name))
    out = np.empty(len(paths), object)
    out[:] = sorted(paths)
    return out


MATCHING_FILES: OpDef[Tensor] = OpDef(
    "MatchingFiles",
    "pattern: string",
    "filenames: string",
    """The names of the files that match one of the shell patterns (*, ?, [...]), sorted.

    pattern: strings, a scalar or vector. filenames: a vector, empty when there are none. Runs on the host.""",
    infer=lambda c: Shape((None,)),
    host=_matching,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
    dynamic=True,
    api="matching_files io.matching_files",
)


@record
class RawAttrs:
    """`little_endian`: the byte order of numbers longer than one byte."""

    little_endian: bool = True


def _raw(call: HostCall, texts: np.ndarray) -> np.ndarray:
    dtype: DType = call.types["out_type"]
    lengths = {len(t) for t in texts.reshape(-1)}
    if len(lengths) > 1:
        sizes = [len(t) for t in texts.reshape(-1)]
        k = next(k for k, size in enumerate(sizes) if size != sizes[0])
        raise InvalidArgumentError(
            f"DecodeRaw requires input strings to all be the same size, but element {k} has size {sizes[0]} != "
            f"{sizes[k]}",
            call.op,
        )
    length = lengths.pop() if lengths else 0
    if length % dtype.size:
        raise InvalidArgumentError(
            f"Input to DecodeRaw has length {length} that is not a multiple of {dtype.size}, the size of {dtype.name}",
            call.op,
        )
    flat = np.frombuffer(b"".join(texts.reshape(-1)), np.uint8)
    if not call.attrs.little_endian and dtype.size > 1:
        part = dtype.size // 2 if dtype.is_complex else dtype.size
        flat = flat.reshape(-1, part)[:, ::-1].reshape(-1)
    values = flat.astype(np.bool_) if dtype is bool_ else np.ascontiguousarray(flat).view(dtype.np)
    return values.reshape((*texts.shape, length // dtype.size))


DECODE_RAW: OpDef[Tensor] = OpDef(
    "DecodeRaw",
    "bytes: string",
    "output: out_type",
    """Interprets the bytes of strings as numbers.

    bytes: strings of any shape, all of the same length. output: `out_type`, with an additional last dimension for the
    numbers of each string. Errors: lengths differ, or are not a multiple of the size of a number. Runs on the host.""",
    types={
        "out_type": (*FLOATS, int32, uint16, uint8, int16, int8, int64, *COMPLEX, bool_),
    },
    attrs=RawAttrs,
    infer=lambda c: c.shapes[0].concatenate(Shape((None,))),
    host=_raw,
    grad=NOT_DIFFERENTIABLE,
    dynamic=True,
)


@record
class CsvAttrs:
    """`field_delim`: one byte between fields; `use_quote_delim`: a quoted field may contain delimiters and line ends;
    `na_value`: a field with this text counts as missing; `select_cols`: the selected columns, ascending; empty: all."""

    field_delim: str | bytes = ","
    use_quote_delim: bool = True
    na_value: str | bytes = ""
    select_cols: Sequence[int] = ()

    def __post_init__(self) -> None:
        columns = tuple(int(c) for c in self.select_cols or ())
        object.__setattr__(self, "select_cols", columns)
        if len(_text(self.field_delim)) != 1:
            raise InvalidArgumentError(f"field_delim must be one byte, got {self.field_delim!r}")
        if any(c < 0 for c in columns) or list(columns) != sorted(set(columns)):
            raise InvalidArgumentError(f"select_cols must be ascending and >= 0, got {columns}")


def _text(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


_ODD = re.compile(rb'["\r\n]')  # characters that an unquoted field must not contain


def csv_fields(record: bytes, delimiter: bytes, quotes: bool) -> list[bytes]:
    """Returns the fields of a record (RFC 4180). Raises `InvalidArgumentError` with the position of an invalid byte."""
    if not record:
        return []
    if not quotes or not _ODD.search(record):
        return record.split(delimiter)
    fields: list[bytes] = []
    at = 0
    while True:
        if record[at : at + 1] == b'"':
            end = _closing(record, at)
            fields.append(record[at + 1 : end].replace(b'""', b'"'))
            end += 1
            if end < len(record) and record[end : end + 1] != delimiter:
                raise InvalidArgumentError(f"a quoted field is followed by {record[end : end + 1]!r} at byte {end}")
        else:
            end = record.find(delimiter, at)
            end = len(record) if end < 0 else end
            field = record[at:end]
            if bad := _ODD.search(field):
                raise InvalidArgumentError(
                    f"Unquoted fields cannot have quotes/CRLFs inside: one at byte {at + bad.start()}"
                )
            fields.append(field)
        if end >= len(record):
            return fields
        at = end + 1


def _closing(record: bytes, at: int) -> int:
    """The end of the quoted field that begins at `at`; two quotes inside of it represent one."""
    end = at + 1
    while True:
        end = record.find(b'"', end)
        if end < 0:
            raise InvalidArgumentError(
                f"Quoted field has to end with quote followed by delimiter or end: that at byte {at}"
            )
        if record[end + 1 : end + 2] != b'"':
            return end
        end += 2


def _csv_shapes(c: Infer) -> tuple[Shape, ...]:
    for i, s in enumerate(c.shapes[1:]):
        count = s.num_elements()
        if (s.ndims is not None and s.ndims > 1) or (count is not None and count > 1):
            raise ShapeError(f"DecodeCSV: default {i} must be empty or one value, got shape {s}")
    if c.attrs.select_cols and len(c.attrs.select_cols) != len(c.shapes) - 1:
        raise InvalidArgumentError(
            f"DecodeCSV: {len(c.attrs.select_cols)} columns are selected, {len(c.shapes) - 1} have defaults"
        )
    return (c.shapes[0],) * (len(c.shapes) - 1)


def csv_value(field: bytes, dtype: DType, where: str) -> Any:
    """Returns the value of a CSV field.

    Raises `InvalidArgumentError`, with the text `where`, if it is not one of `dtype`.
    """
    if dtype is string:
        return field
    value = number_from(field, dtype)
    if value is None:
        raise InvalidArgumentError(f"{where} is not a valid {OLD_NAMES.get(dtype, dtype.name)}: {unquoted(field)}")
    return value


def _csv(call: HostCall, records: np.ndarray, *defaults: np.ndarray) -> tuple[np.ndarray, ...]:
    a, types = call.attrs, call.types["OUT_TYPE"]
    delimiter, missing = _text(a.field_delim), _text(a.na_value)
    columns = a.select_cols or range(len(defaults))
    out = tuple(np.empty(records.size, t.np) for t in types)
    for r, line in enumerate(records.reshape(-1)):
        try:
            fields = csv_fields(line, delimiter, a.use_quote_delim)
        except OpError as e:
            raise InvalidArgumentError(f"DecodeCSV, record {r}: {e.message}", call.op) from None
        wrong = len(fields) <= max(columns) if a.select_cols else len(fields) != len(defaults)
        if wrong:
            expected = f"more than {max(columns)}" if a.select_cols else len(defaults)
            raise InvalidArgumentError(f"Expect {expected} fields but have {len(fields)} in record {r}", call.op)
        for k, column in enumerate(columns):
            field, where = fields[column], f"Field {column} in record {r}"
            if field and field != missing:
                try:
                    out[k][r] = csv_value(field, types[k], where)
                except OpError as e:
                    raise InvalidArgumentError(f"DecodeCSV: {e.message}", call.op) from None
            elif defaults[k].size:
                out[k][r] = defaults[k].reshape(-1)[0]
            else:
                raise InvalidArgumentError(f"Field {column} is required but missing in record {r}!", call.op)
    return tuple(o.reshape(records.shape) for o in out)


DECODE_CSV: OpDef[list[Tensor]] = OpDef(
    "DecodeCSV",
    "records: string, record_defaults: [OUT_TYPE]",
    "output: [OUT_TYPE]",
    """Converts lines of CSV to one tensor per column.

    records: strings of any shape, one record each, without line ends. record_defaults: for each column a value for
    missing fields, or an empty vector when the field is required; they determine the dtypes. output: a tensor of
    records' shape for each column. Errors, with record and field: another number of fields, an invalid quote or number,
    or a missing required field. Runs on the host.""",
    types={"OUT_TYPE": (float32, float64, int32, int64, string)},
    attrs=CsvAttrs,
    infer=_csv_shapes,
    host=_csv,
    grad=GRADIENT_MISSING,
)


def decode_raw(
    input_bytes: TensorLike | None = None,
    out_type: DTypeLike | None = None,
    little_endian: bool = True,
    name: str | None = None,
    bytes: TensorLike | None = None,
) -> Tensor:
    """Interprets the bytes of strings as numbers of `out_type`, in an additional last dimension.

    Raises `InvalidArgumentError` at run time when lengths differ or are not a multiple of the size of a number.
    """
    texts = bytes if input_bytes is None else input_bytes
    return DECODE_RAW(texts, out_type=out_type, little_endian=little_endian, name=name)


def decode_csv(
    records: TensorLike,
    record_defaults: Sequence[Any],
    field_delim: str = ",",
    use_quote_delim: bool = True,
    name: str | None = None,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
) -> list[Any]:
    """Converts lines of CSV to a list of tensors, one for each column.

    records: strings of any shape, one record each. record_defaults: for each column a vector with one value for missing
    fields, or an empty one where the field is required; its dtype is the column's. The results have records' shape.
    Errors at run time name record and field.
    """
    graph = graph_of((records, *record_defaults))
    attrs = {
        "field_delim": field_delim,
        "use_quote_delim": use_quote_delim,
        "na_value": na_value,
        "select_cols": select_cols or (),
    }
    return list(DECODE_CSV(records, list(record_defaults), name=name, graph=graph, **attrs))


OPS: tuple[OpDef, ...] = (READ_FILE, WRITE_FILE, MATCHING_FILES, DECODE_RAW, DECODE_CSV)
API: dict[str, Any] = {
    "decode_raw": decode_raw,
    "io.decode_raw": decode_raw,
    "decode_csv": decode_csv,
    "io.decode_csv": decode_csv,
}
