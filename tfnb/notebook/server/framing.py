"""JSON with binary arrays in it as one body: the head's length, the head, then the arrays, each at a multiple of 8.

In the head {"\\u0000": n} stands where array n was. The browser's half is labextension/src/protocol/framing.ts.
"""

from __future__ import annotations

import json
import math
import struct
from typing import Any

__all__ = ["MARK", "packed"]

MARK = "\0"  # no text of a summary is a key of the structures that carry arrays


def packed(value: Any) -> bytes:
    """`value` of dicts, lists, texts, numbers and bytes-like arrays, as one body."""
    arrays: list[bytes] = []
    tree = _without(value, arrays)
    head = json.dumps({"value": tree, "sizes": [len(a) for a in arrays]}, allow_nan=False).encode()
    head += b" " * (-(len(head) + 4) % 8)
    return b"".join([struct.pack("<I", len(head)), head, *(a + bytes(-len(a) % 8) for a in arrays)])


def _without(value: Any, arrays: list[bytes]) -> Any:
    if isinstance(value, (bytes, bytearray, memoryview)):
        arrays.append(bytes(value))
        return {MARK: len(arrays) - 1}
    if isinstance(value, dict):
        return {str(key): _without(inner, arrays) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without(inner, arrays) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None  # which JSON has; it has no NaN
    return value
