"""Operations that make data sets of tensors, numbers, files and Python generators (`tf.data`).

Each is the root of a chain of data sets. Invariant: a file is opened when an iterator reaches it, never before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.opdef import LOCAL, HostCall, OpDef
from tfnb.ir.record import record
from tfnb.ops.dataset import sources as s
from tfnb.ops.dataset.definition import SkippingAttrs, dataset_op, int_of, text_of
from tfnb.ops.io.record_files import FixedLengthFile, TextFile, TFRecordFile
from tfnb.types import DType, Shape

__all__ = ["API", "OPS"]


@record
class GeneratorAttrs:
    """The attributes of `DatasetAttrs`; `generator`: a generator function; `convert`: maps its values to arrays."""

    output_types: tuple[DType, ...] = ()
    output_shapes: tuple[Shape, ...] = ()
    generator: Callable[..., Any] | None = field(default=None, repr=False, metadata=LOCAL)
    convert: Callable[..., Any] | None = field(default=None, repr=False, metadata=LOCAL)


def _names(x: np.ndarray) -> list[bytes]:
    return [bytes(n) for n in x.reshape(-1)]


def _range(call: HostCall, *bounds: np.ndarray) -> s.Source:
    return s.Ranges(*map(int_of, bounds))


def _text_lines(call: HostCall, names: np.ndarray, kind: np.ndarray, size: np.ndarray) -> s.Source:
    return s.Files(_names(names), lambda n: TextFile(n, 0, text_of(kind), drops_returns=True))


def _records(call: HostCall, names: np.ndarray, kind: np.ndarray, size: np.ndarray) -> s.Source:
    a = call.attrs
    count = a.skipped.add if a.skipped is not None else lambda n: None
    return s.Files(_names(names), lambda n: TFRecordFile(n, text_of(kind), a.skip_corrupt), count)


def _fixed(
    call: HostCall, names: np.ndarray, header: np.ndarray, record: np.ndarray, footer: np.ndarray, size: np.ndarray
) -> s.Source:
    length = int_of(record)
    if length <= 0:
        raise InvalidArgumentError(f"record_bytes must be > 0, got {length}", call.op)
    return s.Files(_names(names), lambda n: FixedLengthFile(n, length, int_of(header), int_of(footer), exact=True))


def _generator(call: HostCall, *args: np.ndarray) -> s.Source:
    a = call.attrs
    if a.generator is None or a.convert is None:
        raise InvalidArgumentError("the generator is not in this process", call.op)
    return s.Generator(a.generator, args, a.convert)


TENSOR = dataset_op("TensorDataset", "components: [Toutput_types]", lambda call, *c: s.Tensors(c), "One element.")
TENSOR_SLICE = dataset_op(
    "TensorSliceDataset",
    "components: [Toutput_types]",
    lambda call, *c: s.Slices(c),
    "The rows of tensors that agree in their first dimension.",
    defaults={"is_files": None, "replicate_on_split": None},
)
SPARSE_TENSOR_SLICE = dataset_op(
    "SparseTensorSliceDataset",
    "indices: int64, values: Tvalues, dense_shape: int64",
    lambda call, *parts: s.SparseSlices(*parts),
    "The rows of a sparse tensor: indices, values and shape of each. Errors: rows out of order.",
    values="Tvalues",
)
RANGE = dataset_op("RangeDataset", "start: int64, stop: int64, step: int64", _range, "The int64 numbers of a range.")
TEXT_LINE = dataset_op(
    "TextLineDataset",
    "filenames: string, compression_type: string, buffer_size: int64",
    _text_lines,
    "The lines of files, without their ends.",
)
TF_RECORD = dataset_op(
    "TFRecordDataset",
    "filenames: string, compression_type: string, buffer_size: int64",
    _records,
    "The records of TFRecord files. Errors during iteration: DataLossError with file and offset.",
    SkippingAttrs,
)
FIXED_LENGTH_RECORD = dataset_op(
    "FixedLengthRecordDataset",
    "filenames: string, header_bytes: int64, record_bytes: int64, footer_bytes: int64, buffer_size: int64",
    _fixed,
    "The records of files whose records all have `record_bytes` bytes.",
)
GENERATOR = dataset_op(
    "GeneratorDataset", "args: [Targuments]", _generator, "The values that a Python generator yields.", GeneratorAttrs
)

OPS: tuple[OpDef, ...] = (
    TENSOR,
    TENSOR_SLICE,
    SPARSE_TENSOR_SLICE,
    RANGE,
    TEXT_LINE,
    TF_RECORD,
    FIXED_LENGTH_RECORD,
    GENERATOR,
)
API: dict[str, Any] = {}
