"""Barriers, which assemble elements whose components arrive separately under a key (white paper, section 4.6).

An element is ready when all its components have arrived. Ready elements are taken in batches, oldest first, and an
operation that waits holds no thread. All run on the host. Invariant: an element is incomplete, ready or delivered, and
an insertion that is rejected changes nothing.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfnb.errors import CancelledError, InvalidArgumentError, OutOfRangeError
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, AsyncCall, HostCall, Infer, Kind, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.tensor import Tensor
from tfnb.ops.state.handles import make_handle, named_resource, resource_of
from tfnb.ops.sync.queues import CloseAttrs, QueueAttrs
from tfnb.ops.sync.waiting_list import Attempt, Lines
from tfnb.types import ALL, ALL_AND_QUANTIZED, DType, Shape, scalar, unknown_shape

__all__ = ["API", "OPS"]

_TAKE = "BarrierTakeMany"
_FIRST = np.iinfo(np.int64).min  # the index of the elements of the first insertion; later ones follow in order

Ready = tuple[int, int, bytes, list[Any]]  # index of its insertion, order of completion, key, components


class Barrier:
    """The contents of a barrier. `shapes`: one per component, or empty if they are not specified."""

    def __init__(self, name: str, dtypes: Sequence[DType], shapes: Sequence[Shape]) -> None:
        self.name = name
        self.dtypes = tuple(dtypes)
        self.shapes = tuple(shapes)
        self._lines = Lines(_TAKE)
        self._incomplete: dict[bytes, tuple[int, dict[int, Any]]] = {}
        self._ready: list[Ready] = []
        self._index = int(_FIRST)
        self._order = 0
        self._closed = False
        self._cancelled = False

    def sizes(self) -> tuple[int, int]:
        """Returns (the number of ready elements, the number of incomplete elements)."""
        with self._lines.lock:
            return len(self._ready), len(self._incomplete)

    def insert(self, component: int, keys: Sequence[bytes], values: np.ndarray) -> None:
        """Adds a component to each key's element. Raises, without changes, for a duplicate, or when it is closed."""
        if len(set(keys)) < len(keys):
            raise InvalidArgumentError(f"Barrier '{self.name}': a key stands twice among the {len(keys)} given")
        with self._lines.lock:
            if self._cancelled:
                raise CancelledError(f"Barrier '{self.name}' is closed, and pending insertions were cancelled")
            for key in keys:
                self._check(component, key)
            new_keys = [key for key in keys if key not in self._incomplete]
            for key in new_keys:
                self._incomplete[key] = self._index, {}
            self._index += bool(new_keys)
            for key, value in zip(keys, values, strict=True):
                self._fill(component, key, value)
        self._lines.poke()

    def _check(self, component: int, key: bytes) -> None:
        element = self._incomplete.get(key)
        if self._closed and element is None:
            raise CancelledError(
                f"Barrier '{self.name}' is closed, but the new key {key!r} was inserted. Number of incomplete keys: "
                f"{len(self._incomplete)}."
            )
        if element is not None and component in element[1]:
            raise InvalidArgumentError(
                f"Key {key!r} already has a value for component {component} in barrier '{self.name}'"
            )

    def _fill(self, component: int, key: bytes, value: Tensor) -> None:
        index, parts = self._incomplete[key]
        parts[component] = np.array(value, self.dtypes[component].np)
        if len(parts) == len(self.dtypes):
            del self._incomplete[key]
            self._order += 1
            heapq.heappush(self._ready, (index, self._order, key, [parts[i] for i in range(len(parts))]))

    def take(self, call: AsyncCall, n: int, small: bool) -> Callable[[], str]:
        """Delivers `n` ready elements, oldest first.

        With `small`, a closed barrier from which no more elements can come delivers the ready ones, even if fewer.
        """
        waits = False

        def step(attempt: Attempt) -> bool:
            nonlocal waits
            waited, waits = waits, True
            ready, coming = len(self._ready), len(self._incomplete)
            if ready >= n or (small and self._closed and ready and not (waited and coming)):
                elements = [heapq.heappop(self._ready) for _ in range(min(n, ready))]
                attempt.result = lambda: self._stacked(elements)
                return True
            may_come = waited if small else ready + coming >= n
            if not self._closed or (coming and may_come):
                return False
            return attempt.fail(
                OutOfRangeError(
                    f"Barrier '{self.name}' is closed and has insufficient elements (requested {n}, total size {ready})"
                )
            )

        self._lines.submit(_TAKE, Attempt(call, step))
        return lambda: f"{self.describe()}; waits for {n} elements"

    def _stacked(self, taken: Sequence[Ready]) -> list[np.ndarray]:
        keys = np.empty(len(taken), object)
        keys[:] = [key for _, _, key, _ in taken]
        columns = [np.array([index for index, *_ in taken], np.int64), keys]
        for i, dtype in enumerate(self.dtypes):
            rows = [parts[i] for *_, parts in taken]
            shape = rows[0].shape if rows else ()
            if any(r.shape != shape for r in rows):
                shapes = sorted({r.shape for r in rows})
                raise InvalidArgumentError(f"Barrier '{self.name}': component {i} came in the shapes {shapes}")
            column = np.empty((len(rows), *shape), dtype.np)
            for k, row in enumerate(rows):
                column[k] = row if shape else row.item()
            columns.append(column)
        return columns

    def close(self, cancel: bool) -> None:
        """Rejects new keys from now on; `cancel` also drops incomplete elements. Raises `CancelledError` if closed."""
        with self._lines.lock:
            if self._closed and not (cancel and not self._cancelled):
                raise CancelledError(f"Barrier '{self.name}' is already closed.")
            self._closed, self._cancelled = True, cancel
            if cancel:
                self._incomplete.clear()
        self._lines.poke()

    def dispose(self) -> None:
        """Cancels all waiting operations, since the container was reset."""
        self._lines.cancel_line(_TAKE, f"Barrier '{self.name}': its container was reset")

    def describe(self) -> str:
        """Returns a description for reports of waiting operations."""
        with self._lines.lock:
            state = "closed" if self._closed else "open"
            return (
                f"Barrier '{self.name}' is {state} and holds {len(self._ready)} ready and {len(self._incomplete)} "
                f"incomplete elements"
            )


