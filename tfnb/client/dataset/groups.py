"""Transformations that group elements by key or length, or carry a state along (`tf.data.experimental`).

Each function returns a transformation for `Dataset.apply`. Invariant: the elements of a group keep their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfnb.client.dataset.dataset import Dataset, derive
from tfnb.client.dataset.element_spec import ElementSpec, shape_leaves, static_shape
from tfnb.client.dataset.elements import normal, parts
from tfnb.client.dataset.functions import call_with, trace
from tfnb.client.graph.nest import flatten, pack
from tfnb.errors import DTypeError, InvalidArgumentError
from tfnb.ir.default import get_default_graph
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import stack
from tfnb.ops.array.gather import gather
from tfnb.ops.array.shape_ops import IDENTITY
from tfnb.ops.dataset import transform_ops
from tfnb.ops.logging.assertions import assert_less
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import LESS
from tfnb.ops.math.reduce_functions import reduce_sum
from tfnb.types import Shape, int32, int64, scalar, variant

__all__ = ["bucket_by_sequence_length", "group_by_window", "scan"]

Transformation = Callable[[Dataset], Dataset]


def group_by_window(
    key_func: Callable[..., Any],
    reduce_func: Callable[..., Any],
    window_size: TensorLike | None = None,
    window_size_func: Callable[..., Any] | None = None,
) -> Transformation:
    """Groups elements by `key_func(element)`, an int64 scalar, and replaces each group by the elements of a data set.

    That data set is `reduce_func(key, group)`, where `group` is a data set of the elements of the group. A group is
    complete when it has `window_size` elements (or `window_size_func(key)`), and at the end. Raises
    `InvalidArgumentError` unless exactly one of the two is given, `DTypeError` when `reduce_func` returns no data set.
    """
    if (window_size is None) == (window_size_func is None):
        raise InvalidArgumentError("group_by_window: must pass either window_size or window_size_func.")
    size_func: Callable[..., Any] = window_size_func or (lambda key: window_size)

    def size_of(key: Tensor) -> Tensor:
        return _to_int64(size_func(key))

    def apply(dataset: Dataset) -> Dataset:
        spec = dataset.element_spec
        results: list[Dataset] = []

        def reduced(key: Tensor, elements: Tensor) -> Tensor:
            window_dataset = reduce_func(key, Dataset(elements, spec))
            if not isinstance(window_dataset, Dataset):
                raise DTypeError("`reduce_func` must return a Dataset object.")
            results.append(window_dataset)
            return window_dataset.variant

        key = trace(lambda *element: _to_int64(key_func(*element)), spec, normal, "key")
        reduce = trace(reduced, ElementSpec((int64, variant), (scalar, scalar)), normal, "reduce")
        size = trace(size_of, ElementSpec(int64, (scalar,)), normal, "size")
        captured = [f.captured for f in (key, reduce, size)]
        return derive(
            dataset,
            transform_ops.GROUP_BY_WINDOW,
            captured,
            results[0].element_spec,
            key_func=key.function,
            reduce_func=reduce.function,
            window_size_func=size.function,
        )

    return apply


def scan(initial_state: object, scan_func: Callable[..., Any]) -> Transformation:
    """Replaces each element by one that is computed from it and a state.

    `scan_func(state, element)` returns (next state, new element); the first state is `initial_state`, a tensor or a
    structure of tensors. Raises `DTypeError` when it returns anything else, or a state of other dtypes.
    """

    def apply(dataset: Dataset) -> Dataset:
        state = normal(initial_state)
        state_tensors = flatten(state)
        element_spec = dataset.element_spec
        types = (pack(state, [t.dtype for t in state_tensors]), element_spec.types)
        outputs: list[Any] = []

        def step(before: object, element: object) -> tuple[Any, Any]:
            returned = scan_func(before, element)
            if not isinstance(returned, tuple) or len(returned) != 2:
                raise DTypeError("`scan_func` must return a pair: the next state and an element.")
            next_state, result = normal(returned[0]), normal(returned[1])
            if [t.dtype for t in flatten(next_state)] != [t.dtype for t in state_tensors]:
                raise DTypeError("The element types for the new state must match the initial state.")
            outputs.append(result)
            return (next_state, result)

        f = trace(step, ElementSpec(types, (*(t.shape for t in state_tensors), *element_spec.shapes)), normal, "scan")
        spec = ElementSpec.of(outputs[0], [t.shape for t in parts(outputs[0])])
        inputs = [state_tensors, f.captured]
        return derive(dataset, transform_ops.SCAN, inputs, spec, f=f.function)

    return apply


def bucket_by_sequence_length(
    element_length_func: Callable[..., Any],
    bucket_boundaries: Sequence[int],
    bucket_batch_sizes: Sequence[int],
    padded_shapes: object = None,
    padding_values: object = None,
    pad_to_bucket_boundary: bool = False,
    no_padding: bool = False,
    drop_remainder: bool = False,
) -> Transformation:
    """Returns a transformation to padded batches of elements of similar length.

    `element_length_func(element)` is the length, an int32 scalar. The boundaries divide lengths into buckets: below the
    first boundary, between two, and from the last one on. A batch has elements of one bucket, as many as
    `bucket_batch_sizes` says for it, padded as by `Dataset.padded_batch` (`padded_shapes`, `padding_values`).
    With `pad_to_bucket_boundary` unknown dimensions become one less than the bucket's limit, which the last bucket
    lacks; with `no_padding` elements of a bucket are stacked as they are; `drop_remainder` leaves out batches with too
    few elements. Raises `InvalidArgumentError` unless there is one batch size more than boundaries. A step raises it
    for an element of the last bucket with `pad_to_bucket_boundary`.
    """
    if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
        raise InvalidArgumentError("len(bucket_batch_sizes) must equal len(bucket_boundaries) + 1")
    bounds = np.array(bucket_boundaries, np.int32)
    sizes = np.array(bucket_batch_sizes, np.int64)

    def key_of(*element: object) -> Tensor:
        length = cast(get_default_graph().to_tensor(call_with(element_length_func, element)), int32)
        bucket_number: Tensor = reduce_sum(cast(LESS(bounds - 1, length), int64))
        return bucket_number  # it equals the number of boundaries that the length reaches

    def batched(key: Tensor, group: Dataset) -> Dataset:
        if no_padding:
            return group.batch(gather(sizes, key), drop_remainder)
        shapes = group.output_shapes if padded_shapes is None else padded_shapes
        if not pad_to_bucket_boundary:
            return group.padded_batch(gather(sizes, key), shapes, padding_values, drop_remainder)
        message = "When pad_to_bucket_boundary=True, elements must have length < max(bucket_boundaries)."
        check = assert_less(key, np.int64(len(bucket_boundaries)), message=message)
        with get_default_graph().control_dependencies([check]):
            longest = IDENTITY(gather(np.array(bucket_boundaries, np.int64) - 1, key))
        types = group.element_spec.types
        filled = [_filled(static_shape(leaf), longest) for leaf in shape_leaves(types, shapes)]
        return group.padded_batch(gather(sizes, key), pack(types, filled), padding_values, drop_remainder)

    return group_by_window(key_of, batched, window_size_func=lambda key: gather(sizes, key))


def _filled(shape: Shape, longest: Tensor) -> Any:
    """A padded shape whose unknown dimensions are `longest`."""
    dims = shape.sizes or ()
    return stack([longest if d is None else np.int64(d) for d in dims]) if None in dims else shape


def _to_int64(value: TensorLike) -> Tensor:
    """Returns a value of any numeric dtype as an int64 tensor of the default graph."""
    result: Tensor = cast(get_default_graph().to_tensor(value), int64)
    return result
