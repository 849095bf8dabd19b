"""Files as sequences of records: lines, records of a fixed length, TFRecords (white paper, section 4.5).

Records are taken many at a time, so the cost per record is a slice and a checksum; readers and data sets share this
code. Invariant: a record is delivered only if its checksums match; an error names the file and the offset, and the
records before it are delivered first. Memory for a record is allocated as its bytes arrive, never because a header
claims a length, and no record is longer than `MAX_RECORD`, or `MAX_INFLATED_RECORD` in a compressed file.
"""

from __future__ import annotations

import importlib
import io
import os
import stat
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import islice
from typing import Any, BinaryIO

import numpy as np

from tfnb.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    PermissionDeniedError,
    UnknownError,
)
from tfnb.ops.io.inflating import BROKEN, Gunzip, Inflate

__all__ = [
    "DEFLATE",
    "MAX_INFLATED_RECORD",
    "MAX_RECORD",
    "FixedLengthFile",
    "RecordFile",
    "TFRecordFile",
    "TextFile",
    "masked_crc",
]

_WORD = 0xFFFFFFFF
_DELTA = 0xA282EAD8  # the constant of TensorFlow's masked checksums
_CHUNK = 1 << 20  # the number of bytes read at once
_MAX_HEADS = 4096  # the number of record headers that are remembered as valid
MAX_RECORD = 1 << 31  # the most bytes of a record or line: a protobuf message cannot be longer
MAX_INFLATED_RECORD = 1 << 30  # the same in a compressed file, where few bytes can expand to many
DEFLATE = 1032  # the most bytes to which deflate can expand one byte (zlib's technical notes)
_LARGE = 4 * _CHUNK  # bytes from which a record is read separately from its neighbours
_AT_ONCE = 1 << 26  # bytes after which `take` returns, even if more records were requested


@cache
def _crc32c() -> Callable[[Any], int]:
    checksum: Callable[[Any], int] = importlib.import_module("crc32c").crc32c
    return checksum


def masked_crc(data: bytes) -> int:
    """TensorFlow's checksum of the parts of a record: CRC32C, rotated and shifted."""
    crc = _crc32c()(data)
    return ((crc >> 15 | crc << 17) + _DELTA) & _WORD


def open_file(name: bytes | str) -> BinaryIO:
    """Opens a file for reading bytes. Raises tfnb's errors, which name the file."""
    path = os.fsdecode(name)
    kinds: tuple[tuple[type[Exception], type[OpError]], ...] = (
        (FileNotFoundError, NotFoundError),
        (PermissionError, PermissionDeniedError),
        (IsADirectoryError, FailedPreconditionError),
        (ValueError, InvalidArgumentError),
    )
    try:
        if not path:
            raise FileNotFoundError("the file name is empty")
        return open(path, "rb", buffering=_CHUNK)
    except (OSError, ValueError) as e:
        kind = next((error_type for builtin_error, error_type in kinds if isinstance(e, builtin_error)), UnknownError)
        raise kind(f"{path}: {getattr(e, 'strerror', None) or e}") from None


def _decompressed(file: BinaryIO, compression: str) -> BinaryIO | Gunzip | Inflate:
    """The decompressed file. `compression`: "", "GZIP" or "ZLIB"."""
    if compression == "GZIP":
        return Gunzip(file)
    if compression == "ZLIB":
        return Inflate(file)
    if compression in ("", "NONE"):
        return file
    raise InvalidArgumentError(f"the compression {compression!r} is none of '', 'GZIP', 'ZLIB'")


