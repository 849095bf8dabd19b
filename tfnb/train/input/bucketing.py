"""Batches of similar examples: `tf.contrib.training.bucket` (white paper, section 4.6).

Each bucket is a queue; full batches of all buckets go to one queue, with the number of their bucket. Invariant: all
examples of a batch belong to one bucket.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tfnb.client.control_flow.cond import cond
from tfnb.client.graph.default_graph import name_scope
from tfnb.client.graph.nest import pack
from tfnb.client.sync.queues import FIFOQueue, QueueBase
from tfnb.client.variables.variable import group
from tfnb.errors import CancelledError, InvalidArgumentError, OutOfRangeError
from tfnb.ir.default import get_default_graph, graph_of
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.control_flow.switch_merge import NO_OP
from tfnb.ops.math.cast import cast
from tfnb.ops.math.reduce_functions import reduce_sum
from tfnb.train.input.batching import components, flat_tensors, make_queue, static_shapes
from tfnb.train.input.producers import add_fill_summary
from tfnb.train.input.queue_runner import QueueRunner, add_queue_runner
from tfnb.train.input.stored_sparse import restored, stored, stored_shapes
from tfnb.types import Shape, ShapeLike, bool_, int32

__all__ = ["API"]


def bucket(
    tensors: object,
    which_bucket: Tensor,
    batch_size: int | Sequence[int],
    num_buckets: int,
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Sequence[int] | None = None,
    shapes: Sequence[ShapeLike] | None = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: TensorLike = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns a pair of a bucket number and a batch of examples of that bucket.

    tensors: one example. which_bucket: an int32 scalar from 0 to num_buckets - 1. batch_size: an int, or a list with
    one for each bucket. The other arguments are those of `tf.train.batch`. Raises `InvalidArgumentError` for fewer than
    2 buckets.
    """
    sizes = list(batch_size) if isinstance(batch_size, (list, tuple)) else [batch_size] * num_buckets
    capacities = list(bucket_capacities) if bucket_capacities is not None else [capacity] * num_buckets
    if num_buckets < 2:
        raise InvalidArgumentError(f"num_buckets must be >= 2, got {num_buckets}")
    if len(sizes) != num_buckets or len(capacities) != num_buckets:
        raise InvalidArgumentError(
            f"{len(sizes)} batch sizes and {len(capacities)} capacities for {num_buckets} buckets"
        )
    tensors, kinds = stored(components(tensors), False)
    flat, shapes = flat_tensors(tensors), stored_shapes(shapes, kinds)
    with name_scope(name, "bucket", flat) as scope:
        dtypes = [t.dtype for t in flat]
        element_shapes = static_shapes([flat], shapes, False, dynamic_pad)
        queues = []
        for i, queue_capacity in enumerate(capacities):
            names = {"shared_name": shared_name and f"{shared_name}_{i}", "name": f"bucket_queue_{i}"}
            queues.append(make_queue(queue_capacity, dtypes, element_shapes, dynamic_pad, **names))
        _fill(queues, flat, which_bucket, num_threads, keep_input)
        top = _join(queues, sizes, capacity, dtypes, allow_smaller_final_batch, shared_name)
        bucket_index, *batch_tensors = top.dequeue(name=scope)
        common_size = sizes[0] if len({str(s) for s in sizes}) == 1 and isinstance(sizes[0], int) else None
        first = None if allow_smaller_final_batch else common_size
        for t, s in zip(batch_tensors, element_shapes or (), strict=True):
            t.set_shape(Shape((first, *s.sizes)) if s.sizes is not None else s)
        batch_tensors = restored(batch_tensors, kinds)
        is_single = not isinstance(tensors, (Mapping, list, tuple))
        return bucket_index, batch_tensors[0] if is_single else pack(tensors, batch_tensors)


def _fill(queues: list[Any], flat: list[Any], which: Tensor, num_threads: int, keep: TensorLike) -> None:
    """Adds the operations that enqueue each example in the queue of its bucket."""
    queue = QueueBase.from_list(get_default_graph().to_tensor(which, int32), queues)

    def put() -> Any:
        if keep is True:
            return queue.enqueue(flat)
        condition = get_default_graph().to_tensor(keep, bool_)
        return cond(condition, lambda: queue.enqueue(flat), NO_OP)

    ops = [put() for _ in range(num_threads)]
    close = group(*[q.close() for q in queues])
    cancel = group(*[q.close(cancel_pending_enqueues=True) for q in queues])
    add_queue_runner(QueueRunner(queues[0], ops, close_op=close, cancel_op=cancel))


def _join(
    queues: list[Any],
    sizes: list[Any],
    capacity: int,
    dtypes: list[Any],
    smaller: bool,
    shared_name: str | None,
) -> FIFOQueue:
    """Returns the queue of full batches, which a thread for each bucket fills."""
    top = FIFOQueue(capacity, [int32, *dtypes], shared_name=shared_name, name="top_queue")
    moves = []
    for i, (q, n) in enumerate(zip(queues, sizes, strict=True)):
        batch = q.dequeue_up_to(n) if smaller else q.dequeue_many(n)
        moves.append(top.enqueue([np.int32(i), *(batch if isinstance(batch, list) else [batch])]))
    closed_errors = (OutOfRangeError, CancelledError)
    add_queue_runner(QueueRunner(top, moves, queue_closed_exception_types=closed_errors))
    for i, q in enumerate(queues):
        add_fill_summary(q, f"bucket_{i}_size", 1)
    add_fill_summary(top, f"fraction_of_{capacity}_full", capacity)
    return top


def bucket_by_sequence_length(
    input_length: Tensor,
    tensors: object,
    batch_size: int | Sequence[int],
    bucket_boundaries: Sequence[int],
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Sequence[int] | None = None,
    shapes: Sequence[ShapeLike] | None = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: TensorLike = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns a pair of lengths and a batch of sequences of similar lengths.

    input_length: the length of the example `tensors`, an int32 scalar. bucket_boundaries: increasing lengths that
    separate the buckets. The other arguments are those of `bucket`.
    """
    boundaries = list(bucket_boundaries)
    if not boundaries or any(a >= b for a, b in zip(boundaries, boundaries[1:], strict=False)):
        raise InvalidArgumentError(f"bucket_boundaries must increase, got {boundaries}")
    tensors, kinds = stored(components(tensors), False)
    flat, shapes = flat_tensors(tensors), stored_shapes(shapes, kinds)
    with name_scope(name, "bucket_by_sequence_length", [input_length, *flat]) as scope:
        length = graph_of([input_length]).to_tensor(input_length, int32)
        bucket_index = reduce_sum(cast(length >= np.array(boundaries, length.dtype.np), int32))
        if shapes is not None:
            shapes = [(), *shapes]
        _, (lengths, *batch_tensors) = bucket(
            [length, *flat],
            bucket_index,
            batch_size,
            len(boundaries) + 1,
            num_threads,
            capacity,
            bucket_capacities,
            shapes,
            dynamic_pad,
            allow_smaller_final_batch,
            keep_input,
            shared_name,
            scope,
        )
        batch_tensors = restored(batch_tensors, kinds)
        is_single = not isinstance(tensors, (Mapping, list, tuple))
        return lengths, batch_tensors[0] if is_single else pack(tensors, batch_tensors)


API: dict[str, Any] = {
    "contrib.training.bucket": bucket,
    "contrib.training.bucket_by_sequence_length": bucket_by_sequence_length,
}