# ---- operations ----------------------------------------------------------------------------------


@record
class InsertAttrs:
    """`component_index`: the index of the component of the barrier's elements that the inserted values become."""

    component_index: int


@record
class TakeAttrs:
    """`allow_small_batch`: deliver the remaining elements of a closed barrier; `wait_for_incomplete`: accepted but not
    used, as in TensorFlow; `timeout_ms`: must be -1, as in TensorFlow, since steps have timeouts (RunOptions)."""

    allow_small_batch: bool = False
    wait_for_incomplete: bool = False
    timeout_ms: int = -1

    def __post_init__(self) -> None:
        if self.timeout_ms >= 0:
            raise InvalidArgumentError(f"timeout_ms={self.timeout_ms}; needed -1: use tf.RunOptions(timeout_in_ms=...)")


def _handle(call: HostCall) -> np.ndarray:
    a = call.attrs
    barrier = named_resource(call, Barrier, lambda name: Barrier(name, a.component_types, a.shapes))
    if (barrier.dtypes, barrier.shapes) != (a.component_types, a.shapes):
        actual, requested = ([d.name for d in types] for types in (barrier.dtypes, a.component_types))
        what = "types" if barrier.dtypes != a.component_types else "shapes"
        raise InvalidArgumentError(
            f"Shared barrier '{barrier.name}' has other component {what}: components {actual} of "
            f"component shapes {list(map(str, barrier.shapes))}, requested were {requested} of "
            f"{list(map(str, a.shapes))}",
            call.op,
        )
    return make_handle(barrier)


def _of(handle: np.ndarray, call: HostCall) -> Barrier:
    return resource_of(handle, Barrier, call.op)


def _insert(call: HostCall, handle: np.ndarray, keys: np.ndarray, values: np.ndarray) -> tuple[()]:
    barrier, k = _of(handle, call), call.attrs.component_index
    if not 0 <= k < len(barrier.dtypes):
        raise InvalidArgumentError(f"component_index {k} is not in [0, {len(barrier.dtypes)})", call.op)
    dtype = call.types["T"]
    if dtype is not barrier.dtypes[k]:
        raise InvalidArgumentError(
            f"component {k} of barrier '{barrier.name}' is {barrier.dtypes[k].name}, got {dtype.name}", call.op
        )
    if keys.ndim != 1 or values.ndim < 1 or len(keys) != len(values):
        raise InvalidArgumentError(
            f"keys must be a vector with as many entries as values has rows, got the shapes {keys.shape} and "
            f"{values.shape}",
            call.op,
        )
    if barrier.shapes and not barrier.shapes[k].is_compatible_with(values.shape[1:]):
        raise InvalidArgumentError(
            f"component {k} of barrier '{barrier.name}' has the shape {barrier.shapes[k]}, got {values.shape[1:]}",
            call.op,
        )
    if len(keys) and not values.size:
        raise InvalidArgumentError(
            f"Tensors with no elements are not supported {barrier.name}: received shape {values.shape}", call.op
        )
    barrier.insert(k, [bytes(key) for key in keys], values)
    return ()