class RecordFile:
    """A file of records. `take(n)` returns at most the next `n`, none at the end; `places` are their positions.

    `position` is the position of the next record, for `skip_to`. Large records are returned a few at a time, so that
    the memory in use does not depend on `n`.
    """

    def __init__(self, name: bytes | str, compression: str = "") -> None:
        self.name = os.fsdecode(name)
        self._disk = open_file(name)
        self.places: list[int] = []
        self.position = 0
        self._inflated = compression not in ("", "NONE")
        self._max_record = MAX_INFLATED_RECORD if self._inflated else MAX_RECORD
        with self._closed_on_error():
            self._file = _decompressed(self._disk, compression)

    @contextmanager
    def _closed_on_error(self) -> Iterator[None]:
        """Closes the file when a constructor fails, since the error might keep the object alive for long."""
        try:
            yield
        except BaseException:
            self._disk.close()
            raise

    def take(self, n: int) -> list[bytes]:
        raise AssertionError("a kind of file says how")

    def skip_to(self, position: int) -> None:
        """Skips forward to a position that `position` returned before."""
        while self.position < position and self.take(1):
            pass

    def close(self) -> None:
        self._file.close()
        self._disk.close()

    def __del__(self) -> None:
        disk = getattr(self, "_disk", None)
        if disk is not None:
            disk.close()

    def _most_bytes(self) -> int:
        """An upper limit of the (inflated) bytes in the file; `MAX_RECORD` if it is not a regular file."""
        status = os.fstat(self._disk.fileno())
        if not stat.S_ISREG(status.st_mode):
            return MAX_RECORD
        return status.st_size * DEFLATE if self._inflated else status.st_size

    def _too_long(self) -> DataLossError:
        return DataLossError(
            f"{self.name}: record {self.position} is longer than the {self._max_record} bytes that are read of one"
        )

    def _lost(self, e: Exception) -> DataLossError:
        return DataLossError(f"{self.name}: the compressed data is broken at record {self.position}: {e}")


class TextFile(RecordFile):
    """Lines without their line ends; positions are line numbers from 1.

    A line ends with a line feed, before which one carriage return is left out; with `drops_returns` all are, wherever
    they stand, as TensorFlow's TextLineDataset does, but not its TextLineReader.
    """

    def __init__(
        self, name: bytes | str, skip_lines: int = 0, compression: str = "", drops_returns: bool = False
    ) -> None:
        super().__init__(name, compression)
        self._drops_returns = drops_returns
        if compression:
            self._file = io.BufferedReader(_Raw(self._file), _CHUNK)
        with self._closed_on_error():
            for _ in range(skip_lines):
                self._line()
        self.position = skip_lines

    def take(self, n: int) -> list[bytes]:
        lines = self._inflated_lines(n) if self._inflated else list(islice(self._file, n))
        self.places = list(range(self.position + 1, self.position + 1 + len(lines)))
        self.position += len(lines)
        if any(b"\r" in line for line in lines):
            if self._drops_returns:
                return [line.rstrip(b"\n").replace(b"\r", b"") for line in lines]
            return [line.removesuffix(b"\n").removesuffix(b"\r") for line in lines]
        return [line.rstrip(b"\n") for line in lines]

    def _inflated_lines(self, n: int) -> list[bytes]:
        """At most `n` lines, fewer if they are large: a compressed file can expand to far more than its size."""
        lines: list[bytes] = []
        size = 0
        while len(lines) < n and size < _AT_ONCE and (line := self._line()):
            lines.append(line)
            size += len(line)
        return lines

    def _line(self) -> bytes:
        try:
            line: bytes = self._file.readline(self._max_record + 1)
        except BROKEN as e:
            raise self._lost(e) from None
        if len(line) > self._max_record:
            raise self._too_long()
        return line


