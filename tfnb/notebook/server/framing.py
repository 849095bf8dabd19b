"""JSON with binary arrays as one body: the length of the head, the head, then the arrays, each at a multiple of 8.

In the head {"\\u0000": n} is in the place of array n. The browser's part is labextension/src/protocol/framing.ts.
"""

from __future__ import annotations

import json
import math
import struct

__all__ = ["MARK", "packed"]

MARK = "\0"  # cannot be confused with a key: the keys of messages with arrays are those of TypedDicts


def packed(value: object) -> bytes:
    """Returns `value`, which consists of dicts, lists, texts, numbers and bytes-like arrays, as the body of one
    message.
    """
    arrays: list[bytes] = []
    tree = _without_arrays(value, arrays)
    head = json.dumps({"value": tree, "sizes": [len(a) for a in arrays]}, allow_nan=False).encode()
    head += b" " * (-(len(head) + 4) % 8)
    return b"".join([struct.pack("<I", len(head)), head, *(a + bytes(-len(a) % 8) for a in arrays)])


def _without_arrays(value: object, arrays: list[bytes]) -> object:
    if isinstance(value, (bytes, bytearray, memoryview)):
        arrays.append(bytes(value))
        return {MARK: len(arrays) - 1}
    if isinstance(value, dict):
        return {str(key): _without_arrays(inner, arrays) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_arrays(inner, arrays) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None  # JSON has no NaN and no infinity
    return value
