"""OpenCL C names of types, constants and accesses, for one element and for vectors of `lanes`.

A bool is int 0 or 1 in scalar code and a lane mask (0 or -1) in vector code, uchar in memory; 16-bit floats are
float in registers. Invariant: vectors of every type in one kernel have the same number of lanes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from tfnb.codegen.program import DeviceFacts
from tfnb.types import DType, float32

__all__ = [
    "constant",
    "mask_like",
    "mask_type",
    "memory_type",
    "register_size",
    "register_type",
    "vector_lanes",
    "wrapped",
]


def memory_type(dtype: DType) -> str:
    """Returns the type of an element in memory."""
    return dtype.cl


def register_type(dtype: DType) -> str:
    """Returns the type of an element in a register."""
    if dtype.is_bool:
        return "int"
    return "float" if dtype.is_floating and dtype.size == 2 else dtype.cl


def vector_lanes(dtypes: Iterable[DType], facts: DeviceFacts) -> int:
    """Returns the number of lanes with which the widest of the types fills 64 bytes, or on a GPU a type of four 16."""
    if facts.kind == "gpu":
        return 4
    return 8 if any(d.size == 8 for d in dtypes) else 16


def register_size(dtype: DType) -> int:
    """Returns the bytes of an element in a register."""
    return 4 if dtype.is_bool or (dtype.is_floating and dtype.size == 2) else dtype.size


def mask_type(dtype: DType) -> str:
    """Returns the element type of masks whose lanes are as wide as those of `dtype`."""
    return {1: "char", 2: "short", 4: "int", 8: "long"}[register_size(dtype)]


def mask_like(mask: str, dtype: DType, lanes: int) -> str:
    """Returns a mask of ints, converted to lanes as wide as those of `dtype`."""
    return mask if register_size(dtype) == 4 else f"convert_{mask_type(dtype)}{lanes}({mask})"


def constant(value: bool | int | float, dtype: DType) -> str:
    """Returns C text of a constant."""
    if dtype.is_bool:
        return "1" if value else "0"
    if dtype.is_floating:
        return _float(float(value), dtype)
    n = int(value)
    suffix = {"long": "L", "ulong": "UL", "uint": "U"}.get(dtype.cl, "")
    if dtype.cl == "int" and n == -(2**31):
        return "INT_MIN"
    if dtype.cl == "long" and n == -(2**63):
        return "LONG_MIN"
    return f"({n}{suffix})" if n < 0 else f"{n}{suffix}"


def wrapped(symbol: str, args: Sequence[str], dtype: DType) -> str:
    """Returns C text of an operation on two integers that wraps at the ends of their type.

    C does not define the overflow of signed numbers, and a compiler assumes that there is none (that a square is not
    negative, for example). Small types are computed as int, in which the product of two ushorts can overflow.
    """
    unsigned = "ulong" if dtype.size == 8 else "uint"
    a, b = (f"({unsigned}){x}" for x in args)
    return f"(({dtype.cl})({a} {symbol} {b}))"


def _float(x: float, dtype: DType) -> str:
    is_single = dtype is float32 or dtype.size == 2
    cast, suffix = ("", "f") if is_single else ("(double)", "")
    if math.isnan(x):
        return f"{cast}NAN"
    if math.isinf(x):
        return f"{cast}INFINITY" if x > 0 else f"(-{cast}INFINITY)"
    text = _shortest(np.float32(x)) if is_single else repr(x)
    if "." not in text and "e" not in text:
        text += ".0"
    return f"({text}{suffix})" if text.startswith("-") else text + suffix


def _shortest(x: np.float32) -> str:
    return (
        str(np.format_float_positional(x, trim="0"))
        if 1e-4 <= abs(x) < 1e7 or x == 0
        else str(np.format_float_scientific(x, trim="0"))
    )
