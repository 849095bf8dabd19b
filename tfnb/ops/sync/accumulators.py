"""Operations on accumulators of gradients, and locks (OSDI'16, section 4.4; white paper, section 4.7).

Operations that wait for an average or a lock hold no thread. All run on the host. Invariant: a lock is released when
the step that holds it consumes it, fails, or drops it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, AsyncCall, HostCall, Infer, Kind, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.tensor import Tensor
from tfnb.ops.state.handles import make_handle, named_resource, resource_of
from tfnb.ops.sync.accumulator_store import Accumulator, DenseAccumulator, SparseAccumulator
from tfnb.ops.sync.waiting_list import Attempt, Lines
from tfnb.types import NUMBERS, DType, Shape, float32, scalar, unknown_shape

__all__ = ["API", "OPS"]


@record
class AccumulatorAttrs:
    """`dtype`, `shape`: those of a gradient; `reduction_type`: MEAN or SUM; `container`, `shared_name`: the storage."""

    dtype: DType = float32
    shape: Shape = unknown_shape
    container: str = ""
    shared_name: str = ""
    reduction_type: str = "MEAN"


@record
class MutexAttrs:
    """`container`, `shared_name`: where the lock is stored, and under which name."""

    container: str = ""
    shared_name: str = ""


@record
class SparseAttrs:
    """`has_known_shape`: true if the gradient's shape is given."""

    has_known_shape: bool = True


def _accumulator_op(name: str, kind: type[Accumulator], doc: str) -> OpDef[Tensor]:
    def host(call: HostCall) -> np.ndarray:
        a = call.attrs
        accumulator = named_resource(call, kind, lambda n: kind(n, a.dtype, a.shape, a.reduction_type))
        if accumulator.dtype is not a.dtype or accumulator.shape != a.shape:
            raise InvalidArgumentError(
                f"accumulator '{accumulator.name}' holds {accumulator.dtype.name} of shape {accumulator.shape}, "
                f"asked for {a.dtype.name} of shape {a.shape}",
                call.op,
            )
        return make_handle(accumulator)

    return OpDef(
        name,
        "",
        "handle: resource",
        doc + "\n\nhandle: the accumulator, a scalar. Host only.",
        attrs=AccumulatorAttrs,
        infer=lambda c: scalar,
        host=host,
        grad=NOT_DIFFERENTIABLE,
        stateful=True,
    )


DENSE = _accumulator_op("ResourceConditionalAccumulator", DenseAccumulator, "Collects gradients and drops stale ones.")
SPARSE = _accumulator_op(
    "SparseConditionalAccumulator", SparseAccumulator, "Collects row-sparse gradients and drops stale ones."
)


def _of(handle: np.ndarray, call: HostCall) -> Accumulator:
    return resource_of(handle, Accumulator, call.op)


def _apply(call: HostCall, handle: np.ndarray, step: np.ndarray, grad: np.ndarray) -> tuple[()]:
    accumulator = _of(handle, call)
    if grad.dtype != accumulator.dtype.np:
        raise InvalidArgumentError(
            f"accumulator '{accumulator.name}' holds {accumulator.dtype.name}, got {grad.dtype}", call.op
        )
    accumulator.apply(int(step), grad)
    return ()


def _sparse_apply(
    call: HostCall, handle: np.ndarray, step: np.ndarray, indices: np.ndarray, values: np.ndarray, shape: np.ndarray
) -> tuple[()]:
    accumulator = resource_of(handle, SparseAccumulator, call.op)
    accumulator.apply(int(step), (indices, values, shape if call.attrs.has_known_shape else None))
    return ()


def _take(call: AsyncCall, handle: np.ndarray, n: np.ndarray) -> Callable[[], str]:
    return _of(handle, call.host).take(call, int(n))


def _set_step(call: HostCall, handle: np.ndarray, step: np.ndarray) -> tuple[()]:
    _of(handle, call).set_step(int(step))
    return ()


def _three(c: Infer) -> tuple[Shape, Shape, Shape]:
    return Shape((None,)), unknown_shape, Shape((None,))


