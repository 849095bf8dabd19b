"""Stacks of tensors, which the gradients of loops use in graphs written by TensorFlow 1.x (white paper, section 4.4).

The ops run on the host: the stack is an object behind a resource handle, and its elements stay on their devices.
Invariant: an element is popped once; control dependencies of the graph order pushes and pops.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from tfnb.errors import FailedPreconditionError, InvalidArgumentError, ResourceExhaustedError
from tfnb.ir.opdef import GRADIENT_MISSING, NOT_DIFFERENTIABLE, HostCall, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.shapes import scalar_shape
from tfnb.ir.tensor import Tensor
from tfnb.ops.state.handles import make_handle, resource_of
from tfnb.types import ANY, DType, unknown_shape

__all__ = ["API", "OPS"]


@record
class StackAttrs:
    """`stack_name`: without effect, since each run of the node creates a new stack."""

    stack_name: str = ""


@record
class PushAttrs:
    """`swap_memory`: keep the element in host memory."""

    swap_memory: bool = False


class Stack:
    """A stack of elements of one dtype, with at most `limit` elements if that is not negative."""

    def __init__(self, dtype: DType, limit: int) -> None:
        self.dtype = dtype
        self.limit = limit
        self.items: list[Any] | None = []
        self.lock = threading.Lock()


def _stack(call: HostCall, handle: np.ndarray) -> Stack:
    return resource_of(np.asarray(handle, object), Stack, call.op)


def _make(call: HostCall, size: np.ndarray) -> tuple[Any]:
    return (make_handle(Stack(call.types["elem_type"], call.tools.integer(size))),)


def _push(call: HostCall, handle: np.ndarray, elem: object) -> tuple[Any]:
    stack = _stack(call, handle)
    if stack.dtype is not call.types["T"]:
        raise InvalidArgumentError(f"StackPushV2: {call.types['T'].name} for a stack of {stack.dtype.name}", call.op)
    value = call.tools.to_host_memory(elem) if call.attrs.swap_memory else elem
    with stack.lock:
        if stack.items is None:
            raise FailedPreconditionError("StackPushV2: the stack is closed", call.op)
        if 0 <= stack.limit <= len(stack.items):
            raise ResourceExhaustedError(f"StackPushV2: the stack holds {stack.limit} elements, its maximum", call.op)
        stack.items.append(value)
    return (elem,)


def _pop(call: HostCall, handle: np.ndarray) -> tuple[Any]:
    stack = _stack(call, handle)
    if stack.dtype is not call.types["elem_type"]:
        raise InvalidArgumentError(
            f"StackPopV2: {call.types['elem_type'].name} from a stack of {stack.dtype.name}", call.op
        )
    with stack.lock:
        if not stack.items:
            raise FailedPreconditionError("StackPopV2: the stack is empty or closed", call.op)
        return (stack.items.pop(),)


def _close(call: HostCall, handle: np.ndarray) -> tuple[()]:
    stack = _stack(call, handle)
    with stack.lock:
        stack.items = None
    return ()


STACK: OpDef[Tensor] = OpDef(
    "StackV2",
    "max_size: int32",
    "handle: resource",
    "Creates a stack for `max_size` elements of `elem_type` (negative: any number). Host only.\n\nhandle: a scalar.",
    types={"elem_type": ANY},
    attrs=StackAttrs,
    infer=scalar_shape,
    host=_make,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
    raw=True,
)
PUSH: OpDef[Tensor] = OpDef(
    "StackPushV2",
    "handle: resource, elem: T",
    "output: T",
    "Pushes `elem`, of any shape, and returns it. Host only. Errors: the stack is full or closed.",
    types={"T": ANY},
    attrs=PushAttrs,
    infer=lambda c: c.shapes[1],
    host=_push,
    grad=GRADIENT_MISSING,
    stateful=True,
    raw=True,
)
POP: OpDef[Tensor] = OpDef(
    "StackPopV2",
    "handle: resource",
    "elem: elem_type",
    "Pops the last element of the stack. Host only. Errors: the stack is empty or closed.",
    types={"elem_type": ANY},
    infer=lambda c: unknown_shape,
    host=_pop,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
    raw=True,
)
CLOSE: OpDef[Operation] = OpDef(
    "StackCloseV2",
    "handle: resource",
    "",
    "Closes the stack and frees its elements. Host only.",
    host=_close,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
    raw=True,
)

OPS: tuple[OpDef, ...] = (STACK, PUSH, POP, CLOSE)
API: dict[str, Any] = {}
