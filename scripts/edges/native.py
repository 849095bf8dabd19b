"""The comparison of results of float32 and float64 with exact ones in C (reference.c), compiled where there is a gcc.

All 2^32 patterns of a float take minutes so, and hours with NumPy, which remains the way without a gcc and of the types
of 16 bits. Invariant: the figures are those of measure.py (tests/strangers/test_edges.py compares).
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from measure import Format, Found, compare, wanted

__all__ = ["Comparison", "native"]

SOURCE = Path(__file__).with_name("reference.c")
_TYPES = {"float32": ("float", "uint32_t", "double"), "float64": ("double", "uint64_t", "long double")}
Reference = Callable[[list[np.ndarray]], np.ndarray]


class _Fault(ctypes.Structure):
    _fields_ = (("count", ctypes.c_uint64), ("at", ctypes.c_uint64 * 2))


class _Found(ctypes.Structure):
    _fields_ = (
        ("worst", ctypes.c_double),
        ("worst_at", ctypes.c_uint64 * 2),
        ("count", ctypes.c_uint64),
        ("zeroed", ctypes.c_uint64),
        ("kept", ctypes.c_uint64),
        ("lost", _Fault),
        ("made", _Fault),
        ("sign", _Fault),
    )


@cache
def native(form: Format) -> Any:
    """Returns the compiled functions for results of this format, or None without a compiler."""
    compiler = shutil.which("gcc")
    if compiler is None or form.name not in _TYPES:
        return None
    narrow, word, wide = _TYPES[form.name]
    defined = {"NARROW": narrow, "WORD": word, "WIDE": wide}
    defined |= {"DIGITS": str(form.digits), "LEAST": f"({form.least})", "MOST": str(form.most)}
    options = ["-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-shared", "-fPIC"]
    with tempfile.TemporaryDirectory() as folder:
        made = f"{folder}/reference.so"
        command = [compiler, *options, *(f"-D{k}={v}" for k, v in defined.items()), "-o", made, str(SOURCE), "-lm"]
        if subprocess.run(command, check=False).returncode:
            return None
        library = ctypes.CDLL(made)
    library.widen.restype = ctypes.c_size_t
    return library


def _at(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


class Comparison:
    """What is found of one function in one library, by C if it can be; `reference` is NumPy's way to exact results."""

    def __init__(self, name: str, form: Format, reference: Reference) -> None:
        self.form, self.reference, self.library = form, reference, native(form)
        self.python, self.native = Found(), _Found()
        self.wide = np.dtype(np.longdouble if form.name == "float64" else np.float64)
        self.function = getattr(self.library, f"of_{name}", None) if self.library else None

    def exact(self, operands: list[np.ndarray]) -> np.ndarray:
        """Returns the exact results of operands in the wider type."""
        if self.function is None:
            with np.errstate(all="ignore"):
                return np.ascontiguousarray(self.reference(operands), self.wide)
        found = np.empty(len(operands[0]), self.wide)
        self.function(*map(_at, (operands[0], operands[-1], found)), ctypes.c_size_t(len(found)))
        return found

    def add(self, bits: list[np.ndarray], results: list[np.ndarray], others: list[Comparison]) -> None:
        """Adds the results of this library, and of others with comparisons of their own, on operands of these bits."""
        every = [self, *others]
        if self.library is None:
            want = wanted(bits, self.form, self.reference)
            for comparison, got in zip(every, results, strict=True):
                compare(comparison.python, got, want)
            return
        n = ctypes.c_size_t(len(bits[0]))
        operands = [np.empty(len(bits[0]), self.wide) for _ in bits]
        flushed = [np.empty(len(bits[0]), self.wide) for _ in bits]
        below = [self.library.widen(_at(b), _at(x), _at(z), n) for b, x, z in zip(bits, operands, flushed, strict=True)]
        want, zeroed = self.exact(operands), None
        if any(below):
            zeroed = self.exact([z if k else x for x, z, k in zip(operands, flushed, below, strict=True)])
        for comparison, got in zip(every, results, strict=True):
            if got.dtype == np.bool_:
                got = got.astype(self.form.name)
            pointers = (_at(bits[0]), _at(bits[-1]), _at(got), _at(want), None if zeroed is None else _at(zeroed))
            self.library.compare(ctypes.byref(comparison.native), *pointers, n)

    @property
    def found(self) -> Found:
        """What was found so far, as measure.py tells it."""
        if self.library is None:
            return self.python
        told = self.native
        faults = {"NaN lost": told.lost, "NaN made": told.made, "sign of zero": told.sign}
        return Found(
            told.worst,
            tuple(told.worst_at),
            {kind: fault.count for kind, fault in faults.items() if fault.count},
            {kind: tuple(fault.at) for kind, fault in faults.items() if fault.count},
            told.zeroed,
            told.kept,
            told.count,
        )
