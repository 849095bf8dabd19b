"""Data sets that end early, leave out what has occurred, or take each element from one of several (`tf.data`).

Invariant: a pass reads no element that it does not need, and its order is that of a sequential pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.opdef import HostCall, OpDef
from tfnb.ops.dataset.definition import PredicateAttrs, dataset_op, function_of, source_of
from tfnb.ops.dataset.sources import Element, Rows, Source
from tfnb.ops.dataset.transforms import Function, Over, Steps, each

__all__ = ["API", "DIRECTED_INTERLEAVE", "OPS", "TAKE_WHILE", "UNIQUE"]


class _Whiled(Over):
    """The elements before the first one for which `predicate` is false."""

    def __init__(self, source: Source, predicate: Function) -> None:
        super().__init__(source)
        self._predicate = predicate

    def rows(self) -> Rows:
        rows = self.source.rows()

        def steps() -> Iterator[Element]:
            for element in each(rows):
                if not bool(self._predicate(*element)[0]):
                    return
                yield element

        return Steps(steps(), rows)


class _Unique(Over):
    """The elements, scalars, each at its first occurrence."""

    def rows(self) -> Rows:
        rows = self.source.rows()

        def steps() -> Iterator[Element]:
            seen: set[Any] = set()
            for element in each(rows):
                value = np.asarray(element[0]).item()
                if value not in seen:
                    seen.add(value)
                    yield element

        return Steps(steps(), rows)


class _Directed(Source):
    """The next element of the source whose number `selector` gives; a source that has ended is passed over."""

    def __init__(self, selector: Source, sources: Sequence[Source]) -> None:
        self._selector, self._sources = selector, list(sources)
        self.waits = any(s.waits for s in (selector, *sources))

    def rows(self) -> Rows:
        numbers, below = self._selector.rows(), [s.rows() for s in self._sources]

        def steps() -> Iterator[Element]:
            going = set(range(len(below)))
            for (number,) in each(numbers):
                i = int(number)
                if not 0 <= i < len(below):
                    raise InvalidArgumentError(f"Selector index out of range: {i} >= {len(below)}")
                element = below[i].take(1) if i in going else []
                if not element:
                    going.discard(i)
                    if not going:
                        return
                yield from element

        return Steps(steps(), numbers, *below)


def _take_while(call: HostCall, source: np.ndarray, *captured: np.ndarray) -> Source:
    return _Whiled(source_of(source, call), function_of(call, call.attrs.predicate, captured))


TAKE_WHILE = dataset_op(
    "ExperimentalTakeWhileDataset",
    "input_dataset: variant, other_arguments: [Targuments]",
    _take_while,
    "The elements before the first one for which a function returns false.",
    PredicateAttrs,
)
UNIQUE = dataset_op(
    "ExperimentalUniqueDataset",
    "input_dataset: variant",
    lambda call, source: _Unique(source_of(source, call)),
    "The elements, scalars of integers or strings, each at its first occurrence.",
)
DIRECTED_INTERLEAVE = dataset_op(
    "ExperimentalDirectedInterleaveDataset",
    "selector_input_dataset: variant, data_input_datasets: N*variant",
    lambda call, selector, *data: _Directed(source_of(selector, call), [source_of(d, call) for d in data]),
    "The next element of the data set whose number the selector gives, until all have ended.",
)

OPS: tuple[OpDef, ...] = (TAKE_WHILE, UNIQUE, DIRECTED_INTERLEAVE)
API: dict[str, Any] = {}
