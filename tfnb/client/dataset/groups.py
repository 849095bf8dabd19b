"""Data sets by groups: by key, by length, and with a state that goes along (`tf.data.experimental`).

Each is a function for `Dataset.apply`. Invariant: the elements of a group keep their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfnb.client.dataset.dataset import Dataset, normal
from tfnb.client.dataset.elements import parts
from tfnb.client.dataset.functions import call_with, trace
from tfnb.client.graph.nest import flatten, pack
from tfnb.errors import DTypeError, InvalidArgumentError
from tfnb.ir.default import get_default_graph
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.gather import gather
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import LESS
from tfnb.ops.math.reduce_functions import reduce_sum
from tfnb.types import as_shape, int32, int64, variant

__all__ = ["bucket_by_sequence_length", "group_by_window", "scan"]

Transformation = Callable[[Dataset], Dataset]


def group_by_window(
    key_func: Callable[..., Any],
    reduce_func: Callable[..., Any],
    window_size: Any = None,
    window_size_func: Callable[..., Any] | None = None,
) -> Transformation:
    """Groups elements by `key_func(element)`, an int64 scalar; `reduce_func(key, data set)` of each group.

    A group is reduced when it has `window_size` elements (or `window_size_func(key)`), and at the end. Raises
    `InvalidArgumentError` unless one of the two is given.
    """
    if (window_size is None) == (window_size_func is None):
        raise InvalidArgumentError("group_by_window: must pass either window_size or window_size_func.")

    def size_of(key: Any) -> Any:
        size = window_size if window_size_func is None else window_size_func(key)
        return cast(get_default_graph().to_tensor(size), int64)

    def apply(dataset: Dataset) -> Dataset:
        types, shapes = dataset._types, dataset.flat_shapes
        made: list[Dataset] = []

        def reduced(key: Any, elements: Tensor) -> Any:
            found = reduce_func(key, Dataset(elements, types, shapes))
            if not isinstance(found, Dataset):
                raise DTypeError("`reduce_func` must return a Dataset object.")
            made.append(found)
            return found.variant

        scalar = as_shape([])
        as_key = lambda *e: cast(get_default_graph().to_tensor(key_func(*e)), int64)  # noqa: E731
        key = trace(as_key, types, flatten(types), shapes, normal, "key")
        reduce = trace(reduced, (int64, variant), [int64, variant], [scalar, scalar], normal, "reduce")
        size = trace(size_of, int64, [int64], [scalar], normal, "size")
        captured = [f.captured for f in (key, reduce, size)]
        return dataset._then(
            "GroupByWindowDataset",
            captured,
            made[0]._types,
            made[0].flat_shapes,
            key_func=key.function,
            reduce_func=reduce.function,
            window_size_func=size.function,
            n_captured=tuple(map(len, captured)),
        )

    return apply


def scan(initial_state: Any, scan_func: Callable[..., Any]) -> Transformation:
    """`scan_func(state, element)` gives (next state, an element); the elements of the new data set."""

    def apply(dataset: Dataset) -> Dataset:
        state = normal(initial_state)
        held = flatten(state)
        structure = (pack(state, [t.dtype for t in held]), dataset._types)
        outputs: list[Any] = []

        def step(before: Any, element: Any) -> Any:
            found = scan_func(before, element)
            if not isinstance(found, tuple) or len(found) != 2:
                raise DTypeError("`scan_func` must return a pair: the next state and an element.")
            following, made = normal(found[0]), normal(found[1])
            if [t.dtype for t in flatten(following)] != [t.dtype for t in held]:
                raise DTypeError("The element types for the new state must match the initial state.")
            outputs.append(made)
            return (following, made)

        f = trace(
            step,
            structure,
            [*(t.dtype for t in held), *flatten(dataset._types)],
            [*(t.shape for t in held), *dataset.flat_shapes],
            normal,
            "scan",
        )
        made = parts(outputs[0])
        return dataset._then(
            "ScanDataset", [held, f.captured], outputs[0], [t.shape for t in made], f=f.function, n_state=len(held)
        )

    return apply


def bucket_by_sequence_length(
    element_length_func: Callable[..., Any],
    bucket_boundaries: Sequence[int],
    bucket_batch_sizes: Sequence[int],
    padded_shapes: Any = None,
    padding_values: Any = None,
) -> Transformation:
    """Padded batches of elements of like length: of those below the first boundary, between two, beyond the last.

    bucket_batch_sizes: one more than boundaries. Raises `InvalidArgumentError` otherwise.
    """
    if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
        raise InvalidArgumentError("len(bucket_batch_sizes) must equal len(bucket_boundaries) + 1")
    bounds = np.array(bucket_boundaries, np.int32)
    sizes = np.array(bucket_batch_sizes, np.int64)

    def key_of(*element: Any) -> Any:
        length = cast(get_default_graph().to_tensor(call_with(element_length_func, element)), int32)
        return reduce_sum(cast(LESS(bounds - 1, length), int64))  # how many boundaries it reaches

    def batched(key: Any, group: Dataset) -> Dataset:
        shapes = group.output_shapes if padded_shapes is None else padded_shapes
        return group.padded_batch(gather(sizes, key), shapes, padding_values)

    return group_by_window(key_of, batched, window_size_func=lambda key: gather(sizes, key))
