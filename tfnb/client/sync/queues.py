"""Queues: `tf.FIFOQueue` and its relatives (white paper, section 4.6).

A queue object names a resource of the session; its methods add operations to the graph. Invariant: tensors that leave a
queue have the dtypes and shapes that were declared for it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.const import constant_value
from tfnb.ir.default import get_default_graph
from tfnb.ir.opdef import OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import GraphLike, Tensor, TensorLike
from tfnb.ops.array.concat import stack
from tfnb.ops.array.gather import gather
from tfnb.ops.random.functions import seeds_for
from tfnb.ops.sync import queues as ops
from tfnb.types import DType, DTypeLike, Shape, ShapeLike, as_dtype, as_shape, int32, int64

__all__ = ["API", "FIFOQueue", "PaddingFIFOQueue", "QueueBase", "RandomShuffleQueue"]


def type_list(dtypes: DTypeLike | Sequence[DTypeLike]) -> tuple[DType, ...]:
    """Returns one dtype or a list of them as a tuple."""
    dtype_list: Sequence[Any] = dtypes if isinstance(dtypes, (list, tuple)) else [dtypes]
    return tuple(as_dtype(d) for d in dtype_list)


def shape_list(shapes: Any, dtypes: Sequence[DType], partial: bool = False) -> tuple[Shape, ...]:
    """Returns one shape or a list of them as a tuple with a shape for each of `dtypes`; empty for None.

    Raises `InvalidArgumentError` for another number of shapes, and `ShapeError` for one that is not fully known, or,
    with `partial`, not of known rank.
    """
    if shapes is None:
        if partial:
            raise InvalidArgumentError("When providing partial shapes, a list of shapes must be provided.")
        return ()
    one_shape = isinstance(shapes, (list, tuple)) and all(isinstance(d, int) for d in shapes)
    if isinstance(shapes, Shape) or (one_shape and (shapes or len(dtypes) == 1)):  # [] of one component is a scalar
        shapes = [shapes]
    result = tuple(as_shape(s) for s in shapes)
    if len(result) != len(dtypes):
        raise InvalidArgumentError(f"{len(result)} shapes were given for {len(dtypes)} components of an element")
    for s in result:
        if s.sizes is None and partial:
            raise ShapeError(f"the shapes of a queue must have a defined rank, got {s}")
        if s.sizes is None or (not partial and not s.is_fully_defined()):
            raise ShapeError(f"the shapes of a queue must be fully known, got {s}")
    return result


def _in_common(shapes: Sequence[Shape]) -> Shape:
    """Returns what is the same in all shapes: the rank, and dimension by dimension."""
    if any(s.sizes is None or len(s.sizes) != shapes[0].ndims for s in shapes):
        return Shape(None)
    return Shape(tuple(d[0] if len(set(d)) == 1 else None for d in zip(*(s.sizes or () for s in shapes), strict=True)))


class QueueBase:
    """A queue: its handle, and the dtypes, shapes and names of its components. Subclasses differ in the order."""

    def __init__(
        self,
        dtypes: DTypeLike | Sequence[DTypeLike],
        shapes: Sequence[Shape],
        names: str | Sequence[str] | None,
        queue_ref: Tensor,
    ) -> None:
        self._dtypes = list(type_list(dtypes))
        self._shapes: list[Shape] = list(shapes) if shapes else [Shape(None) for _ in self._dtypes]
        if names is not None and len(names) != len(self._dtypes):
            raise InvalidArgumentError(f"{len(names)} names for {len(self._dtypes)} components")
        self._names = list(names) if names is not None else None
        self._queue_ref = queue_ref
        self._name = queue_ref.op.name

    @staticmethod
    def from_list(index: TensorLike, queues: Sequence[QueueBase]) -> QueueBase:
        """Returns the queue that the integer scalar tensor `index` selects in each step, out of the list `queues`.

        Raises `InvalidArgumentError` for an empty list, for members that are not queues, and for differing dtypes or
        names.
        """
        if not queues or not all(isinstance(q, QueueBase) for q in queues):
            raise InvalidArgumentError("from_list needed a list of queues")
        first = queues[0]
        if any(q._dtypes != first._dtypes or q._names != first._names for q in queues):
            raise InvalidArgumentError("the queues do not have the same dtypes and names")
        queue_ref = gather(stack([q._queue_ref for q in queues]), index)
        shapes = [_in_common([q._shapes[i] for q in queues]) for i in range(len(first._shapes))]
        return QueueBase(first._dtypes, shapes, first._names, queue_ref)

    @property
    def queue_ref(self) -> Tensor:
        """The tensor that is the handle of the queue."""
        return self._queue_ref

    @property
    def name(self) -> str:
        """The name of the operation that creates the queue."""
        return self._name

    @property
    def dtypes(self) -> list[DType]:
        """The dtypes of the components."""
        return self._dtypes

    @property
    def shapes(self) -> list[Shape]:
        """The static shapes of the components."""
        return self._shapes

    @property
    def names(self) -> list[str] | None:
        """The names of the components, or None."""
        return self._names

    def enqueue(self, vals: TensorLike | Mapping[str, TensorLike], name: str | None = None) -> Operation:
        """Returns an operation that adds one element: a tensor, a list of them, or a dict if the queue has names.

        It waits while the queue is full. The step raises `CancelledError` when the queue is closed.
        """
        components = self._components(vals)
        for c, shape in zip(components, self._shapes, strict=True):
            c.shape.merge_with(shape)
        return ops.ENQUEUE(self._queue_ref, components, name=name or f"{self._short}_enqueue")

    def enqueue_many(self, vals: TensorLike | Mapping[str, TensorLike], name: str | None = None) -> Operation:
        """Returns an operation that adds an element for each row of the tensors in `vals`."""
        components = self._components(vals)
        for c, shape in zip(components, self._shapes, strict=True):
            if shape.sizes is not None:
                c.shape.merge_with(Shape((None, *shape.sizes)))
        counts = {n for c in components for n in (c.shape.sizes or ())[:1] if n is not None}
        if len(counts) > 1:
            raise ShapeError(f"enqueue_many: the components have unlike numbers of rows: {sorted(counts)}")
        return ops.ENQUEUE_MANY(self._queue_ref, components, name=name or f"{self._short}_EnqueueMany")

    def dequeue(self, name: str | None = None) -> Any:
        """Returns an element: a tensor, a list of tensors, or a dict if the queue has names.

        It waits while the queue is empty. The step raises `OutOfRangeError` when the queue is closed and empty.
        """
        components = ops.DEQUEUE(self._queue_ref, component_types=self._dtypes, name=name or f"{self._short}_Dequeue")
        return self._result(components, lambda s: s)

    def dequeue_many(self, n: TensorLike, name: str | None = None) -> Any:
        """Returns `n` elements stacked along a new first dimension, in the form of `dequeue`; waits for all of them."""
        return self._many(ops.DEQUEUE_MANY, n, name or f"{self._short}_DequeueMany", exact=True)

    def dequeue_up_to(self, n: TensorLike, name: str | None = None) -> Any:
        """Does what `dequeue_many` does, but returns fewer elements when the queue is closed and holds at least one."""
        return self._many(ops.DEQUEUE_UP_TO, n, name or f"{self._short}_DequeueUpTo", exact=False)

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """Returns an operation that closes the queue; elements can be dequeued until it is empty.

        An enqueue that waits can still finish, or fails with `CancelledError` if `cancel_pending_enqueues`.
        """
        cancel = bool(cancel_pending_enqueues)
        return ops.CLOSE(self._queue_ref, cancel_pending_enqueues=cancel, name=name or f"{self._short}_Close")

    def size(self, name: str | None = None) -> Tensor:
        """Returns the number of elements, an int32 scalar."""
        return ops.SIZE(self._queue_ref, name=name or f"{self._short}_Size")

    def is_closed(self, name: str | None = None) -> Tensor:
        """Returns whether the queue is closed, a bool scalar."""
        return ops.IS_CLOSED(self._queue_ref, name=name or f"{self._short}_is_closed")

    @property
    def _short(self) -> str:
        return self._name.rpartition("/")[2]

    def _components(self, vals: TensorLike | Mapping[str, TensorLike]) -> list[Tensor]:
        if isinstance(vals, Mapping):
            if self._names is None:
                raise InvalidArgumentError("Queue must have names to enqueue a dictionary")
            if set(vals) != set(self._names):
                raise InvalidArgumentError(
                    f"Keys in dictionary to enqueue do not match names of Queue: {sorted(vals)}, {sorted(self._names)}"
                )
            vals = [vals[n] for n in self._names]
        elif self._names is not None:
            raise InvalidArgumentError("You must enqueue a dictionary in a Queue with names")
        elif not isinstance(vals, (list, tuple)):
            vals = [vals]
        if len(vals) != len(self._dtypes) and len(self._dtypes) == 1:
            vals = [vals]  # the list is the value of the only component
        if len(vals) != len(self._dtypes):
            raise InvalidArgumentError(f"an element has {len(self._dtypes)} components, got {len(vals)}")
        graph = self._queue_ref.graph
        return [_value(graph, v, d) for v, d in zip(vals, self._dtypes, strict=True)]

    def _many(self, op: OpDef, n: TensorLike, name: str, exact: bool) -> Any:
        rows = self._queue_ref.graph.to_tensor(n, int32)
        components = op(self._queue_ref, rows, component_types=self._dtypes, name=name)
        count = constant_value(rows) if exact else None
        first = None if count is None else int(count)
        return self._result(components, lambda s: s if s.sizes is None else Shape((first, *s.sizes)))

    def _result(self, components: list[Tensor], shape: Callable[[Shape], Shape]) -> Any:
        for t, s in zip(components, self._shapes, strict=True):
            t.set_shape(shape(s))
        if self._names is not None:
            return dict(zip(self._names, components, strict=True))
        return components[0] if len(components) == 1 else components


def _value(graph: GraphLike, value: Tensor, dtype: DType) -> Tensor:
    has_dtype = hasattr(value, "dtype") and not isinstance(value, (np.ndarray, np.generic))
    t: Tensor = graph.to_tensor(value, None if has_dtype else dtype)
    if t.dtype is not dtype:
        raise InvalidArgumentError(f"the component {t.name} is {t.dtype.name}, the queue holds {dtype.name}", t.op)
    return t


class FIFOQueue(QueueBase):
    """A queue that returns elements in the order in which they were added.

    capacity: the largest number of elements. dtypes, shapes (fully known, or None) and names: those of the components
    of an element. shared_name: queues with the same name and container are the same, also between graphs.
    """

    def __init__(
        self,
        capacity: int,
        dtypes: DTypeLike | Sequence[DTypeLike],
        shapes: ShapeLike | Sequence[ShapeLike] = None,
        names: str | Sequence[str] | None = None,
        shared_name: str | None = None,
        name: str = "fifo_queue",
    ) -> None:
        types = type_list(dtypes)
        element_shapes = shape_list(shapes, types)
        super().__init__(
            types, element_shapes, names, _make(ops.FIFO_QUEUE, types, element_shapes, capacity, shared_name, name)
        )


class PaddingFIFOQueue(QueueBase):
    """A `FIFOQueue` with dimensions None in `shapes`, in which `dequeue_many` pads with zeros to the largest
    element.
    """

    def __init__(
        self,
        capacity: int,
        dtypes: DTypeLike | Sequence[DTypeLike],
        shapes: ShapeLike | Sequence[ShapeLike],
        names: str | Sequence[str] | None = None,
        shared_name: str | None = None,
        name: str = "padding_fifo_queue",
    ) -> None:
        types = type_list(dtypes)
        element_shapes = shape_list(shapes, types, partial=True)
        handle = _make(ops.PADDING_FIFO_QUEUE, types, element_shapes, capacity, shared_name, name)
        super().__init__(types, element_shapes, names, handle)


class RandomShuffleQueue(QueueBase):
    """A queue that returns a random element; `min_after_dequeue` elements stay in it while it is open.

    seed: makes the order repeatable (`tf.set_random_seed`).
    """

    def __init__(
        self,
        capacity: int,
        min_after_dequeue: int,
        dtypes: DTypeLike | Sequence[DTypeLike],
        shapes: ShapeLike | Sequence[ShapeLike] = None,
        names: str | Sequence[str] | None = None,
        seed: int | None = None,
        shared_name: str | None = None,
        name: str = "random_shuffle_queue",
    ) -> None:
        types = type_list(dtypes)
        element_shapes = shape_list(shapes, types)
        graph = get_default_graph()
        seeds = seeds_for(graph, seed)
        if seed is None and graph.seed is not None and shared_name is not None:
            # All queues of a name need equal seeds, so the second one depends on the name, as in TensorFlow, and not on
            # the node.
            digest = hashlib.md5(f"{graph.seed}{shared_name}".encode(), usedforsecurity=False).hexdigest()
            seeds["seed2"] = int(digest[:8], 16) & 0x7FFFFFFF
        handle = _make(
            ops.RANDOM_SHUFFLE_QUEUE,
            types,
            element_shapes,
            capacity,
            shared_name,
            name,
            min_after_dequeue=int(min_after_dequeue),
            **seeds,
        )
        super().__init__(types, element_shapes, names, handle)


class PriorityQueue(QueueBase):
    """A queue that returns the element with the smallest priority first.

    An element is an int64 priority followed by one component for each dtype in `types`.
    """

    def __init__(
        self,
        capacity: int,
        types: Sequence[Any],
        shapes: ShapeLike | Sequence[ShapeLike] = None,
        names: str | Sequence[str] | None = None,
        shared_name: str | None = None,
        name: str = "priority_queue",
    ) -> None:
        kinds = type_list(types)
        element_shapes = shape_list(shapes, kinds)
        handle = _make(ops.PRIORITY_QUEUE, kinds, element_shapes, capacity, shared_name, name)
        scalar_first = (as_shape([]), *element_shapes) if element_shapes or not kinds else ()
        super().__init__((int64, *kinds), scalar_first, names, handle)


def _make(
    op: OpDef,
    types: DTypeLike | Sequence[DTypeLike],
    shapes: ShapeLike | Sequence[ShapeLike],
    capacity: int,
    shared: str | None,
    name: str,
    **attrs: object,
) -> Tensor:
    handle: Tensor = op(
        component_types=types,
        shapes=shapes,
        capacity=int(capacity),
        shared_name=shared or "",
        name=name,
        graph=get_default_graph(),
        **attrs,
    )
    return handle


API: dict[str, Any] = {
    "QueueBase": QueueBase,
    "FIFOQueue": FIFOQueue,
    "PaddingFIFOQueue": PaddingFIFOQueue,
    "RandomShuffleQueue": RandomShuffleQueue,
    "PriorityQueue": PriorityQueue,
}
API |= {f"queue.{name}": value for name, value in API.items()}