def _take(call: AsyncCall, handle: np.ndarray, n: np.ndarray) -> Callable[[], str]:
    barrier = _of(handle, call.host)
    dtypes = tuple(call.host.types["component_types"])
    if dtypes != barrier.dtypes:
        actual, requested = ([d.name for d in types] for types in (barrier.dtypes, dtypes))
        raise InvalidArgumentError(f"barrier '{barrier.name}' holds elements of {actual}, asked for {requested}")
    if n < 1:
        raise InvalidArgumentError(f"num_elements must be >= 1, got {n}")
    return barrier.take(call, int(n), call.host.attrs.allow_small_batch)


def _close(call: HostCall, handle: np.ndarray) -> tuple[()]:
    _of(handle, call).close(call.attrs.cancel_pending_enqueues)
    return ()


def _taken_shapes(c: Infer) -> tuple[Shape, ...]:
    n = None if c.attrs.allow_small_batch else c.value(1)
    vector = Shape((None if n is None else int(n),))
    return vector, vector, *(unknown_shape for _ in c.types["component_types"])


def _host(name: str, inputs: str, outputs: str, doc: str, host: Callable[..., Any], **rest: Any) -> OpDef:
    return OpDef(name, inputs, outputs, doc + " Host only.", host=host, grad=NOT_DIFFERENTIABLE, stateful=True, **rest)


BARRIER: OpDef[Tensor] = _host(
    "Barrier",
    "",
    "handle: resource",
    "A barrier, which assembles elements from components under a key.\n\nhandle: the barrier, a scalar. Errors: "
    "InvalidArgumentError when a barrier of that `shared_name` differs in types or shapes.",
    _handle,
    attrs=QueueAttrs,
    infer=lambda c: scalar,
)
INSERT_MANY: OpDef[Operation] = _host(
    "BarrierInsertMany",
    "handle: resource, keys: string, values: T",
    "",
    "Adds a component to the elements with these keys: one row of `values` each. New keys create elements. Errors: "
    "CancelledError for new keys when the barrier is closed, InvalidArgumentError for a component that was already "
    "added or does not match.",
    _insert,
    types={"T": ALL},
    attrs=InsertAttrs,
)
TAKE_MANY: OpDef[tuple[Tensor, Tensor, list[Tensor]]] = OpDef(
    "BarrierTakeMany",
    "handle: resource, num_elements: int32",
    "indices: int64, keys: string, values: [component_types]",
    "Takes complete elements in the order in which their keys arrived; waits for `num_elements`, or, with "
    "allow_small_batch, delivers the rest of a closed barrier.\n\nindices: the number of the insertion of the key, "
    "counted from the smallest int64. Errors: OutOfRangeError when the barrier is closed and too few elements can "
    "come, CancelledError when the step is stopped. Host only.",
    types={"component_types": ALL_AND_QUANTIZED},
    attrs=TakeAttrs,
    infer=_taken_shapes,
    start=_take,
    kind=Kind.ASYNC,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
)
CLOSE: OpDef[Operation] = _host(
    "BarrierClose",
    "handle: resource",
    "",
    "Closes a barrier, which then rejects new keys. Incomplete elements can still be completed, unless "
    "`cancel_pending_enqueues`. Errors: CancelledError when it is already closed.",
    _close,
    attrs=CloseAttrs,
)
READY_SIZE: OpDef[Tensor] = _host(
    "BarrierReadySize",
    "handle: resource",
    "size: int32",
    "The number of complete elements, an int32 scalar.",
    lambda call, handle: np.int32(_of(handle, call).sizes()[0]),
    infer=lambda c: scalar,
)
INCOMPLETE_SIZE: OpDef[Tensor] = _host(
    "BarrierIncompleteSize",
    "handle: resource",
    "size: int32",
    "The number of incomplete elements, an int32 scalar.",
    lambda call, handle: np.int32(_of(handle, call).sizes()[1]),
    infer=lambda c: scalar,
)

OPS: tuple[OpDef, ...] = (BARRIER, INSERT_MANY, TAKE_MANY, CLOSE, READY_SIZE, INCOMPLETE_SIZE)
API: dict[str, Any] = {}
