"""Compressed streams as readable files: zlib, and gzip with any number of members.

Invariant: all that comes before a place where a stream is cut or damaged can be read before the error.
"""

from __future__ import annotations

import io
import zlib
from typing import Any, BinaryIO

__all__ = ["BROKEN", "Gunzip", "Inflate"]

_CHUNK = 1 << 18
BROKEN = (zlib.error, EOFError)  # the errors that damaged compressed data raises


class Inflate(io.RawIOBase):
    """A zlib stream as a readable file."""

    _bits = zlib.MAX_WBITS

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._input = file, b""
        self._stream: Any = zlib.decompressobj(self._bits)  # None between streams

    def _begins(self) -> bool:
        """Begins another stream after the end of one; returns whether there is one."""
        return False

    def read(self, size: int = -1) -> bytes:
        out = b""
        while not out and (self._stream is not None or self._begins()):
            self._input = self._input or self._file.read(_CHUNK)
            is_at_end = not self._input
            out = self._stream.decompress(self._input, max(size, 0))
            if self._stream.eof:
                self._input, self._stream = self._stream.unused_data, None
                continue
            self._input = self._stream.unconsumed_tail
            if is_at_end and not out:
                raise EOFError("the compressed stream ends before its end marker")
        return out


class Gunzip(Inflate):
    """A file of gzip: no stream or several, with zeros after each."""

    _bits = zlib.MAX_WBITS | 16

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file)
        self._stream = None

    def _begins(self) -> bool:
        begin = self._input.lstrip(b"\0")
        while not begin:
            chunk = self._file.read(_CHUNK)
            if not chunk:
                return False
            begin = chunk.lstrip(b"\0")
        self._input, self._stream = begin, zlib.decompressobj(self._bits)
        return True
