"""Cases of elementwise arithmetic."""

from __future__ import annotations

import numpy as np
from cases import SPECIAL, Case, arr, ints

_F16 = np.array([1.5, -2.25, 0.375, 6.0], np.float16)


def _unary(op: str, lo: float = -2.0, hi: float = 2.0, special: bool = True, rtol: float = 1e-5) -> list[Case]:
    shapes = [(), (7,), (0, 3), (1,), (3, 5)]
    found = [Case(op, (arr(*s, lo=lo, hi=hi),), rtol=rtol, atol=1e-6) for s in shapes]
    if special:
        found.append(Case(op, (SPECIAL,), note="special", grad=False, rtol=1e-4))
    return found


_UNARY = [
    *_unary("Abs"),
    *_unary("Neg"),
    *_unary("Sign"),
    *_unary("Square"),
    *_unary("Exp"),
    *_unary("Expm1"),
    *_unary("Sin"),
    *_unary("Cos"),
    *_unary("Tan", -1.2, 1.2),
    *_unary("Asin", -0.9, 0.9),
    *_unary("Acos", -0.9, 0.9),
    *_unary("Atan"),
    *_unary("Sinh"),
    *_unary("Cosh"),
    *_unary("Asinh"),
    *_unary("Acosh", 1.1, 3.0),
    *_unary("Atanh", -0.9, 0.9),
    *_unary("Tanh"),
    *_unary("Sigmoid"),
    *_unary("Erf", special=False),
    Case("Erf", (SPECIAL,), note="special", grad=False, oracle=False),
    *_unary("Erfc", rtol=1e-4),
    *_unary("Reciprocal", 0.3, 2.0),
    *_unary("Inv", -2.0, -0.3),
    *_unary("Sqrt", 0.2, 4.0),
    *_unary("Rsqrt", 0.2, 4.0),
    *_unary("Log", 0.2, 4.0),
    *_unary("Log1p", -0.5, 4.0),
    *_unary("Lgamma", 0.3, 5.0, special=False, rtol=1e-4),
    *_unary("Digamma", 0.3, 5.0, special=False, rtol=1e-4),
    *_unary("Floor"),
    *_unary("Ceil"),
    *_unary("Rint"),
    *_unary("Round"),
    *_unary("IsNan"),
    *_unary("IsInf"),
    *_unary("IsFinite"),
    Case(
        "Lgamma",
        (np.array([np.nan, np.inf, 0.5, 1.0, 2.0, -0.5, -1.5, 100.0], np.float32),),
        note="special",
        grad=False,
        rtol=1e-4,
    ),
    Case(
        "Digamma",
        (np.array([np.nan, 0.5, 1.0, 2.0, -0.5, -1.5, 100.0], np.float32),),
        note="special",
        grad=False,
        rtol=1e-4,
    ),
    Case("Rint", (np.array([0.5, 1.5, 2.5, -0.5, -1.5, 3.49], np.float32),), note="halves"),
    Case("Round", (np.array([0.5, 1.5, 2.5, -0.5, -1.5, 3.49], np.float32),), note="halves"),
    Case("Round", (ints(5),), oracle=False),
    Case("Tanh", (arr(6, lo=-30, hi=30),), note="wide"),
    Case("Sigmoid", (arr(9, lo=-100, hi=100),), note="wide"),
    Case("Erf", (arr(8, lo=-6, hi=6),), note="wide"),
    Case("Exp", (np.array([-110, -88, 0, 88, 90], np.float32),), note="wide", grad=False),
    *(Case(op, (ints(2, 3, dtype=d),)) for op in ("Abs", "Neg", "Sign", "Square") for d in (np.int32, np.int64)),
    Case("Neg", (np.array([1, 200], np.int64),)),
    Case("Square", (np.array([70000, -3], np.int32),), note="overflow"),
    Case("Abs", (np.array([-128, 5], np.int8),), note="overflow", oracle=False),
    *(Case(op, (_F16,), grad=False, rtol=2e-3, atol=1e-3) for op in ("Abs", "Square", "Tanh", "Exp", "Sigmoid")),
]

_GRADS = [
    Case(op, (arr(3, 5, lo=0.2, hi=0.9), arr(3, 5)))
    for op in ("ReciprocalGrad", "InvGrad", "SqrtGrad", "RsqrtGrad", "TanhGrad", "SigmoidGrad")
]

_PAIRS = [
    ((3, 4), (3, 4)),
    ((3, 4), (4,)),
    ((2, 1, 3), (1, 4, 1)),
    ((), (5,)),
    ((0, 3), (1, 3)),
    ((1,), (1,)),
    ((7,), ()),
]


