"""`tf.compat`: conversions of text and bytes, and the Python types that count as numbers.

Invariant: text is `str`, encoded as UTF-8 unless another encoding is named.
"""

from __future__ import annotations

import numbers
import os
from typing import Any

import numpy as np

from tfnb.client.argument_types import FilePath
from tfnb.errors import DTypeError
from tfnb.ir.tensor import TensorLike

__all__ = ["API", "as_bytes", "as_str_any", "as_text"]


def as_bytes(bytes_or_text: str | bytes, encoding: str = "utf-8") -> bytes:
    """Returns text as bytes. Raises `DTypeError` for values that are neither text nor bytes."""
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, (bytes, bytearray)):
        return bytes(bytes_or_text)
    raise DTypeError(f"expected bytes or text, got {type(bytes_or_text).__name__} {bytes_or_text!r}")


def as_text(bytes_or_text: str | bytes, encoding: str = "utf-8") -> str:
    """Returns bytes as text. Raises `DTypeError` for values that are neither text nor bytes."""
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, (bytes, bytearray)):
        return bytes_or_text.decode(encoding)
    raise DTypeError(f"expected bytes or text, got {type(bytes_or_text).__name__} {bytes_or_text!r}")


def as_str_any(value: TensorLike) -> str:
    """Returns bytes and text as text, and any other value as `str(value)`."""
    return as_text(value) if isinstance(value, (str, bytes)) else str(value)


def path_to_str(path: FilePath) -> str:
    """Returns a path object as text."""
    return as_text(os.fspath(path))


API: dict[str, Any] = {
    "compat.as_bytes": as_bytes,
    "compat.as_text": as_text,
    "compat.as_str": as_text,
    "compat.as_str_any": as_str_any,
    "compat.path_to_str": path_to_str,
    "compat.integral_types": (numbers.Integral, np.integer),
    "compat.real_types": (numbers.Real, np.integer, np.floating),
    "compat.complex_types": (numbers.Complex, np.number),
    "compat.bytes_or_text_types": (bytes, str),
}
