"""How library kernels see element types: the `-DT=...` that goes with a dtype (`kernels_cl/lib/element.clh`).

Invariant: kernels compute 16-bit floats in float32; sums of integers wrap, so one unsigned type serves both
signs.
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
    """For kernels that move, add or multiply elements."""
    return (("T", (_WRAPPING | _FLOATS)[dtype.name]),)


def signed_defines(dtype: DType) -> tuple[tuple[str, str], ...]:
    """For kernels that compare elements."""
    return (("T", _FLOATS.get(dtype.name, dtype.cl)),)
