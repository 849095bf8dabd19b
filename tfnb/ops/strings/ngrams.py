"""N-grams of the strings of ragged rows.

A row is the part of a vector between two limits. Invariant: the limits of the result are those of its rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, OpDef
from tfnb.ir.record import record
from tfnb.ir.tensor import Tensor
from tfnb.types import INDEX, Shape

__all__ = ["OPS", "STRING_NGRAMS"]


@record
class NGramAttrs:
    """`separator`: between the strings of an n-gram; `ngram_widths`: the numbers of strings; `left_pad`, `right_pad`:
    strings that stand before and after a row, `pad_width` times (-1: as often as fits); `preserve_short_sequences`: a
    row that is too short for any n-gram is one."""

    separator: str | bytes
    ngram_widths: Sequence[int]
    left_pad: str | bytes
    right_pad: str | bytes
    pad_width: int
    preserve_short_sequences: bool

    def __post_init__(self) -> None:
        for name in ("separator", "left_pad", "right_pad"):
            value = getattr(self, name)
            object.__setattr__(self, name, value.encode() if isinstance(value, str) else bytes(value))
        widths = tuple(int(n) for n in self.ngram_widths)
        if any(n < 1 for n in widths):
            raise InvalidArgumentError(f"ngram_widths must contain values >= 1, got {list(widths)}")
        object.__setattr__(self, "ngram_widths", widths)


def _of_width(a: Any, row: Sequence[bytes], width: int, pad: int) -> Iterator[bytes]:
    padded = [a.left_pad] * pad + list(row) + [a.right_pad] * pad
    for first in range(len(padded) - width + 1):
        yield a.separator.join(padded[first : first + width])


def _of_row(a: NGramAttrs, row: Sequence[bytes]) -> list[bytes]:
    found: list[bytes] = []
    for width in a.ngram_widths:
        pad = width - 1 if a.pad_width < 0 else min(a.pad_width, width - 1)
        found += _of_width(a, row, width, pad)
    if not found and row and a.preserve_short_sequences:
        pad = max(a.pad_width, 0)
        found += _of_width(a, row, len(row) + 2 * pad, pad)
    return found


def _host(call: HostCall, data: np.ndarray, splits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    limits = [int(n) for n in splits]
    if limits and (limits[0] != 0 or limits[-1] != data.size or sorted(limits) != limits):
        raise InvalidArgumentError(f"StringNGrams: {limits[:20]} do not divide {data.size} strings", call.op)
    if not data.size:  # an empty row has n-grams of padding alone only beside rows with strings
        return np.empty(0, object), np.zeros_like(splits)
    rows = [_of_row(call.attrs, list(data[a:b])) for a, b in zip(limits, limits[1:], strict=False)]
    flat = np.empty(sum(map(len, rows)), object)
    flat[:] = [text for row in rows for text in row]
    ends = np.cumsum([0, *(len(row) for row in rows)]) if limits else np.zeros(0)
    return flat, ends.astype(splits.dtype)


STRING_NGRAMS: OpDef[tuple[Tensor, Tensor]] = OpDef(
    "StringNGrams",
    "data: string, data_splits: Tsplits",
    "ngrams: string, ngrams_splits: Tsplits",
    """All n-grams of the strings of each row, joined, for each width.

    data: a vector of strings. data_splits: the limits of its rows, ascending from 0 to its length. ngrams: a vector;
    ngrams_splits: the limits of its rows. Without strings in any row there are no n-grams. Errors: the limits do not
    divide data. Runs on the host.""",
    types={"Tsplits": INDEX},
    attrs=NGramAttrs,
    infer=lambda c: (Shape((None,)), c.shapes[1]),
    host=_host,
    grad=NOT_DIFFERENTIABLE,
    dynamic=True,
)

OPS: tuple[OpDef, ...] = (STRING_NGRAMS,)
