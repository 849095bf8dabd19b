"""Shape classes: which shapes may share a compilation (OSDI'16, section 3.3).

The class of some shapes keeps what the graph fixes, ranks, the dimensions 0 and 1, and which dimensions are equal. All
other dimensions are symbols. Invariant: the class of some shapes depends on these shapes alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfnb.size_terms import LEAST
from tfnb.sizes import AnySize

__all__ = ["Dims", "ShapeClass", "class_of", "with_symbols"]

Dims = Sequence[int | None]
"""A shape, some of whose dimensions are not fixed by the graph (None)."""

ClassDims = tuple[int | str, ...]
"""For each dimension the number itself, or the name of its symbol: s0, s1 and so on."""

ShapeClass = tuple[ClassDims | None, ...]
"""The dimensions of each shape; None stands for no shape."""


def class_of(fixed: Sequence[Dims], shapes: Sequence[Sequence[int] | None]) -> tuple[ShapeClass, tuple[int, ...]]:
    """Returns the class of shapes, and the values of its symbols.

    `fixed` are the shapes as the graph knows them; a shape of another rank than that of `fixed` has no fixed dimension.
    """
    names: dict[int, str] = {}
    parts: list[ClassDims | None] = []
    for known, shape in zip(fixed, shapes, strict=True):
        if shape is None:
            parts.append(None)
            continue
        if len(known) != len(shape):
            known = (None,) * len(shape)
        parts.append(
            tuple(
                [
                    n if n < LEAST or n == k else names.setdefault(n, f"s{len(names)}")
                    for n, k in zip(shape, known, strict=True)
                ]
            )
        )
    return tuple(parts), tuple(names)


def with_symbols(dims: ClassDims, symbols: Sequence[Any]) -> tuple[AnySize, ...]:
    """Returns a shape of a class with its symbols, in the order of `class_of`, in place of their names."""
    return tuple(symbols[int(n[1:])] if isinstance(n, str) else n for n in dims)