class _Raw(io.RawIOBase):
    """The raw file that `BufferedReader` needs, over a decompressing file."""

    def __init__(self, file: BinaryIO | Gunzip | Inflate) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class FixedLengthFile(RecordFile):
    """Records of `length` bytes, every `hop` bytes (0: directly after each other), between a header and a footer.

    Positions are record numbers. With `exact`, bytes that do not form a whole record are an error.
    """

    def __init__(
        self,
        name: bytes | str,
        length: int,
        header: int = 0,
        footer: int = 0,
        hop: int = 0,
        exact: bool = False,
        compression: str = "",
    ) -> None:
        super().__init__(name, compression)
        self._at, self._last = 0, b""  # in a compressed file: the offset, and the bytes before it that records share
        with self._closed_on_error():
            size = self._inflated_size(compression) if self._inflated else os.fstat(self._file.fileno()).st_size
        self._length, self._hop, self._header = length, hop or length, header
        body = size - header - footer
        if exact and body % length:
            self.close()
            raise InvalidArgumentError(
                f"Excluding the header ({header} bytes) and footer ({footer} bytes), input file {self.name} has body "
                f"length {body} bytes, which is not an exact multiple of the record length ({length} bytes)."
            )
        self._count = (body - length) // self._hop + 1 if body >= length else 0

    def _inflated_size(self, compression: str) -> int:
        """The number of bytes in the compressed file, which is read to its end and opened again."""
        size = 0
        while chunk := self._inflated_bytes(_CHUNK):
            size += len(chunk)
        self._disk.seek(0)
        self._file = _decompressed(self._disk, compression)
        return size

    def _inflated_bytes(self, count: int) -> bytes:
        """The next bytes of the compressed file: at most `count`, none at its end."""
        try:
            chunk: bytes = self._file.read(count)
            return chunk
        except BROKEN as e:
            raise self._lost(e) from None

    def _bytes(self, start: int, count: int) -> bytes:
        """The bytes at an offset of the file, which does not lie before those of the last call's last record."""
        if not self._inflated:
            self._file.seek(start)
            data: bytes = self._file.read(count)
            return data
        parts = [self._last[len(self._last) - (self._at - start) :] if start < self._at else b""]
        while self._at < start:
            self._at += len(self._inflated_bytes(min(start - self._at, _CHUNK)))
        missing = count - len(parts[0])
        while missing:
            parts.append(self._inflated_bytes(min(missing, _CHUNK)))
            missing -= len(parts[-1])
            self._at += len(parts[-1])
        data = b"".join(parts)
        self._last = data[len(data) - max(self._length - self._hop, 0) :]
        return data

    def take(self, n: int) -> list[bytes]:
        n = max(0, min(n, self._count - self.position, max(_AT_ONCE // max(self._length, self._hop), 1)))
        if not n:
            self.places = []
            return []
        length, hop = self._length, self._hop
        data = self._bytes(self._header + self.position * hop, (n - 1) * hop + length)
        self.places = list(range(self.position, self.position + n))
        self.position += n
        return [data[i : i + length] for i in range(0, (n - 1) * hop + 1, hop)]

    def skip_to(self, position: int) -> None:
        self.position = min(position, self._count)


class TFRecordFile(RecordFile):
    """TFRecords: length, its checksum, data, its checksum. Positions are offsets in the (decompressed) file.

    With `skip_corrupt`, records with a wrong checksum are left out and counted in `skipped`; after a damaged length or
    a truncated end, the rest of the file is lost, which counts as one record.
    """

    def __init__(self, name: bytes | str, compression: str = "", skip_corrupt: bool = False) -> None:
        super().__init__(name, compression)
        self.skipped = 0
        self._skip = skip_corrupt
        self._heads: dict[bytes, int] = {}  # verified headers of 12 bytes -> lengths
        self._buffer = b""
        self._at = 0  # the position of the next record in the buffer
        self._ended = False
        self._error: OpError | None = None  # the reason for the end of reading, if it is not the end of the file

    @property
    def places(self) -> list[int]:
        return np.concatenate(self._offsets).tolist() if self._offsets else []

    @places.setter
    def places(self, value: list[int]) -> None:
        self._offsets: list[np.ndarray] = [np.array(value, np.int64)] if value else []

    def take(self, n: int) -> list[bytes]:
        records: list[bytes] = []
        self._offsets = []
        enough = self.position + _AT_ONCE
        while len(records) < n and self.position < enough:
            if self._ended:
                if records or self._error is None:
                    break
                raise self._error
            begin = self._at
            datas = self._scan(n - len(records))
            if datas:
                base = self.position - begin
                self.position = base + self._at
                records += self._checked(datas, begin, base)
            elif not self._ended and self._needed > _LARGE:
                records += self._large(self._needed - 16)
            elif not self._ended and not self._fill(self._needed):
                break
        return records

    def _scan(self, n: int) -> list[bytes]:
        """Up to `n` whole records of the buffer, not yet verified; `_needed`: the bytes for one more."""
        buffer, at, cached_head = self._buffer, self._at, self._heads.get
        datas: list[bytes] = []
        keep = datas.append
        end = len(buffer)
        self._needed = 12
        for _ in range(n):
            data = at + 12
            length = cached_head(buffer[at:data])
            if length is None:
                if data > end:
                    break
                length = self._check_head(buffer[at:data], at)
                if length is None:
                    break
            stop = data + length
            if stop + 4 > end:
                self._needed = length + 16
                break
            keep(buffer[data:stop])
            at = stop + 4
        self._at = at
        return datas

    def _check_head(self, head: bytes, at: int) -> int | None:
        length, crc = struct.unpack("<QI", head)
        offset = self.position + at - self._at
        if masked_crc(head[:8]) != crc:
            self._fail(offset, "corrupted record")
            return None
        if length > _LARGE:
            if length > self._most_bytes():
                self._fail(offset, f"truncated record, which claims {length} bytes,")
                return None
            if length > self._max_record:
                self._fail(offset, f"record of {length} bytes, more than the {self._max_record} that are read of one,")
                return None
        if len(self._heads) >= _MAX_HEADS:
            self._heads.clear()
        self._heads[head] = length
        return int(length)

    def _checked(self, datas: list[bytes], begin: int, base: int) -> list[bytes]:
        """The records whose checksums match, up to the first wrong one unless those are skipped."""
        sizes = np.fromiter(map(len, datas), np.int64, len(datas)) + 16
        ends = begin + np.cumsum(sizes)
        raw = np.frombuffer(self._buffer, np.uint8)
        checksums = raw[ends[:, None] + np.arange(-4, 0)].view("<u4").reshape(-1)
        crc = np.fromiter(map(_crc32c(), datas), np.uint64, len(datas))
        masked = ((crc >> 15 | crc << 17) & _WORD) + _DELTA & _WORD
        offsets = base + ends - sizes
        matches = masked == checksums
        if matches.all():
            self._offsets.append(offsets)
            return datas
        if self._skip:
            self.skipped += int((~matches).sum())
        else:
            first_bad = int(np.argmin(matches))
            self._fail(int(offsets[first_bad]), "corrupted record")
            matches[first_bad:] = False
        self._offsets.append(offsets[matches])
        return [d for d, match in zip(datas, matches.tolist(), strict=True) if match]

    def _large(self, length: int) -> list[bytes]:
        """Reads the next record, whose header is in the buffer, directly into its own memory, to avoid a copy."""
        offset, record = self.position, io.BytesIO()
        record.write(memoryview(self._buffer)[self._at + 12 :])
        self._buffer, self._at, self._needed = b"", 0, 12
        try:
            while (left := length + 4 - record.tell()) > 0:
                chunk = self._file.read(min(left, _CHUNK))
                if not chunk:
                    self._fail(offset, "truncated record")
                    return []
                record.write(chunk)
        except BROKEN as e:
            self._fail(offset, f"broken compression ({e})")
            return []
        self.position += length + 16
        (checksum,) = struct.unpack("<I", record.getbuffer()[length:])
        record.truncate(length)
        data = record.getvalue()
        if masked_crc(data) == checksum:
            self._offsets.append(np.array([offset]))
            return [data]
        if self._skip:
            self.skipped += 1
        else:
            self._fail(offset, "corrupted record")
        return []

    def _fill(self, needed: int) -> bool:
        """Reads until `needed` bytes of the next record are there, or it is known to be broken; False at the end."""
        parts = [self._buffer[self._at :]]
        length = len(parts[0])
        try:
            while length < needed:
                chunk = self._file.read(_CHUNK)
                if not chunk:
                    break
                parts.append(chunk)
                length += len(chunk)
        except BROKEN as e:
            self._fail(self.position, f"broken compression ({e})")
            return True
        self._buffer, self._at = b"".join(parts), 0
        if length >= needed:
            return True
        if length:
            self._fail(self.position, "truncated record")
        return bool(length)

    def _fail(self, offset: int, what: str) -> None:
        """Records an error after which the rest of the file cannot be read."""
        self._ended = True
        if self._skip:
            self.skipped += 1
            return
        self._error = DataLossError(f"{what} at {offset} in {self.name}")