APPLY: OpDef[Operation] = OpDef(
    "ResourceAccumulatorApplyGradient",
    "handle: resource, local_step: int64, gradient: dtype",
    "",
    "Adds a gradient unless `local_step` is before the accumulator's step. Errors: InvalidArgumentError for another "
    "dtype or shape. Host only.",
    types={"dtype": NUMBERS},
    host=_apply,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
)
TAKE: OpDef[Tensor] = OpDef(
    "ResourceAccumulatorTakeGradient",
    "handle: resource, num_required: int32",
    "average: dtype",
    "The average of all gradients once `num_required` have arrived; empties the accumulator and begins its next step. "
    "Errors: InvalidArgumentError unless num_required > 0, CancelledError when the step is stopped. Host only.",
    types={"dtype": NUMBERS},
    infer=lambda c: unknown_shape,
    start=_take,
    kind=Kind.ASYNC,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
)
SET_STEP: OpDef[Operation] = OpDef(
    "ResourceAccumulatorSetGlobalStep",
    "handle: resource, new_global_step: int64",
    "",
    "Sets the accumulator's step; gradients of earlier steps are stale. Host only.",
    host=_set_step,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
)
NUM_ACCUMULATED: OpDef[Tensor] = OpDef(
    "ResourceAccumulatorNumAccumulated",
    "handle: resource",
    "num_accumulated: int32",
    "The number of gradients in the accumulator, an int32 scalar. Host only.",
    infer=lambda c: scalar,
    host=lambda call, h: np.int32(_of(h, call).count),
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
)
SPARSE_APPLY: OpDef[Operation] = OpDef(
    "SparseAccumulatorApplyGradient",
    "handle: resource, local_step: int64, gradient_indices: int64, gradient_values: dtype, gradient_shape: int64",
    "",
    "Adds rows of a gradient unless `local_step` is stale. Errors: InvalidArgumentError for indices or shapes that do "
    "not match. Host only.",
    types={"dtype": NUMBERS},
    attrs=SparseAttrs,
    host=_sparse_apply,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
)
SPARSE_TAKE: OpDef[tuple[Tensor, Tensor, Tensor]] = OpDef(
    "SparseAccumulatorTakeGradient",
    "handle: resource, num_required: int32",
    "indices: int64, values: dtype, shape: int64",
    "As ResourceAccumulatorTakeGradient; each row is averaged over the gradients that contain it. Host only.",
    types={"dtype": NUMBERS},
    infer=_three,
    start=_take,
    kind=Kind.ASYNC,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
)


# ---- locks ---------------------------------------------------------------------------------------

_LOCK = "MutexLock"


class Mutex:
    """A lock for which operations wait in a queue."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._lines = Lines(_LOCK)
        self._held = False

    def lock(self, call: AsyncCall) -> Callable[[], str]:
        """Delivers a `HeldLock` once no other operation holds the lock."""

        def step(attempt: Attempt) -> bool:
            if self._held:
                return False
            self._held = True
            attempt.result = (make_handle(HeldLock(self)),)
            return True

        self._lines.submit(_LOCK, Attempt(call, step))
        return lambda: f"waits for the lock '{self.name}'"

    def release(self) -> None:
        """May be called anywhere: a dropped lock can be collected at any time, even while this thread is queued."""
        self._held = False
        self._lines.poke_from_anywhere()


class HeldLock:
    """Represents the possession of a lock; releases it once, at the latest when it is garbage-collected."""

    def __init__(self, mutex: Mutex) -> None:
        self._mutex: Mutex | None = mutex

    def release(self) -> None:
        mutex, self._mutex = self._mutex, None
        if mutex is not None:
            mutex.release()

    __del__ = release


def _consume(call: HostCall, held: np.ndarray) -> tuple[()]:
    resource_of(held, HeldLock, call.op).release()
    return ()


MUTEX: OpDef[Tensor] = OpDef(
    "MutexV2",
    "",
    "resource: resource",
    "A lock.\n\nresource: the lock, a scalar. Host only.",
    attrs=MutexAttrs,
    infer=lambda c: scalar,
    host=lambda call: make_handle(named_resource(call, Mutex, Mutex)),
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
)
MUTEX_LOCK: OpDef[Tensor] = OpDef(
    "MutexLock",
    "mutex: resource",
    "mutex_lock: variant",
    "Waits for a lock and acquires it; it is held until ConsumeMutexLock, or until the value is dropped. Host only.",
    infer=lambda c: scalar,
    kind=Kind.ASYNC,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
    start=lambda call, x: resource_of(x, Mutex, call.host.op).lock(call),
)
CONSUME_LOCK: OpDef[Operation] = OpDef(
    "ConsumeMutexLock",
    "mutex_lock: variant",
    "",
    "Releases a lock. Host only.",
    host=_consume,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
)

OPS: tuple[OpDef, ...] = (
    DENSE,
    SPARSE,
    APPLY,
    TAKE,
    SET_STEP,
    NUM_ACCUMULATED,
    SPARSE_APPLY,
    SPARSE_TAKE,
    MUTEX,
    MUTEX_LOCK,
    CONSUME_LOCK,
)
API: dict[str, Any] = {}
