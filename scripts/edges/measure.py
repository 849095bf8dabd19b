"""The error of a result against its reference, in units in the last place of the dtype.

Invariant: NaN, infinities and signs of zero are counted, not averaged away; a number below the smallest normal one may
be 0, since tfnb and TensorFlow count such numbers as zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

__all__ = ["FORMATS", "Format", "Found", "compare", "summary"]


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
        with np.errstate(invalid="ignore"):  # a signalling NaN becomes a quiet one
            return bits.view(self.name).astype(np.float64)


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
    return np.ldexp(np.ones(1, want.dtype), np.maximum(exponent - 1, form.least) - form.digits)


def errors(got: np.ndarray, want: np.ndarray, form: Format) -> np.ndarray:
    """Returns the errors in units in the last place; NaN where one of the two is NaN.

    Where the nearest number is infinite, infinity has no error. A result below the smallest normal number may be 0.
    """
    top = (
        np.ldexp(np.ones((), want.dtype), form.most)
        if want.dtype != np.float64 or form.most < 1024
        else np.finfo(np.float64).max
    )
    near = np.clip(want, -top, top)
    error = np.abs(np.clip(got, -top, top) - near) / units(near, form)
    rounds = np.abs(want) >= top * (1 - 2.0 ** -(form.digits + 2))
    error[rounds & np.isinf(got) & (np.sign(got) == np.sign(want))] = 0
    error[(np.abs(want) < form.tiny) & (got == 0)] = 0
    return error


def compare(
    found: Found, bits: list[np.ndarray], got: np.ndarray, want: np.ndarray, zeroed: np.ndarray, form: Format
) -> None:
    """Adds the elements of a block to `found`.

    `want` are the exact results in a wider type, `zeroed` those of operands in which subnormal numbers are zeros:
    either is right for such an operand.
    """
    with np.errstate(all="ignore"):
        _compare(found, bits, got, want, zeroed, form)


def _compare(
    found: Found, bits: list[np.ndarray], got: np.ndarray, want: np.ndarray, zeroed: np.ndarray, form: Format
) -> None:
    found.count += len(got)
    error, other = errors(got, want, form), errors(got, zeroed, form)
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
