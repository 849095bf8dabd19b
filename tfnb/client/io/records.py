"""`tf.python_io`: TFRecord files written and read in Python, outside of any graph (white paper, section 4.5).

Invariant: TensorFlow reads the file of a closed writer, and this module reads TensorFlow's.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import struct
import zlib
from collections.abc import Iterator
from typing import IO, Any, ClassVar

from tfnb.client.argument_types import FilePath
from tfnb.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError, OpError
from tfnb.ops.io.record_files import TFRecordFile, masked_crc
from tfnb.system.files import os_errors

__all__ = ["API", "TFRecordCompressionType", "TFRecordOptions", "TFRecordWriter", "tf_record_iterator"]

_AT_ONCE = 256  # records


class TFRecordCompressionType:
    """The compression of a TFRecord file."""

    NONE = 0
    ZLIB = 1
    GZIP = 2


class TFRecordOptions:
    """Options of a TFRecord file: `compression_type` is a TFRecordCompressionType, or "", "ZLIB" or "GZIP"."""

    compression_type_map: ClassVar[dict[Any, str]] = {
        TFRecordCompressionType.ZLIB: "ZLIB",
        TFRecordCompressionType.GZIP: "GZIP",
        TFRecordCompressionType.NONE: "",
    }

    def __init__(self, compression_type: int | str | None = None, compression_level: int | None = None) -> None:
        self.get_compression_type_string(compression_type)
        self.compression_type = compression_type
        self.compression_level = compression_level

    @classmethod
    def get_compression_type_string(cls, options: TFRecordOptions | int | str | None) -> str:
        """Returns "", "ZLIB" or "GZIP" for options, a compression type, or None. Raises `InvalidArgumentError` for
        others.
        """
        if isinstance(options, TFRecordOptions):
            return cls.get_compression_type_string(options.compression_type)
        if options is None or options in ("", "NONE"):
            return ""
        if options in cls.compression_type_map:
            return cls.compression_type_map[options]
        if options in cls.compression_type_map.values():
            return str(options)
        raise InvalidArgumentError(f"Not a valid compression_type: {options!r}")


class _Deflate:
    """A file for writing a zlib stream."""

    def __init__(self, file: IO[bytes], level: int) -> None:
        self._file = file
        self._deflate = zlib.compressobj(level)

    def write(self, data: bytes) -> None:
        self._file.write(self._deflate.compress(data))

    def flush(self) -> None:
        self._file.write(self._deflate.flush(zlib.Z_SYNC_FLUSH))

    def close(self) -> None:
        self._file.write(self._deflate.flush())


class TFRecordWriter:
    """Writes records to a new TFRecord file. A context manager.

    options: a TFRecordOptions or a compression type. Raises `NotFoundError` when the folder does not exist.
    """

    def __init__(self, path: FilePath, options: TFRecordOptions | int | str | None = None) -> None:
        kind = TFRecordOptions.get_compression_type_string(options)
        level = getattr(options, "compression_level", None)
        self._path = os.fsdecode(path)
        try:
            self._disk = open(os.fsdecode(path), "wb", buffering=1 << 18)  # noqa: SIM115
        except FileNotFoundError as e:
            raise NotFoundError(f"{os.fsdecode(path)}: {e.strerror}") from None
        except OSError as e:
            raise FailedPreconditionError(f"{os.fsdecode(path)}: {e.strerror}") from None
        self._file: Any = self._disk
        if kind == "GZIP":
            self._file = gzip.GzipFile(fileobj=self._disk, mode="wb", compresslevel=6 if level is None else level)
        elif kind == "ZLIB":
            self._file = _Deflate(self._disk, -1 if level is None else level)

    def write(self, record: bytes) -> None:
        """Writes a record: bytes.

        Raises `FailedPreconditionError` when the writer is closed, and `ResourceExhaustedError` on a full disk.
        """
        if self._disk.closed:
            raise FailedPreconditionError("Writer is closed.")
        data = record.encode() if isinstance(record, str) else bytes(record)
        head = struct.pack("<Q", len(data))
        parts = head, struct.pack("<I", masked_crc(head)), data, struct.pack("<I", masked_crc(data))
        with os_errors(self._path):
            self._file.write(b"".join(parts))

    def flush(self) -> None:
        """Passes the written records to the operating system. Raises `ResourceExhaustedError` on a full disk."""
        with os_errors(self._path):
            self._file.flush()
            self._disk.flush()

    def close(self) -> None:
        """Writes the remaining records and closes the file. Raises `ResourceExhaustedError` on a full disk."""
        if self._disk.closed:
            return
        with os_errors(self._path):
            try:
                if self._file is not self._disk:
                    self._file.close()
            finally:
                self._disk.close()

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if kind is None:
            self.close()
        else:
            self._abandon()

    def __del__(self) -> None:
        if hasattr(self, "_disk"):
            self._abandon()

    def _abandon(self) -> None:
        """Closes the file after an error, or at the end of the program, when nobody would hear of another error."""
        with contextlib.suppress(OpError, OSError, ValueError):
            self.close()


def tf_record_iterator(
    path: FilePath, options: TFRecordOptions | int | str | None = None, skip_corrupt: bool = False
) -> Iterator[bytes]:
    """Yields the records of a TFRecord file, as bytes.

    Raises `DataLossError`, with file and offset, at a damaged record; with `skip_corrupt` such records are skipped.
    """
    file = TFRecordFile(os.fsdecode(path), TFRecordOptions.get_compression_type_string(options), skip_corrupt)
    try:
        while records := file.take(_AT_ONCE):
            yield from records
    finally:
        file.close()


_NAMES: dict[str, Any] = {
    "TFRecordCompressionType": TFRecordCompressionType,
    "TFRecordOptions": TFRecordOptions,
    "TFRecordWriter": TFRecordWriter,
    "tf_record_iterator": tf_record_iterator,
}
API: dict[str, Any] = {f"python_io.{name}": value for name, value in _NAMES.items()}
API |= {f"io.{name}": value for name, value in _NAMES.items()}
