"""Producers: queues of the elements of a tensor, or of numbers, for several epochs (white paper, section 4.6).

A producer consists of a queue, an operation that fills it, and a queue runner in a collection of the graph. Invariant:
without `num_epochs` a producer never ends; with it the queue is closed after that number of epochs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.graph.default_graph import name_scope
from tfnb.client.logging import summaries
from tfnb.client.sync.queues import FIFOQueue, QueueBase
from tfnb.client.variables.variable import Variable
from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.default import get_default_graph, graph_of
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import range_
from tfnb.ops.array.gather import gather
from tfnb.ops.array.shape_ops import IDENTITY, shape_of
from tfnb.ops.logging.print_assert import assert_that
from tfnb.ops.math.cast import cast
from tfnb.ops.random.functions import random_shuffle
from tfnb.ops.state.variables import count_up_to
from tfnb.train.input.queue_runner import QueueRunner, add_queue_runner
from tfnb.types import ShapeLike, float32, int32, string

__all__ = ["API", "add_fill_summary", "input_producer", "limit_epochs"]


def add_fill_summary(queue: QueueBase, name: str, capacity: int, after: int = 0) -> None:
    """Adds a scalar summary of the fraction to which a queue is filled.

    Only elements beyond the first `after` count, relative to `capacity - after`.
    """
    level = cast(queue.size() - after if after else queue.size(), float32)
    if after:
        level = (level + abs(level)) * 0.5
    summaries.scalar(name, level * (1.0 / (capacity - after)))


def limit_epochs(tensor: TensorLike, num_epochs: int | None = None, name: str | None = None) -> Any:
    """Returns `tensor`, for `num_epochs` steps; every later step raises `OutOfRangeError`. None means without end.

    The steps are counted in a local variable called `epochs` (see `tf.local_variables_initializer`).
    """
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise InvalidArgumentError(f"num_epochs must be > 0 not {num_epochs}")
    with name_scope(name, "limit_epochs", [tensor]) as scope:
        epochs = Variable(np.int64(0), name="epochs", trainable=False, collections=[GraphKeys.LOCAL_VARIABLES])
        counter = count_up_to(epochs, num_epochs)
        with get_default_graph().control_dependencies([counter]):
            return IDENTITY(get_default_graph().to_tensor(tensor), name=scope)


def input_producer(
    input_tensor: TensorLike,
    element_shape: ShapeLike = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    summary_name: str | None = None,
    name: str | None = None,
    cancel_op: Operation | None = None,
) -> FIFOQueue:
    """Returns a queue of the rows of `input_tensor`, which a queue runner fills.

    shuffle, seed: shuffle the rows of each epoch. num_epochs: the number of epochs, which a local variable counts; None
    means without end. element_shape: the shape of a row, if it is not known statically. capacity, shared_name: of the
    queue. summary_name: adds a summary of the fraction to which the queue is filled. cancel_op: the operation that
    cancels pending enqueues. Raises `ShapeError` when the shape of a row is unknown.
    """
    with name_scope(name, "input_producer", [input_tensor]):
        tensor = graph_of([input_tensor]).to_tensor(input_tensor)
        shape: Any = tensor.shape[1:] if tensor.shape.sizes is not None else None
        if element_shape is not None:
            shape = element_shape if shape is None else shape.merge_with(element_shape)
        if shape is None or not getattr(shape, "is_fully_defined", lambda: True)():
            raise ShapeError(
                f"input_producer: {tensor.name} needs a fully defined shape of a row, not {shape}: give `element_shape`"
            )
        if shuffle:
            tensor = random_shuffle(tensor, seed=seed)
        tensor = limit_epochs(tensor, num_epochs)
        q = FIFOQueue(capacity, [tensor.dtype], [shape], shared_name=shared_name, name=name or "input_producer")
        add_queue_runner(QueueRunner(q, [q.enqueue_many([tensor])], cancel_op=cancel_op))
        if summary_name is not None:
            add_fill_summary(q, summary_name, capacity)
        return q


def string_input_producer(
    string_tensor: Tensor | Sequence[str | bytes] | np.ndarray,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
    cancel_op: Operation | None = None,
) -> Any:
    """Returns a queue of strings, such as file names, which a queue runner fills.

    The arguments are those of `input_producer`. Raises `InvalidArgumentError` for an empty list; for an empty tensor a
    step raises it.
    """
    if not hasattr(string_tensor, "dtype") and not len(string_tensor):
        raise InvalidArgumentError("string_input_producer requires a non-null input tensor")
    with name_scope(name, "input_producer", [string_tensor]) as scope:
        graph = graph_of([string_tensor])
        strings = graph.to_tensor(string_tensor, None if hasattr(string_tensor, "dtype") else string)
        size = shape_of(strings)[0]
        check = assert_that(size > 0, ["string_input_producer requires a non-null input tensor"])
        with graph.control_dependencies([check]):
            strings = IDENTITY(strings)
        return input_producer(
            strings,
            [],
            num_epochs,
            shuffle,
            seed,
            capacity,
            shared_name,
            f"fraction_of_{capacity}_full",
            scope,
            cancel_op,
        )


def range_input_producer(
    limit: int | Tensor,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns a queue of the integers from 0 to limit - 1; the other arguments are those of `input_producer`."""
    with name_scope(name, "input_producer", [limit]) as scope:
        numbers = range_(limit) if hasattr(limit, "dtype") else graph_of([]).to_tensor(np.arange(limit, dtype=np.int32))
        return input_producer(
            numbers, [], num_epochs, shuffle, seed, capacity, shared_name, f"fraction_of_{capacity}_full", scope
        )


def slice_input_producer(
    tensor_list: Sequence[Any],
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> list[Any]:
    """Returns a list with one row of each tensor in `tensor_list`, at the same position in all of them.

    The tensors have the same first dimension; the other arguments are those of `input_producer`. Raises
    `InvalidArgumentError` for an empty list.
    """
    if not tensor_list:
        raise InvalidArgumentError("slice_input_producer needed at least one tensor, got an empty list")
    with name_scope(name, "input_producer", list(tensor_list)):
        graph = graph_of(tensor_list)
        tensors = [graph.to_tensor(t) for t in tensor_list]
        static_rows = tensors[0].shape.sizes[0] if tensors[0].shape.sizes else None
        rows = static_rows if static_rows is not None else cast(shape_of(tensors[0])[0], int32)
        index = range_input_producer(rows, num_epochs, shuffle, seed, capacity, shared_name).dequeue()
        return [gather(t, index) for t in tensors]


_NAMES: dict[str, Any] = {
    "limit_epochs": limit_epochs,
    "input_producer": input_producer,
    "string_input_producer": string_input_producer,
    "range_input_producer": range_input_producer,
    "slice_input_producer": slice_input_producer,
}
API: dict[str, Any] = {f"train.{name}": value for name, value in _NAMES.items()}
