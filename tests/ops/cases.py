"""Test cases of the catalogue as data: op, inputs, attributes.

Every family has a file `*/cases_*.py` with a tuple `CASES`; adding an op means adding its cases to one of them. A
case is run by the catalogue tests (host, shapes, gradients, OpenCL) and by the oracle suite (real TensorFlow),
so inputs and attributes carry TensorFlow's names and order.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["SPECIAL", "Case", "all_cases", "arr", "ints", "op_cases"]

_seeds = itertools.count(1)

SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e30, -1e-30], np.float32)


@dataclass(frozen=True, eq=False)
class Case:
    """One call of an op.

    inputs: an array per input argument, a list of arrays for "N*T". attrs: attributes, and type variables that
    no input fixes. grad: differentiate numerically (only float inputs are); oracle: compare with TensorFlow;
    device: compare OpenCL with the host; float32_only: the op takes no float64. rtol, atol: for float32; shapes
    and dtypes are always compared.
    """

    op: str
    inputs: tuple[Any, ...]
    attrs: dict[str, Any] = field(default_factory=dict)
    note: str = ""
    grad: bool = True
    oracle: bool = True
    device: bool = True
    float32_only: bool = False
    rtol: float = 1e-5
    atol: float = 1e-6

    @property
    def id(self) -> str:
        shapes = "_".join(_shape_text(x) for x in self.inputs)
        attrs = "_".join(f"{k}={v}" for k, v in self.attrs.items() if not isinstance(v, np.ndarray))
        return "-".join(part for part in (self.op, shapes, attrs, self.note) if part).replace(" ", "")

    def widened(self) -> Case:
        """The case with float64 for float32."""
        attrs = {k: "float64" if v == "float32" else v for k, v in self.attrs.items()}
        return replace(self, inputs=tuple(_wide(x) for x in self.inputs), attrs=attrs)

    def arrays(self) -> list[np.ndarray]:
        """All inputs, flat."""
        return [np.asarray(y) for x in self.inputs for y in (x if isinstance(x, list) else [x])]

    def both_floats(self) -> list[Case]:
        """The case, and with float64 for float32 where it has that."""
        wide = any(x.dtype == np.float32 for x in self.arrays()) and not self.float32_only
        return [self, self.widened()] if wide else [self]


def _shape_text(x: Any) -> str:
    if isinstance(x, list):
        return f"[{','.join(_shape_text(y) for y in x)}]"
    a = np.asarray(x)
    short = "f32" if a.dtype == np.float32 else a.dtype.name if a.dtype != object else "str"
    return f"{short}{'x'.join(map(str, a.shape)) or 'scalar'}"


def _wide(x: Any) -> Any:
    if isinstance(x, list):
        return [_wide(y) for y in x]
    a = np.asarray(x)
    return a.astype(np.float64) if a.dtype == np.float32 else a


def arr(*shape: int, lo: float = -2.0, hi: float = 2.0, dtype: Any = np.float32) -> np.ndarray:
    """Random numbers, the same in every run."""
    return np.random.default_rng(next(_seeds)).uniform(lo, hi, shape).astype(dtype)


def ints(*shape: int, lo: int = -9, hi: int = 10, dtype: Any = np.int32) -> np.ndarray:
    """Random integers in [lo, hi), the same in every run."""
    return np.random.default_rng(next(_seeds)).integers(lo, hi, shape).astype(dtype)


def all_cases() -> Iterator[Case]:
    """The cases of all families."""
    for path in sorted(Path(__file__).parent.rglob("cases_*.py"), key=lambda path: path.name):
        yield from importlib.import_module(path.stem).CASES


def op_cases() -> dict[str, list[Case]]:
    """Op name -> its cases."""
    found: dict[str, list[Case]] = {}
    for case in all_cases():
        found.setdefault(case.op, []).append(case)
    return found
