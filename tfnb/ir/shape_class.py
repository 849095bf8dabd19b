"""Shape classes: which shapes may share a compilation (OSDI'16, section 3.3).

What the graph fixes, ranks, and the dimensions 0 and 1 are numbers in a class; all other dimensions are sizes. Each
size is a symbol of its own, unless the compilation asks whether two of them are equal and they are: then it is repeated
with one symbol for both. So dimensions that are equal by chance need no class of their own. Invariant: the class that
serves some shapes depends on these shapes alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, Protocol, TypeVar

from tfnb.size_terms import LEAST
from tfnb.size_trace import SizeTrace
from tfnb.sizes import AnySize

__all__ = ["Dims", "ServedShapes", "ShapeClass", "class_of", "with_symbols"]

Dims = Sequence[int | None]
"""A shape, some of whose dimensions are not fixed by the graph (None)."""

ClassDims = tuple[int | None, ...]
"""For each dimension its number, or None for a size."""

ShapeClass = tuple[ClassDims | None, ...]
"""The dimensions of each shape; None stands for no shape."""


class Servant(Protocol):
    """What was compiled for a class: `program` gives its program for values of the symbols, or None."""

    def program(self, values: Sequence[int]) -> Any: ...


S = TypeVar("S", bound=Servant)


def class_of(fixed: Sequence[Dims], shapes: Sequence[Sequence[int] | None]) -> tuple[ShapeClass, tuple[int, ...]]:
    """Returns the class of shapes, and the values of its sizes in the order of shapes and dimensions.

    `fixed` are the shapes as the graph knows them; a shape of another rank than that of `fixed` has no fixed dimension.
    """
    sizes: list[int] = []
    parts: list[ClassDims | None] = []
    for known, shape in zip(fixed, shapes, strict=True):
        if shape is None or shape == known:  # nothing is a size
            parts.append(shape)  # type: ignore[arg-type]
            continue
        if len(known) != len(shape):
            known = (None,) * len(shape)
        dims: list[int | None] = []
        for n, k in zip(shape, known, strict=True):
            if n < LEAST or n == k:
                dims.append(n)
            else:
                dims.append(None)
                sizes.append(n)
        parts.append(tuple(dims))
    return tuple(parts), tuple(sizes)


def with_symbols(shapes: ShapeClass, symbols: Sequence[Any]) -> list[tuple[AnySize, ...] | None]:
    """Returns the shapes of a class with its symbols, in the order of `class_of`, in place of its sizes."""
    rest: Iterator[Any] = iter(symbols)
    return [None if dims is None else tuple(next(rest) if n is None else n for n in dims) for dims in shapes]


class ServedShapes(Generic[S]):
    """What `compile_class` has compiled for the sizes of an example, and which other sizes it serves.

    `compile_class` gets a symbol for each size, and the trace to which they belong. Where it has asked whether symbols
    are equal that are equal in the example, its result is thrown away, and it is called again with one symbol for both.
    Other sizes are served if they are equal in the same places and fulfil the conditions of all these calls, because
    their own compilation would then have taken the same way from the first call on. Raises the errors of the last call.
    """

    def __init__(self, sizes: Sequence[int], compile_class: Callable[[list[AnySize], SizeTrace], S]) -> None:
        self._firsts = list(range(len(sizes)))  # for each size, the first of those with the same symbol
        self._attempts: list[tuple[list[int], Callable[[Sequence[int]], tuple[int, ...] | None]]] = []
        while True:
            trace = SizeTrace()
            used = sorted(set(self._firsts))
            symbols = {k: trace.symbol(sizes[k]) for k in used}
            try:
                self.compiled = compile_class([symbols[k] for k in self._firsts], trace)
            except Exception:
                if not trace.equal:
                    raise
            if not trace.equal:
                break
            self._attempts.append((used, trace.function(())))
            for a, b in trace.equal:
                first, other = sorted((self._firsts[used[a]], self._firsts[used[b]]))
                self._firsts = [first if k == other else k for k in self._firsts]
        self._symbols = used
        self._copies = [(k, first) for k, first in enumerate(self._firsts) if k != first]

    def program(self, sizes: Sequence[int]) -> Any:
        """Returns the program for these sizes, or None if they are not served."""
        for k, first in self._copies:
            if sizes[k] != sizes[first]:
                return None
        for symbols, holds in self._attempts:
            if holds([sizes[k] for k in symbols]) is None:
                return None
        return self.compiled.program([sizes[k] for k in self._symbols])
