"""Snappy's block format, in which TensorFlow before 1.15 could write the index of a checkpoint.

A block is its length and then literals and copies of what stands before (google/snappy, format_description). The blocks
of an index are few and small, so this is plain Python and no further library. Invariant: no more is written than the
length that the block tells, which is bounded by the length of the block.
"""

from __future__ import annotations

__all__ = ["MAX_BLOCK", "SnappyError", "uncompressed"]

MAX_BLOCK = 1 << 24  # bytes of a block that is read
_MOST = 32  # bytes for each byte of a block; a copy of 64 bytes takes 3
_LENGTH_BYTES = 5


class SnappyError(ValueError):
    """The block is damaged."""


def uncompressed(block: bytes) -> bytes:
    """Returns the bytes that a block stands for. Raises `SnappyError` when it is damaged."""
    size, at = _length(block)
    if size > min(_MOST * len(block), MAX_BLOCK):
        raise SnappyError(f"a block of {len(block)} bytes tells of {size}")
    out = bytearray()
    while at < len(block):
        tag, at = block[at], at + 1
        kind, length = tag & 3, (tag >> 2) + 1
        if kind == 0:
            if length > 60:  # the length less one follows, in one to four bytes
                more = length - 60
                length, at = int.from_bytes(block[at : at + more], "little") + 1, at + more
            if at + length > len(block) or len(out) + length > size:
                raise SnappyError(f"a literal of {length} bytes at {at} of {len(block)}")
            out += block[at : at + length]
            at += length
            continue
        if kind == 1:
            length, high, more = (tag >> 2 & 7) + 4, tag >> 5 << 8, 1
        else:
            high, more = 0, 2 if kind == 2 else 4
        back = high + int.from_bytes(block[at : at + more], "little")
        at += more
        if not 0 < back <= len(out) or at > len(block) or len(out) + length > size:
            raise SnappyError(f"a copy of {length} bytes from {back} before, after {len(out)} of {size}")
        piece = out[-back:] if back <= length else out[-back : len(out) - back + length]
        out += (piece * (length // len(piece) + 1))[:length]  # a copy may overlap itself
    if len(out) != size:
        raise SnappyError(f"{len(out)} bytes where the block tells of {size}")
    return bytes(out)


def _length(block: bytes) -> tuple[int, int]:
    value = 0
    for i, byte in enumerate(block[:_LENGTH_BYTES]):
        value |= (byte & 127) << 7 * i
        if byte < 128:
            return value, i + 1
    raise SnappyError("the block does not begin with a length")
