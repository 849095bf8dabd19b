"""Batches through queues: `tf.train.batch` and related functions (white paper, section 4.6).

Threads fill a queue with single examples, from which whole batches are dequeued, so examples are prefetched. Invariant:
each example that enters the queue is in exactly one batch. An exception is the last partial batch, which is dropped
unless `allow_smaller_final_batch` is set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tfnb.client.control_flow.cond import cond
from tfnb.client.graph.default_graph import name_scope
from tfnb.client.graph.nest import flatten, pack
from tfnb.client.sync.queues import FIFOQueue, PaddingFIFOQueue, QueueBase, RandomShuffleQueue
from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.default import get_default_graph, graph_of
from tfnb.ir.sparse import SparseTensorValue
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.where_partition import boolean_mask
from tfnb.ops.control_flow.switch_merge import NO_OP
from tfnb.train.input.producers import add_fill_summary
from tfnb.train.input.queue_runner import QueueRunner, add_queue_runner
from tfnb.train.input.stored_sparse import restored, stored, stored_shapes
from tfnb.types import DType, Shape, ShapeLike, as_shape, bool_

__all__ = ["API", "components", "flat_tensors", "make_queue", "static_shapes"]


def components(tensors: object) -> object:
    """Returns `tensors` with every list or tuple packed into one tensor, as in other places that take a tensor."""
    if isinstance(tensors, Mapping):
        return {key: _component(value) for key, value in tensors.items()}
    if isinstance(tensors, SparseTensorValue):
        return tensors
    return [_component(value) for value in tensors] if isinstance(tensors, (list, tuple)) else tensors


def _component(value: Tensor) -> Any:
    if isinstance(value, SparseTensorValue) or not isinstance(value, (list, tuple)):
        return value
    return graph_of(flatten(value)).to_tensor(value)


def flat_tensors(tensors: object) -> list[Any]:
    """Returns the tensors of a list or dict, or one tensor, as a flat list. Raises `InvalidArgumentError` if there is
    none.
    """
    if not isinstance(tensors, (Mapping, list, tuple)):
        tensors = [tensors]
    leaves = flatten(tensors)
    if not leaves:
        raise InvalidArgumentError("Expected at least one tensor to batch, got none")
    graph = graph_of(leaves)
    return [graph.to_tensor(t) for t in leaves]


def static_shapes(
    tensor_lists: Sequence[Sequence[Any]], shapes: Sequence[Any], enqueue_many: bool, open_dims: bool
) -> list[Shape] | None:
    """Returns the static shapes of the components of one example.

    They are `shapes` if given, or else what all lists of tensors have in common. Raises `InvalidArgumentError` for an
    unknown rank, and for an unknown dimension unless `open_dims` is set.
    """
    if shapes is not None:
        return [as_shape(s) for s in shapes]
    common_shapes = []
    for column in zip(*tensor_lists, strict=True):
        dims = [t.shape.sizes for t in column]
        if any(d is None for d in dims) or len({len(d) for d in dims}) > 1:
            raise InvalidArgumentError(
                f"Cannot infer Tensor's rank: that of {column[0].name} is not known; set_shape it, or give `shapes`",
                column[0].op,
            )
        if enqueue_many:
            dims = [d[1:] for d in dims]
        common_shapes.append(Shape(tuple(d[0] if len(set(d)) == 1 else None for d in zip(*dims, strict=True))))
    if not open_dims and not all(s.is_fully_defined() for s in common_shapes):
        texts = [str(s) for s in common_shapes]
        raise InvalidArgumentError(
            f"All shapes must be fully defined, got {texts}: set_shape the tensors, give `shapes`, or use dynamic_pad"
        )
    return common_shapes


def make_queue(
    capacity: int, dtypes: Sequence[DType], shapes: Sequence[ShapeLike] | None, dynamic_pad: bool, **options: Any
) -> QueueBase:
    """Returns a first-in-first-out queue; with `dynamic_pad` the queue pads the elements of a batch. `options` are
    passed to its constructor.
    """
    kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue
    return kind(capacity, dtypes, shapes, **options)


def _check_mask(mask: Tensor, enqueue_many: bool) -> None:
    """Raises `ShapeError` unless `keep_input` is a scalar, or with `enqueue_many` a vector."""
    rank = mask.shape.ndims
    if rank is None:
        raise ShapeError("`keep_input` dimensions must be known at graph construction.", mask.op)
    if rank > 1:
        raise ShapeError(f"`keep_input` must be 0 or 1 dimensions, got shape {mask.shape}", mask.op)
    if rank == 1 and not enqueue_many:
        raise ShapeError("`keep_input` cannot be a vector when `enqueue_many=False`.", mask.op)


def _enqueue(queue: QueueBase, tensors: Sequence[Any], enqueue_many: bool, keep: TensorLike | None) -> Any:
    if keep is True:
        return queue.enqueue_many(tensors) if enqueue_many else queue.enqueue(tensors)
    mask = get_default_graph().to_tensor(keep, bool_)
    _check_mask(mask, enqueue_many)
    if enqueue_many and mask.shape.ndims == 1:
        return queue.enqueue_many([boolean_mask(t, mask) for t in tensors])
    if enqueue_many:
        return cond(mask, lambda: queue.enqueue_many(tensors), NO_OP)
    return cond(mask, lambda: queue.enqueue(tensors), NO_OP)


def _batched(
    lists: Sequence[Any],
    keep: TensorLike | None,
    batch_size: TensorLike,
    capacity: int,
    enqueue_many: bool,
    shapes: Sequence[ShapeLike] | None,
    dynamic_pad: bool,
    smaller: bool,
    shared_name: str | None,
    name: str | None,
    default: str,
    min_after: int | None = None,
    seed: int | None = None,
) -> Any:
    """Returns the batches of one or several lists of tensors, with one enqueuing thread for each list."""
    if not lists:
        raise InvalidArgumentError("Expected at least one set of tensors")
    keys = [set(tensors) if isinstance(tensors, Mapping) else None for tensors in lists]
    if any(k != keys[0] for k in keys):
        raise InvalidArgumentError(f"the dicts of tensors must have the same keys, got {keys}")
    parts = [stored(components(tensors), enqueue_many) for tensors in lists]
    lists, kinds = [p[0] for p in parts], parts[0][1]
    if any(p[1] != kinds for p in parts):
        raise InvalidArgumentError("all lists of tensors must have sparse tensors of one kind at the same places")
    flat, shapes = [flat_tensors(tensors) for tensors in lists], stored_shapes(shapes, kinds)
    dtypes = [t.dtype for t in flat[0]]
    for tensors in flat[1:]:
        if [t.dtype for t in tensors] != dtypes:
            raise InvalidArgumentError("all lists of tensors must have the same dtypes")
    with name_scope(name, default, [t for tensors in flat for t in tensors]) as scope:
        keep = True if keep is True or keep is None else keep
        shape_list = static_shapes(flat, shapes, enqueue_many, dynamic_pad)
        if min_after is None:
            queue = make_queue(capacity, dtypes, shape_list, dynamic_pad, shared_name=shared_name)
        else:
            queue = RandomShuffleQueue(
                capacity, min_after, dtypes, shapes=shape_list, seed=seed, shared_name=shared_name
            )
        ops = [_enqueue(queue, tensors, enqueue_many, keep) for tensors in flat]
        add_queue_runner(QueueRunner(queue, ops))
        fill_level = (
            f"fraction_of_{capacity}_full"
            if min_after is None
            else f"fraction_over_{min_after}_of_{capacity - min_after}_full"
        )
        add_fill_summary(queue, fill_level, capacity, min_after or 0)
        take = queue.dequeue_up_to if smaller else queue.dequeue_many
        batch_tensors = take(batch_size, name=scope)
        batch_tensors = restored(batch_tensors if isinstance(batch_tensors, list) else [batch_tensors], kinds)
        if not isinstance(lists[0], (Mapping, list, tuple)) or (
            not isinstance(lists[0], Mapping) and len(batch_tensors) == 1
        ):
            return batch_tensors[0]
        return pack(lists[0], batch_tensors)


def batch(
    tensors: object,
    batch_size: TensorLike,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Sequence[Any] | None = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batches of `batch_size` examples, through a queue that a queue runner fills; in order if `num_threads` is 1.

    tensors: one example, as a list or dict of tensors, which may be sparse; with `enqueue_many` their rows are
    examples. num_threads: the number of threads that fill the queue. capacity: of the queue. shapes: the shapes of the
    components of one example, if they are not known statically. dynamic_pad: pad components with zeros to the largest
    one of the batch. allow_smaller_final_batch: also return the examples that are left at the end. The result has the
    structure of `tensors`. Raises `InvalidArgumentError` for shapes that are not fully known.
    """
    return _batched(
        [tensors] * num_threads,
        None,
        batch_size,
        capacity,
        enqueue_many,
        shapes,
        dynamic_pad,
        allow_smaller_final_batch,
        shared_name,
        name,
        "batch",
    )


