"""The IDX format of the MNIST database: a header of big-endian sizes, followed by unsigned bytes.

The header has two zero bytes, a type code (8 means unsigned byte), the rank, and a 32-bit size for each dimension; the
data is in row-major order. The files are usually compressed with gzip. Invariant: a file is read completely and
exactly, or the error gives the actual and the expected contents.
"""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from pathlib import Path
from typing import BinaryIO

import numpy as np

from tfnb.errors import DataLossError, NotFoundError

__all__ = ["read_idx"]

UNSIGNED_BYTE = 8
# The full MNIST database has 47 million bytes; a header with far larger sizes is damaged.
MOST_BYTES = 1 << 31


def read_idx(path: str | Path, rank: int) -> np.ndarray:
    """Returns the array of unsigned bytes in an IDX file, which may be compressed with gzip.

    Returns a `uint8` array of `rank` dimensions. Raises `NotFoundError` when there is no such file, and `DataLossError`
    when it is damaged, truncated, too long, or has another type or rank.
    """
    path = Path(path)
    if not path.is_file():
        raise NotFoundError(f"no IDX file at {path}")
    with path.open("rb") as raw:
        zipped = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        if not zipped:
            return _read_stream(raw, path, rank)
        try:
            with gzip.GzipFile(fileobj=raw) as stream:
                return _read_stream(stream, path, rank)
        except (EOFError, gzip.BadGzipFile, zlib.error) as fault:
            raise DataLossError(f"{path}: the gzip stream is damaged ({fault})") from fault


def _read_stream(stream: BinaryIO | gzip.GzipFile, path: Path, rank: int) -> np.ndarray:
    shape = _read_shape(stream, path, rank)
    n_bytes = math.prod(shape)
    start = 4 + 4 * rank
    if n_bytes > MOST_BYTES:
        raise DataLossError(f"{path}: the header's shape {shape} needs {n_bytes} bytes of data")
    if math.prod(max(n, 1) for n in shape) > MOST_BYTES:  # NumPy rejects such axes even if there are no elements
        raise DataLossError(f"{path}: the header's shape {shape} has larger axes than {MOST_BYTES} bytes can")
    data = stream.read(n_bytes)
    if len(data) < n_bytes:
        raise DataLossError(
            f"{path}: truncated at offset {start + len(data)}: the header's shape {shape} needs "
            f"{n_bytes} bytes of data, the file holds {len(data)}"
        )
    if stream.read(1):
        raise DataLossError(f"{path}: data goes on at offset {start + n_bytes}, where the header's shape {shape} ends")
    return np.frombuffer(data, np.uint8).reshape(shape).copy()  # which the caller may change


def _read_shape(stream: BinaryIO | gzip.GzipFile, path: Path, rank: int) -> tuple[int, ...]:
    magic = stream.read(4)
    if len(magic) < 4:
        raise DataLossError(f"{path}: truncated at offset {len(magic)}, inside the IDX header")
    expected_magic = bytes((0, 0, UNSIGNED_BYTE, rank))
    if magic != expected_magic:
        raise DataLossError(
            f"{path}: the IDX header begins with {magic.hex(' ')}; needed {expected_magic.hex(' ')} "
            f"(unsigned bytes of rank {rank})"
        )
    sizes = stream.read(4 * rank)
    if len(sizes) < 4 * rank:
        raise DataLossError(f"{path}: truncated at offset {4 + len(sizes)}, inside the IDX header")
    return struct.unpack(f">{rank}I", sizes)
