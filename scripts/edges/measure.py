"""The error of a result against its reference, in units in the last place of the dtype.

Invariant: NaN, infinities and signs of zero are counted, not averaged away; a number below the smallest normal one may
be 0, since tfnb and TensorFlow count such numbers as zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["FORMATS", "Format", "Found", "Wanted", "compare", "summary", "wanted"]


@dataclass(frozen=True)
class Format:
    """A floating point format: its bits as an unsigned type, digits after the leading one, exponent of the least."""

    name: str
    word: type
    digits: int
    least: int
    most: int

    @property
    def tiny(self) -> float:
        """The smallest normal number."""
        return 2.0**self.least

    def values(self, bits: np.ndarray) -> np.ndarray:
        """Returns the numbers with these bits, as float64."""
        if self.name == "bfloat16":
            return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
        with np.errstate(invalid="ignore"):  # signalling NaNs become quiet, of float16 only on some processors
            found = bits.view(self.name).astype(np.float64)
        if self.name == "float16":
            found[found != found] = np.nan
        return found


FORMATS = {
    "float16": Format("float16", np.uint16, 10, -14, 16),
    "bfloat16": Format("bfloat16", np.uint16, 7, -126, 128),
    "float32": Format("float32", np.uint32, 23, -126, 128),
    "float64": Format("float64", np.uint64, 52, -1022, 1024),
}


@dataclass
class Found:
    """What was found over all blocks so far. `at` maps a kind of fault to the first operands that showed it."""

    worst: float = 0.0
    worst_at: tuple[int, ...] = ()
    faults: dict[str, int] = field(default_factory=dict)
    at: dict[str, tuple[int, ...]] = field(default_factory=dict)
    zeroed: int = 0  # subnormal operands that gave what zero gives, and not what they give
    kept: int = 0
    count: int = 0

    def note(self, kind: str, where: np.ndarray, bits: list[np.ndarray]) -> None:
        """Counts the elements at which `where` is true as faults of this kind."""
        n = int(np.count_nonzero(where))
        if n:
            self.faults[kind] = self.faults.get(kind, 0) + n
            self.at.setdefault(kind, tuple(int(b[np.argmax(where)]) for b in bits))


def units(want: np.ndarray, form: Format) -> np.ndarray:
    """Returns the distance of neighbours in the format around each number; below normal numbers, that of the least."""
    _, exponent = np.frexp(want)
    exponent = np.where(want == 0, form.least, exponent - 1)
    return np.ldexp(np.ones(1, want.dtype), np.maximum(exponent, form.least) - form.digits)


def _per_unit(want: np.ndarray, form: Format) -> np.ndarray:
    """Returns 1 over `units`, of float64 by the bits of the exponent."""
    if want.dtype != np.float64 or form.most >= 1024:
        return 1 / units(want, form)
    exponents = (want.view(np.int64) >> 52) & 0x7FF
    np.maximum(exponents, form.least + 1023, out=exponents)
    return ((2046 + form.digits - exponents) << 52).view(np.float64)


def _top(kind: np.dtype, form: Format) -> Any:
    """The power of two above the largest number of the format, or the largest number if the wider type has no more."""
    if kind == np.float64 and form.most >= 1024:
        return np.finfo(np.float64).max
    return np.ldexp(np.ones((), kind), form.most)


def errors(got: np.ndarray, want: np.ndarray, form: Format) -> np.ndarray:
    """Returns the errors in units in the last place; NaN where one of the two is NaN.

    Where the nearest number is infinite, infinity has no error. A result below the smallest normal number may be 0.
    """
    top = _top(want.dtype, form)
    near = np.clip(want, -top, top)
    error = np.abs(np.clip(got, -top, top) - near) / units(near, form)
    rounds = np.abs(want) >= top * (1 - 2.0 ** -(form.digits + 2))
    error[rounds & np.isinf(got) & (np.sign(got) == np.sign(want))] = 0
    error[(np.abs(want) < form.tiny) & (got == 0)] = 0
    return error


@dataclass
class Wanted:
    """The exact results of a part of a block, and what comparing needs of them.

    `values` are in a wider type. `special` are the places of elements with a subnormal operand, and `zeroed` the
    results there with zeros in place of subnormal operands: either is right.
    """

    bits: list[np.ndarray]
    values: np.ndarray
    special: np.ndarray
    zeroed: np.ndarray
    form: Format

    def __post_init__(self) -> None:
        form, want = self.form, self.values
        with np.errstate(all="ignore"):
            self.nan = np.isnan(want)
            self.has_nan = bool(self.nan.any())
            self.top = _top(want.dtype, form)
            self.near = np.clip(want, -self.top, self.top)
            if self.has_nan:
                self.near[self.nan] = 0
            self.scale = _per_unit(self.near, form)
            size = np.abs(self.near)
            self.tiny = size < form.tiny
            self.has_tiny = bool(self.tiny.any())
            self.zero = np.flatnonzero((want == 0) & self._ordinary()) if self.has_tiny else np.zeros(0, np.int64)

    def _ordinary(self) -> np.ndarray:
        found = np.ones(len(self.values), bool)
        found[self.special] = False
        return found

    def part(self, where: np.ndarray | slice) -> tuple[list[np.ndarray], np.ndarray]:
        """Returns the operands and the results at these places."""
        return [b[where] for b in self.bits], self.values[where]


def wanted(bits: list[np.ndarray], form: Format, reference: Callable[[list[np.ndarray]], np.ndarray]) -> Wanted:
    """Returns what is wanted of a function of operands with these bits; `reference` takes operands in a wider type."""
    wide = np.longdouble if form.name == "float64" else np.float64
    with np.errstate(all="ignore"):
        operands = [form.values(b).astype(wide, copy=False) for b in bits]
        subnormal = np.zeros(len(operands[0]), bool)
        for x in operands:
            subnormal |= np.abs(x) < form.tiny
        special = np.flatnonzero(subnormal)
        zeroed = np.zeros(0, wide)
        if len(special):
            parts = [x[special] for x in operands]
            keep = np.flatnonzero(np.logical_or.reduce([(x != 0) & (np.abs(x) < form.tiny) for x in parts]))
            special = special[keep]
            parts = [np.where(np.abs(x[keep]) < form.tiny, np.copysign(0, x[keep]), x[keep]) for x in parts]
            zeroed = np.asarray(reference(parts)).astype(wide)
        return Wanted(bits, np.asarray(reference(operands)).astype(wide), special, zeroed, form)


def compare(found: Found, got: np.ndarray, want: Wanted) -> None:
    """Adds the results of a part of a block to `found`: bits of the format, or bools.

    Where all is usual this takes a few passes; an element that may be a fault, or the worst one so far, is looked at
    with its neighbours once more.
    """
    form = want.form
    with np.errstate(all="ignore"):
        values = got.astype(np.float64) if got.dtype == np.bool_ else form.values(got)
        values = values.astype(want.values.dtype, copy=False)
        found.count += len(values)
        error = np.abs(np.clip(values, -want.top, want.top) - want.near)
        error *= want.scale
        if want.has_tiny:
            error[want.tiny & (values == 0)] = 0
        lost = False
        if want.has_nan:
            lost = not np.isnan(values[want.nan]).all()
            error[want.nan] = 0
        if len(want.special):
            error[want.special] = 0
        signs = values[want.zero]
        lost |= bool(((signs == 0) & (np.signbit(signs) != np.signbit(want.values[want.zero]))).any())
        if lost or not error.max(initial=0) <= found.worst:  # NaN is not either
            usual = np.flatnonzero(want._ordinary()) if len(want.special) else slice(None)
            bits, exact = want.part(usual)
            _compare(found, bits, values[usual], exact, exact, form)
        if len(want.special):
            bits, exact = want.part(want.special)
            _compare(found, bits, values[want.special], exact, want.zeroed, form)


def _compare(
    found: Found, bits: list[np.ndarray], got: np.ndarray, want: np.ndarray, zeroed: np.ndarray, form: Format
) -> None:
    if not len(got):
        return
    error = errors(got, want, form)
    normal = np.where(np.abs(got) < form.tiny, np.copysign(0, got), got)  # what counts as zero
    other = error if zeroed is want else errors(normal, zeroed, form)
    subnormal = np.zeros(len(got), bool)
    for b in bits:
        x = form.values(b)
        subnormal |= (x != 0) & (np.abs(x) < form.tiny)
    kept = (error <= 2) | np.isnan(want) & np.isnan(got)
    as_zero = subnormal & ~kept & ((other <= 2) | np.isnan(zeroed) & np.isnan(got))
    found.zeroed += int(as_zero.sum())
    found.kept += int((subnormal & kept & (want != zeroed)).sum())
    found.note("NaN lost", np.isnan(want) & ~np.isnan(got) & ~as_zero, bits)
    found.note("NaN made", np.isnan(got) & ~np.isnan(want) & ~as_zero, bits)
    both_zero = (got == 0) & (want == 0) & ~subnormal
    found.note("sign of zero", both_zero & (np.signbit(got) != np.signbit(want)), bits)
    error = np.where(as_zero | subnormal & (other < error), other, error)
    error = np.where(np.isnan(error), 0, error)
    k = int(np.argmax(error))
    if error[k] > found.worst:
        found.worst, found.worst_at = float(error[k]), tuple(int(b[k]) for b in bits)


def summary(found: Found, form: Format) -> str:
    """Returns what was found as a line of text."""

    def told(operands: tuple[int, ...]) -> str:
        return ", ".join(f"{b:#x} = {form.values(np.array([b], form.word))[0]:.9g}" for b in operands)

    faults = "".join(f"; {kind} {n} times, first at {told(found.at[kind])}" for kind, n in found.faults.items())
    return f"{found.worst:.3g} ulp at {told(found.worst_at)}{faults}; {found.zeroed} as zero, {found.kept} kept"
