"""Readers: `tf.TFRecordReader` and its relatives (white paper, section 4.5).

A reader object names a resource of the session; its methods add operations to the graph. `read(queue)` takes file names
from a queue, for instance from `tf.train.string_input_producer`.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.io.records import TFRecordOptions
from tfnb.client.sync.queues import QueueBase
from tfnb.errors import DTypeError
from tfnb.ir.default import get_default_graph
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.io import readers as ops

__all__ = ["API", "ReaderBase"]


class ReaderBase:
    """The base class of readers."""

    def __init__(self, reader_ref: Tensor, supports_serialize: bool = True) -> None:
        self._reader_ref = reader_ref
        self._supports_serialize = supports_serialize

    @property
    def reader_ref(self) -> Tensor:
        """The tensor that is the handle of the reader."""
        return self._reader_ref

    @property
    def supports_serialize(self) -> bool:
        """Returns whether the state of the reader can be saved and restored."""
        return self._supports_serialize

    def read(self, queue: QueueBase, name: str | None = None) -> tuple[Tensor, Tensor]:
        """Returns (key, value) of the next record, two string scalars; the name of the next file comes from `queue`.

        The step raises `OutOfRangeError` when the queue is closed and empty.
        """
        return ops.READ(self._reader_ref, _handle(queue), name=name)

    def read_up_to(self, queue: QueueBase, num_records: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
        """Returns (keys, values) of the next records of one file, at least one and at most `num_records`: string
        vectors.
        """
        return ops.READ_UP_TO(self._reader_ref, _handle(queue), num_records, name=name)

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """Returns the number of records read, an int64 scalar."""
        return ops.NUM_PRODUCED(self._reader_ref, name=name)

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """Returns the number of files that were read to their end, an int64 scalar."""
        return ops.NUM_COMPLETED(self._reader_ref, name=name)

    def num_records_skipped(self, name: str | None = None) -> Tensor:
        """Returns the number of damaged records that were skipped (`skip_corrupt`), an int64 scalar."""
        return ops.NUM_SKIPPED(self._reader_ref, name=name)

    def serialize_state(self, name: str | None = None) -> Tensor:
        """Returns the position of the reader, a string scalar."""
        return ops.SERIALIZE(self._reader_ref, name=name)

    def restore_state(self, state: TensorLike, name: str | None = None) -> Operation:
        """Returns an operation that restores a `state` from `serialize_state`."""
        return ops.RESTORE(self._reader_ref, state, name=name)

    def reset(self, name: str | None = None) -> Operation:
        """Returns an operation that resets the reader to its beginning."""
        return ops.RESET(self._reader_ref, name=name)


def _handle(queue: QueueBase) -> Tensor:
    if isinstance(queue, QueueBase):
        return queue.queue_ref
    if isinstance(queue, Tensor):
        return queue
    raise DTypeError(f"a reader needs a queue of file names, got {type(queue).__name__}")


class WholeFileReader(ReaderBase):
    """A reader whose records are whole files, with their names as keys."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(ops.WHOLE_FILE(name=name, graph=get_default_graph()))


class TextLineReader(ReaderBase):
    """A reader whose records are lines without their ends; keys are "file:line number".

    The first `skip_header_lines` of each file are skipped.
    """

    def __init__(self, skip_header_lines: int | None = None, name: str | None = None) -> None:
        lines = int(skip_header_lines or 0)
        super().__init__(ops.TEXT_LINE(skip_header_lines=lines, name=name, graph=get_default_graph()))


class FixedLengthRecordReader(ReaderBase):
    """A reader whose records have `record_bytes` bytes, between `header_bytes` and `footer_bytes`.

    A record begins every `hop_bytes` bytes, by default a record's length.
    """

    def __init__(
        self,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        hop_bytes: int | None = None,
        name: str | None = None,
        encoding: str | None = None,
    ) -> None:
        handle = ops.FIXED_LENGTH(
            record_bytes=int(record_bytes),
            header_bytes=int(header_bytes or 0),
            footer_bytes=int(footer_bytes or 0),
            hop_bytes=int(hop_bytes or 0),
            encoding=encoding or "",
            name=name,
            graph=get_default_graph(),
        )
        super().__init__(handle)


class TFRecordReader(ReaderBase):
    """A reader of TFRecord files; keys are "file:offset".

    options: a TFRecordOptions or a compression type. skip_corrupt: damaged records are skipped and counted
    (`num_records_skipped`) instead of raising `DataLossError`.
    """

    def __init__(
        self, name: str | None = None, options: TFRecordOptions | int | str | None = None, skip_corrupt: bool = False
    ) -> None:
        kind = TFRecordOptions.get_compression_type_string(options)
        handle = ops.TF_RECORD(compression_type=kind, skip_corrupt=skip_corrupt, name=name, graph=get_default_graph())
        super().__init__(handle)


class IdentityReader(ReaderBase):
    """A reader whose keys and values are the items of the queue themselves."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(ops.IDENTITY_READER(name=name, graph=get_default_graph()))


API: dict[str, Any] = {
    "ReaderBase": ReaderBase,
    "WholeFileReader": WholeFileReader,
    "TextLineReader": TextLineReader,
    "FixedLengthRecordReader": FixedLengthRecordReader,
    "TFRecordReader": TFRecordReader,
    "IdentityReader": IdentityReader,
}
API |= {f"io.{name}": value for name, value in API.items()}
