"""`tf.compat`: texts and bytes, and the Python types that count as numbers.

Invariant: text is `str`, encoded as UTF-8 unless another encoding is named.
"""

from __future__ import annotations

import numbers
import os
from typing import Any

import numpy as np

from tfnb.errors import DTypeError
from tfnb.ir.tensor import TensorLike

__all__ = ["API", "as_bytes", "as_str_any", "as_text"]


def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> bytes:
    """Raises `DTypeError` for what is neither text nor bytes."""
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, (bytes, bytearray)):
        return bytes(bytes_or_text)
    raise DTypeError(f"expected bytes or text, got {type(bytes_or_text).__name__} {bytes_or_text!r}")


def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """Raises `DTypeError` for what is neither text nor bytes."""
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, (bytes, bytearray)):
        return bytes_or_text.decode(encoding)
    raise DTypeError(f"expected bytes or text, got {type(bytes_or_text).__name__} {bytes_or_text!r}")


def as_str_any(value: TensorLike) -> str:
    """Bytes and text as text, anything else by `str`."""
    return as_text(value) if isinstance(value, (str, bytes)) else str(value)


def path_to_str(path: Any) -> str:
    """A path object as text."""
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
