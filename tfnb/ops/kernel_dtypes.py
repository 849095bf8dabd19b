"""The `-DT=...` definitions that tell a library kernel its element type (see `kernels_cl/lib/element.clh`).

Invariant: kernels compute 16-bit floats in float32. Sums of integers wrap around, so one unsigned type serves signed
and unsigned integers.
"""

from __future__ import annotations

from tfnb.types import DType

__all__ = ["element_defines", "signed_defines"]

_WRAPPING = {
    "int8": "uchar",
    "int16": "ushort",
    "int32": "uint",
    "int64": "ulong",
    "uint8": "uchar",
    "uint16": "ushort",
    "uint32": "uint",
    "uint64": "ulong",
    "bool": "uchar",
}
_FLOATS = {"float32": "float", "float64": "double", "float16": "half", "bfloat16": "bfloat"}


def element_defines(dtype: DType) -> tuple[tuple[str, str], ...]:
    """Returns the definitions for kernels that move, add or multiply elements of `dtype`."""
    return (("T", (_WRAPPING | _FLOATS)[dtype.name]),)


def signed_defines(dtype: DType) -> tuple[tuple[str, str], ...]:
    """Returns the definitions for kernels that compare elements of `dtype`, where the sign of an integer matters."""
    return (("T", _FLOATS.get(dtype.name, dtype.cl)),)