def _binary(
    op: str,
    lo: float = -2.0,
    hi: float = 2.0,
    lo2: float | None = None,
    hi2: float | None = None,
    special: bool = True,
) -> list[Case]:
    lo2, hi2 = lo if lo2 is None else lo2, hi if hi2 is None else hi2
    found = [Case(op, (arr(*a, lo=lo, hi=hi), arr(*b, lo=lo2, hi=hi2))) for a, b in _PAIRS]
    if special:
        found.append(Case(op, (SPECIAL[:, None], SPECIAL[None, :]), note="special", grad=False, rtol=1e-4))
    return found


_INT_PAIR = (
    np.array([[7], [-7], [5], [0], [-2147483648]], np.int32),
    np.array([[2, -2, 3, 7, 1]], np.int32),
)
_WIDE_PAIR = (np.array([7, -7, 1 << 40, -(1 << 62)], np.int64), np.array([2, 2, -3, 7], np.int64))
_BYTES = (np.array([200, 7, 255], np.uint8), np.array([100, 2, 3], np.uint8))
_INT_OPS = (
    "Add",
    "Sub",
    "Mul",
    "Div",
    "TruncateDiv",
    "FloorDiv",
    "FloorMod",
    "TruncateMod",
    "Mod",
    "Maximum",
    "Minimum",
    "SquaredDifference",
)
_BYTE_OPS = ("Mul", "Div", "TruncateDiv", "FloorDiv")

_BINARY = [
    *_binary("Add"),
    *_binary("Sub"),
    *_binary("Mul"),
    *_binary("Div", lo2=0.5),
    *_binary("RealDiv", lo2=0.5),
    *_binary("FloorDiv", lo2=0.5),
    *_binary("FloorMod", lo2=0.55, hi2=0.95, special=False),
    *_binary("TruncateMod", lo2=0.55, hi2=0.95, special=False),
    *_binary("Mod", lo2=0.55, hi2=0.95, special=False),
    *_binary("DivNoNan", lo2=0.5, special=False),
    *_binary("Pow", lo=0.3, hi=2.0, special=False),
    *_binary("Maximum"),
    *_binary("Minimum"),
    *_binary("SquaredDifference"),
    *_binary("Atan2"),
    *(Case(op, _INT_PAIR) for op in _INT_OPS),
    *(Case(op, _WIDE_PAIR) for op in _INT_OPS),
    *(Case(op, _BYTES) for op in _BYTE_OPS),
    *(
        Case(
            op,
            (
                np.array([5.5, -5.5, 5.5, -5.5, 0, 6], np.float32),
                np.array([2, 2, -2, -2, 3, 3], np.float32),
            ),
            note="signs",
            grad=False,
        )
        for op in ("FloorMod", "TruncateMod", "Mod", "FloorDiv")
    ),
    Case(
        "Pow",
        (
            np.array([-2.0, -2.0, 0.0, 0.0, 2.0, np.inf], np.float32),
            np.array([2, 3, 0, 2, -1, 0], np.float32),
        ),
        note="signs",
        grad=False,
    ),
    Case("Pow", (np.array([2, -3, 7, 1, -1, 0], np.int32), np.array([10, 3, 0, 5, 3, 2], np.int32))),
    Case(
        "DivNoNan",
        (np.array([1, 0, -2], np.float32), np.array([0, 0, 4], np.float32)),
        note="zeros",
        grad=False,
    ),
    Case(
        "Maximum",
        (np.array([1, 2, 3], np.float32), np.array([1, 5, -3], np.float32)),
        note="ties",
        grad=False,
    ),
    Case("TruncateDiv", (ints(3, 4), ints(4, lo=1))),
    Case(
        "FloorDiv",
        (np.array([1, 5], np.int32), np.array([0, 2], np.int32)),
        note="by_zero",
        oracle=False,
    ),
    Case(
        "FloorMod",
        (np.array([1, 5], np.int32), np.array([0, 2], np.int32)),
        note="by_zero",
        oracle=False,
    ),
    Case(
        "Div",
        (np.array([1, 5], np.int32), np.array([0, 2], np.int32)),
        note="by_zero",
        oracle=False,
    ),
    Case("Zeta", (arr(4, lo=1.5, hi=4.0), arr(3, 4, lo=0.5, hi=4.0)), grad=False),
    Case(
        "Polygamma",
        (np.array([[1.0], [2.0], [0.0]], np.float32), arr(3, 4, lo=0.5, hi=4.0)),
        grad=False,
        rtol=1e-4,
    ),
    Case("AddN", ([arr(3, 4), arr(3, 4), arr(3, 4)],)),
    Case("AddN", ([arr(5)],)),
    Case("AddN", ([ints(2), ints(2)],)),
    Case("AddN", ([arr(0), arr(0)],)),
]

CASES: tuple[Case, ...] = (*_UNARY, *_GRADS, *_BINARY)