def maybe_batch(
    tensors: object,
    keep_input: TensorLike,
    batch_size: TensorLike,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Sequence[ShapeLike] | None = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns batches like `batch`, of the examples for which `keep_input`, a bool scalar (or vector with
    `enqueue_many`), is true.
    """
    return _batched(
        [tensors] * num_threads,
        keep_input,
        batch_size,
        capacity,
        enqueue_many,
        shapes,
        dynamic_pad,
        allow_smaller_final_batch,
        shared_name,
        name,
        "maybe_batch",
    )


def batch_join(
    tensors_list: Sequence[object],
    batch_size: TensorLike,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Sequence[ShapeLike] | None = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns batches like `batch`, with one enqueuing thread for each list or dict of tensors in `tensors_list`."""
    return _batched(
        list(tensors_list),
        None,
        batch_size,
        capacity,
        enqueue_many,
        shapes,
        dynamic_pad,
        allow_smaller_final_batch,
        shared_name,
        name,
        "batch_join",
    )


def maybe_batch_join(
    tensors_list: Sequence[object],
    keep_input: TensorLike,
    batch_size: TensorLike,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Sequence[ShapeLike] | None = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns batches like `batch_join`, of the examples for which `keep_input` is true.

    tensors_list and batch_size have the same meaning there.
    """
    return _batched(
        list(tensors_list),
        keep_input,
        batch_size,
        capacity,
        enqueue_many,
        shapes,
        dynamic_pad,
        allow_smaller_final_batch,
        shared_name,
        name,
        "maybe_batch_join",
    )


def shuffle_batch(
    tensors: object,
    batch_size: TensorLike,
    capacity: int,
    min_after_dequeue: int,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Sequence[ShapeLike] | None = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns batches like `batch`, with the examples in random order.

    Each is drawn from at least `min_after_dequeue` examples in the queue, until the input ends. `seed` makes the order
    repeatable.
    """
    return _batched(
        [tensors] * num_threads,
        None,
        batch_size,
        capacity,
        enqueue_many,
        shapes,
        False,
        allow_smaller_final_batch,
        shared_name,
        name,
        "shuffle_batch",
        min_after_dequeue,
        seed,
    )


def maybe_shuffle_batch(
    tensors: object,
    batch_size: TensorLike,
    capacity: int,
    min_after_dequeue: int,
    keep_input: TensorLike,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Sequence[ShapeLike] | None = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns batches like `shuffle_batch`, of the examples for which `keep_input` is true.

    tensors, batch_size, capacity and min_after_dequeue have the same meaning there.
    """
    return _batched(
        [tensors] * num_threads,
        keep_input,
        batch_size,
        capacity,
        enqueue_many,
        shapes,
        False,
        allow_smaller_final_batch,
        shared_name,
        name,
        "maybe_shuffle_batch",
        min_after_dequeue,
        seed,
    )


def shuffle_batch_join(
    tensors_list: Sequence[object],
    batch_size: TensorLike,
    capacity: int,
    min_after_dequeue: int,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Sequence[ShapeLike] | None = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns batches like `shuffle_batch`, with one enqueuing thread for each list or dict of tensors in
    `tensors_list`.
    """
    return _batched(
        list(tensors_list),
        None,
        batch_size,
        capacity,
        enqueue_many,
        shapes,
        False,
        allow_smaller_final_batch,
        shared_name,
        name,
        "shuffle_batch_join",
        min_after_dequeue,
        seed,
    )


def maybe_shuffle_batch_join(
    tensors_list: Sequence[object],
    batch_size: TensorLike,
    capacity: int,
    min_after_dequeue: int,
    keep_input: TensorLike,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Sequence[ShapeLike] | None = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns batches like `shuffle_batch_join`, of the examples for which `keep_input` is true.

    tensors_list, batch_size, capacity and min_after_dequeue have the same meaning there.
    """
    return _batched(
        list(tensors_list),
        keep_input,
        batch_size,
        capacity,
        enqueue_many,
        shapes,
        False,
        allow_smaller_final_batch,
        shared_name,
        name,
        "maybe_shuffle_batch_join",
        min_after_dequeue,
        seed,
    )


_FUNCTIONS = (
    batch,
    maybe_batch,
    batch_join,
    maybe_batch_join,
    shuffle_batch,
    maybe_shuffle_batch,
    shuffle_batch_join,
    maybe_shuffle_batch_join,
)
API: dict[str, Any] = {f"train.{f.__name__}": f for f in _FUNCTIONS}
