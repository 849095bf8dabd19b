"""Queue operations (white paper, section 4.6; OSDI'16, section 3.1).

A queue is stored in a container and persists between steps. An operation that must wait (an enqueue into a full queue,
a dequeue from an empty one) is an asynchronous kernel that holds no thread. All run on the host, for elements of any
type. Invariant: no element is lost or duplicated, even if queues are closed or operations cancelled meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, AsyncCall, HostCall, Infer, Kind, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.tensor import Tensor
from tfnb.ops.state.handles import make_handle, named_resource, resource_of
from tfnb.ops.sync.queue_store import (
    FIFOQueue,
    PaddingFIFOQueue,
    PriorityQueue,
    Queue,
    RandomShuffleQueue,
)
from tfnb.types import ALL_AND_QUANTIZED, DType, Shape, int64, scalar, unknown_shape

__all__ = ["API", "OPS"]


@record
class QueueAttrs:
    """`component_types` and `shapes` (one per component, or none) of an element; `capacity` (-1: no limit);
    `container`, `shared_name`: where the queue is stored, and under which name."""

    component_types: tuple[DType, ...]
    shapes: tuple[Shape, ...] = ()
    capacity: int = -1
    container: str = ""
    shared_name: str = ""


@record
class ShuffleAttrs:
    """As QueueAttrs; `min_after_dequeue`: the elements that remain for mixing; `seed`, `seed2`: those of the choice."""

    component_types: tuple[DType, ...]
    shapes: tuple[Shape, ...] = ()
    capacity: int = -1
    min_after_dequeue: int = 0
    seed: int = 0
    seed2: int = 0
    container: str = ""
    shared_name: str = ""


@record
class TimeoutAttrs:
    """`timeout_ms`: an attribute in GraphDefs; must be -1 as in TensorFlow, since steps have timeouts (RunOptions)."""

    timeout_ms: int = -1

    def __post_init__(self) -> None:
        if self.timeout_ms >= 0:
            raise InvalidArgumentError(f"timeout_ms={self.timeout_ms}; needed -1: use tf.RunOptions(timeout_in_ms=...)")


@record
class CloseAttrs:
    """`cancel_pending_enqueues`: waiting enqueues fail instead of being completed."""

    cancel_pending_enqueues: bool = False


def _handle(kind: type[Queue], make: Callable[[HostCall, str], Queue]) -> Callable[..., Any]:
    def host(call: HostCall) -> np.ndarray:
        queue = named_resource(call, kind, lambda name: make(call, name))
        if call.attrs.shared_name:
            queue.check_same(make(call, queue.name))
        return make_handle(queue)

    return host


def _limit(call: HostCall) -> int | None:
    return None if call.attrs.capacity < 0 else call.attrs.capacity


def _fifo(call: HostCall, name: str) -> Queue:
    return FIFOQueue(name, _limit(call), call.attrs.component_types, call.attrs.shapes)


def _padding(call: HostCall, name: str) -> Queue:
    return PaddingFIFOQueue(name, _limit(call), call.attrs.component_types, call.attrs.shapes)


def _priority(call: HostCall, name: str) -> Queue:
    a = call.attrs
    shapes = (scalar, *a.shapes) if a.shapes or not a.component_types else ()
    return PriorityQueue(name, _limit(call), (int64, *a.component_types), shapes)


def _shuffle(call: HostCall, name: str) -> Queue:
    a = call.attrs
    return RandomShuffleQueue(name, _limit(call), a.component_types, a.shapes, a.min_after_dequeue, (a.seed, a.seed2))


def _queue_op(name: str, kind: type[Queue], make: Callable[..., Any], doc: str, attrs: type = QueueAttrs) -> OpDef:
    return OpDef(
        name,
        "",
        "handle: resource",
        doc + "\n\nhandle: the queue, a scalar. Errors: InvalidArgumentError when a queue of that `shared_name` "
        "differs in kind, capacity, types or shapes. Host only.",
        attrs=attrs,
        infer=lambda c: scalar,
        host=_handle(kind, make),
        grad=NOT_DIFFERENTIABLE,
        stateful=True,
    )


QUEUES = (
    _queue_op("FIFOQueueV2", FIFOQueue, _fifo, "A queue: first in, first out."),
    _queue_op("PaddingFIFOQueueV2", PaddingFIFOQueue, _padding, "A FIFO queue that pads stacked elements with zeros."),
    _queue_op(
        "PriorityQueueV2",
        PriorityQueue,
        _priority,
        "A queue that delivers the element with the smallest priority, its first component, an int64, first.",
    ),
    _queue_op(
        "RandomShuffleQueueV2",
        RandomShuffleQueue,
        _shuffle,
        "A queue that delivers its elements in random order.",
        ShuffleAttrs,
    ),
)
FIFO_QUEUE, PADDING_FIFO_QUEUE, PRIORITY_QUEUE, RANDOM_SHUFFLE_QUEUE = QUEUES


# ---- operations on a queue -----------------------------------------------------------------------


def queue_of(call: HostCall | AsyncCall, handle: np.ndarray) -> Queue:
    """Returns the queue in a handle. Raises `InvalidArgumentError` when it holds another resource."""
    op = call.host.op if isinstance(call, AsyncCall) else call.op
    return resource_of(handle, Queue, op)


def _owned(x: np.ndarray) -> np.ndarray:
    """The array, or a copy if it is a part of an array, or on memory of a device, which would stay in use with it."""
    return x if x.base is None else np.array(x)


def _check_types(queue: Queue, call: AsyncCall) -> None:
    dtypes = tuple(call.host.types["Tcomponents"])
    if dtypes != queue.dtypes:
        expected, actual = ([d.name for d in types] for types in (queue.dtypes, dtypes))
        raise InvalidArgumentError(f"{queue.kind} '{queue.name}' holds elements of {expected}, got {actual}")


def _enqueue(call: AsyncCall, handle: np.ndarray, *components: np.ndarray) -> Callable[[], str]:
    queue = queue_of(call, handle)
    _check_types(queue, call)
    queue.check(components, many=False)
    return queue.enqueue(call, [tuple(_owned(c) for c in components)])


def _enqueue_many(call: AsyncCall, handle: np.ndarray, *components: np.ndarray) -> Callable[[], str]:
    queue = queue_of(call, handle)
    _check_types(queue, call)
    queue.check(components, many=True)
    return queue.enqueue(call, list(zip(*(_owned(c) for c in components), strict=True)))


def _check_output_types(queue: Queue, call: AsyncCall) -> None:
    dtypes = tuple(call.host.types["component_types"])
    if dtypes != queue.dtypes:
        expected, requested = ([d.name for d in types] for types in (queue.dtypes, dtypes))
        raise InvalidArgumentError(f"{queue.kind} '{queue.name}' holds elements of {expected}, asked for {requested}")


def _dequeue(call: AsyncCall, handle: np.ndarray) -> Callable[[], str]:
    queue = queue_of(call, handle)
    _check_output_types(queue, call)
    return queue.dequeue(call)


def _dequeue_many(up_to: bool) -> Callable[..., Callable[[], str]]:
    def start(call: AsyncCall, handle: np.ndarray, n: np.ndarray) -> Callable[[], str]:
        queue = queue_of(call, handle)
        _check_output_types(queue, call)
        return queue.dequeue_many(call, int(n), up_to)

    return start


def _close(call: AsyncCall, handle: np.ndarray) -> Callable[[], str]:
    return queue_of(call, handle).close(call, call.host.attrs.cancel_pending_enqueues)


def _check_many(c: Infer) -> tuple[()]:
    for shape in c.shapes[1:]:
        if shape.ndims == 0:
            raise ShapeError(f"{c.op_name}: components must have rank at least 1, got a scalar")
    return ()


def _unknown(c: Infer) -> tuple[Shape, ...]:
    return (unknown_shape,) * len(c.types["component_types"])


def _batches(c: Infer) -> tuple[Shape, ...]:
    n = c.value(1)
    if n is not None and n < 0:
        raise InvalidArgumentError(f"{c.op_name}: n must be >= 0, but is {n}")
    return _unknown(c)


def _async(name: str, inputs: str, outputs: str, doc: str, start: Callable[..., Any], **rest: Any) -> OpDef:
    types = {"Tcomponents": ALL_AND_QUANTIZED} if "Tcomponents" in inputs else {}
    types |= {"component_types": ALL_AND_QUANTIZED} if outputs else {}
    return OpDef(
        name,
        inputs,
        outputs,
        doc + " Host only.",
        types=types,
        start=start,
        grad=NOT_DIFFERENTIABLE,
        kind=Kind.ASYNC,
        stateful=True,
        **{"attrs": TimeoutAttrs, **rest},
    )


_CLOSED = " Errors: CancelledError when the queue is closed or the step stopped"
_MISFIT = ", InvalidArgumentError for components that do not match the queue's types and shapes."
_EMPTY = " Errors: OutOfRangeError when the queue is closed and holds too few, CancelledError when the step is stopped."

ENQUEUE: OpDef[Operation] = _async(
    "QueueEnqueueV2",
    "handle: resource, components: [Tcomponents]",
    "",
    "Enqueues one element, a tensor per component; waits while the queue is full." + _CLOSED + _MISFIT,
    _enqueue,
)
ENQUEUE_MANY: OpDef[Operation] = _async(
    "QueueEnqueueManyV2",
    "handle: resource, components: [Tcomponents]",
    "",
    "Enqueues the rows of the components, one element per row; waits while the queue is full." + _CLOSED + _MISFIT,
    _enqueue_many,
    infer=_check_many,
)
DEQUEUE: OpDef[list[Tensor]] = _async(
    "QueueDequeueV2",
    "handle: resource",
    "components: [component_types]",
    "Dequeues an element; waits while the queue is empty." + _EMPTY,
    _dequeue,
    infer=_unknown,
)
DEQUEUE_MANY: OpDef[list[Tensor]] = _async(
    "QueueDequeueManyV2",
    "handle: resource, n: int32",
    "components: [component_types]",
    "Dequeues `n` elements and stacks them along a new first dimension; waits for them."
    + _EMPTY
    + " InvalidArgumentError when the shapes of the queue's components are not specified.",
    _dequeue_many(False),
    infer=_batches,
)
DEQUEUE_UP_TO: OpDef[list[Tensor]] = _async(
    "QueueDequeueUpToV2",
    "handle: resource, n: int32",
    "components: [component_types]",
    "As QueueDequeueManyV2, but a closed queue delivers its remaining elements, at least one." + _EMPTY,
    _dequeue_many(True),
    infer=_batches,
)
CLOSE: OpDef[Operation] = _async(
    "QueueCloseV2",
    "handle: resource",
    "",
    "Closes a queue, which then rejects new elements; its elements can still be dequeued. Waiting enqueues are "
    "completed first, or cancelled. Errors: CancelledError when it is already closed.",
    _close,
    attrs=CloseAttrs,
)
SIZE: OpDef[Tensor] = OpDef(
    "QueueSizeV2",
    "handle: resource",
    "size: int32",
    "The number of elements in a queue, an int32 scalar. Host only.",
    infer=lambda c: scalar,
    host=lambda call, handle: np.int32(queue_of(call, handle).size()),
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
)
IS_CLOSED: OpDef[Tensor] = OpDef(
    "QueueIsClosedV2",
    "handle: resource",
    "is_closed: bool",
    "True if the queue is closed; a bool scalar. Host only.",
    infer=lambda c: scalar,
    host=lambda call, handle: np.bool_(queue_of(call, handle).closed),
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
)

OPS: tuple[OpDef, ...] = (
    *QUEUES,
    ENQUEUE,
    ENQUEUE_MANY,
    DEQUEUE,
    DEQUEUE_MANY,
    DEQUEUE_UP_TO,
    CLOSE,
    SIZE,
    IS_CLOSED,
)
API: dict[str, Any] = {}
