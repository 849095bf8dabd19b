"""Reader operations (white paper, section 4.5): records of files as tensors of strings.

A reader dequeues file names; reading is asynchronous, since the next name may not have arrived yet. All run on the
host. Invariant: a reader's state is one resource, identified by container and name, which all steps share.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, OURS, AsyncCall, HostCall, Infer, Kind, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.shapes import with_rank
from tfnb.ir.tensor import Tensor
from tfnb.ops.io.reader_store import Reader, WholeFile, WorkItem, check_names
from tfnb.ops.io.record_files import FixedLengthFile, RecordFile, TextFile, TFRecordFile
from tfnb.ops.state.handles import make_handle, named_resource, resource_of
from tfnb.ops.sync.queue_store import Queue
from tfnb.types import Shape, scalar

__all__ = ["API", "OPS"]


@record
class ReaderAttrs:
    """`container`, `shared_name`: where the reader is stored, and under which name."""

    container: str = ""
    shared_name: str = ""


@record
class TextAttrs:
    """`skip_header_lines`: the number of lines to skip in each file; the others are those of ReaderAttrs."""

    skip_header_lines: int = 0
    container: str = ""
    shared_name: str = ""


@record
class FixedAttrs:
    """The numbers of bytes in header, record and footer, and between records (`hop_bytes`, 0: record_bytes).

    `encoding`: "", "GZIP" or "ZLIB".
    """

    record_bytes: int
    header_bytes: int = 0
    footer_bytes: int = 0
    hop_bytes: int = 0
    container: str = ""
    shared_name: str = ""
    encoding: str = ""


@record
class TFRecordAttrs:
    """`compression_type`: "", "GZIP" or "ZLIB"; `skip_corrupt`: leave out damaged records, and count them."""

    container: str = ""
    shared_name: str = ""
    compression_type: str = ""
    skip_corrupt: bool = field(default=False, metadata=OURS)


def _text(a: TextAttrs, name: bytes) -> RecordFile:
    return TextFile(name, a.skip_header_lines)


def _fixed(a: FixedAttrs, name: bytes) -> RecordFile:
    return FixedLengthFile(name, a.record_bytes, a.header_bytes, a.footer_bytes, a.hop_bytes, compression=a.encoding)


def _tf_records(a: TFRecordAttrs, name: bytes) -> RecordFile:
    return TFRecordFile(name, a.compression_type, a.skip_corrupt)


def _reader_op(
    name: str, opener: Callable[[Any, bytes], RecordFile], doc: str, attrs: type = ReaderAttrs, places: bool = True
) -> OpDef:
    def host(call: HostCall) -> np.ndarray:
        a = call.attrs
        others = [getattr(a, f"{part}_bytes", 0) for part in ("header", "footer", "hop")]
        if getattr(a, "record_bytes", 1) <= 0 or min(others) < 0:
            raise InvalidArgumentError(f"{name}: record_bytes must be > 0, header, footer and hop >= 0: {a}")
        kind = name.removesuffix("V2")
        resource = named_resource(call, Reader, lambda n: Reader(n, kind, lambda w: opener(a, w), places))
        return make_handle(resource)

    return OpDef(
        name,
        "",
        "reader_handle: resource",
        doc + "\n\nreader_handle: the reader, a scalar. Host only.",
        attrs=attrs,
        infer=lambda c: scalar,
        host=host,
        grad=NOT_DIFFERENTIABLE,
        stateful=True,
    )


READERS = (
    _reader_op(
        "WholeFileReaderV2",
        lambda a, name: WholeFile(name),
        "A reader that returns each file as one record, with its name as the key.",
        places=False,
    ),
    _reader_op("TextLineReaderV2", _text, 'A reader of lines; keys are "file:line number".', TextAttrs),
    _reader_op(
        "FixedLengthRecordReaderV2",
        _fixed,
        'A reader of records of a fixed length; keys are "file:record number".',
        FixedAttrs,
    ),
    _reader_op("TFRecordReaderV2", _tf_records, 'A reader of TFRecord files; keys are "file:offset".', TFRecordAttrs),
    _reader_op(
        "IdentityReaderV2",
        lambda a, name: WorkItem(name),
        "A reader whose records are the work items themselves, as both key and value.",
        places=False,
    ),
)
WHOLE_FILE, TEXT_LINE, FIXED_LENGTH, TF_RECORD, IDENTITY_READER = READERS


def _parts(call: AsyncCall, reader: np.ndarray, queue: np.ndarray) -> tuple[Reader, Queue]:
    resources = resource_of(reader, Reader, call.host.op), resource_of(queue, Queue, call.host.op)
    check_names(resources[1])
    return resources


def _read(call: AsyncCall, reader: np.ndarray, queue: np.ndarray) -> Callable[[], str]:
    r, q = _parts(call, reader, queue)
    return r.read(call, q, 1, several=False)


def _read_up_to(call: AsyncCall, reader: np.ndarray, queue: np.ndarray, n: np.ndarray) -> Callable[[], str]:
    r, q = _parts(call, reader, queue)
    return r.read(call, q, int(n), several=True)


def _op(
    name: str, inputs: str, outputs: str, doc: str, host: Callable[..., Any], shapes: Callable[[Infer], Any] | None
) -> OpDef:
    return OpDef(
        name, inputs, outputs, doc + " Host only.", infer=shapes, host=host, grad=NOT_DIFFERENTIABLE, stateful=True
    )


def _two_vectors(c: Infer) -> tuple[Shape, Shape]:
    return Shape((None,)), Shape((None,))


_ERRORS = (
    " Errors: OutOfRangeError when the queue is closed and empty, NotFoundError for a file that is not there, "
    "DataLossError with file and offset for a damaged one. Host only."
)

READ: OpDef[tuple[Tensor, Tensor]] = OpDef(
    "ReaderReadV2",
    "reader_handle: resource, queue_handle: resource",
    "key: string, value: string",
    "The next record and its key, two scalars; waits for the queue when a new file is needed." + _ERRORS,
    infer=lambda c: (scalar, scalar),
    start=_read,
    kind=Kind.ASYNC,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
)
READ_UP_TO: OpDef[tuple[Tensor, Tensor]] = OpDef(
    "ReaderReadUpToV2",
    "reader_handle: resource, queue_handle: resource, num_records: int64",
    "keys: string, values: string",
    "The next records of one file, at least one and at most `num_records`, and their keys: two vectors." + _ERRORS,
    infer=_two_vectors,
    start=_read_up_to,
    kind=Kind.ASYNC,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
)
NUM_PRODUCED: OpDef[Tensor] = _op(
    "ReaderNumRecordsProducedV2",
    "reader_handle: resource",
    "records_produced: int64",
    "The number of records that the reader has returned, an int64 scalar.",
    lambda call, r: np.int64(resource_of(r, Reader, call.op).counts()[0]),
    lambda c: scalar,
)
NUM_COMPLETED: OpDef[Tensor] = _op(
    "ReaderNumWorkUnitsCompletedV2",
    "reader_handle: resource",
    "units_completed: int64",
    "The number of work items (files) that the reader has finished, an int64 scalar.",
    lambda call, r: np.int64(resource_of(r, Reader, call.op).counts()[1]),
    lambda c: scalar,
)
NUM_SKIPPED: OpDef[Tensor] = _op(
    "ReaderNumRecordsSkipped",
    "reader_handle: resource",
    "records_skipped: int64",
    "The number of damaged records that the reader left out (`skip_corrupt`), an int64 scalar. Not in TensorFlow.",
    lambda call, r: np.int64(resource_of(r, Reader, call.op).counts()[2]),
    lambda c: scalar,
)
SERIALIZE: OpDef[Tensor] = _op(
    "ReaderSerializeStateV2",
    "reader_handle: resource",
    "state: string",
    "The state of the reader as a string scalar, for ReaderRestoreStateV2.",
    lambda call, r: resource_of(r, Reader, call.op).state(),
    lambda c: scalar,
)


def _no_output(c: Infer) -> tuple[()]:
    with_rank(c, 1, 0)
    return ()


def _restore(call: HostCall, reader: np.ndarray, state: np.ndarray) -> tuple[()]:
    resource_of(reader, Reader, call.op).restore(bytes(state.item()))
    return ()


def _reset(call: HostCall, reader: np.ndarray) -> tuple[()]:
    resource_of(reader, Reader, call.op).reset()
    return ()


RESTORE: OpDef[Operation] = _op(
    "ReaderRestoreStateV2",
    "reader_handle: resource, state: string",
    "",
    "Restores a state of the reader from ReaderSerializeStateV2. Errors: InvalidArgumentError for the state of another "
    "kind of reader, or a damaged one.",
    _restore,
    _no_output,
)
RESET: OpDef[Operation] = _op(
    "ReaderResetV2", "reader_handle: resource", "", "Returns the reader to its initial state.", _reset, None
)

OPS: tuple[OpDef, ...] = (
    *READERS,
    READ,
    READ_UP_TO,
    NUM_PRODUCED,
    NUM_COMPLETED,
    NUM_SKIPPED,
    SERIALIZE,
    RESTORE,
    RESET,
)
API: dict[str, Any] = {}
