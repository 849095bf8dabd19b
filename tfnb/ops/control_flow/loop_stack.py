"""Stacks of loops: values of each forward iteration that the backward pass needs (white paper, section 4.4).

Elements are stored by iteration number, so iterations may overlap, and a branch that is not taken leaves a gap; the
backward loop pops them in reverse order. Invariant: an element is popped once, which frees it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.errors import FailedPreconditionError
from tfnb.ir.opdef import GRADIENT_MISSING, NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.record import record
from tfnb.ir.shapes import scalar_shape
from tfnb.ir.tensor import Tensor
from tfnb.types import ANY, Shape, as_shape, unknown_shape

__all__ = ["API", "LOOP_STACK", "LOOP_STACK_POP", "LOOP_STACK_PUSH", "OPS", "handle_of"]


@record
class PushAttrs:
    """`slot`: the number of the tensor in the stack; `swap_memory`: keep it in host memory."""

    slot: int = 0
    swap_memory: bool = False


@record
class PopAttrs:
    """`slot`: the number of the tensor in the stack; `shape`: its static shape."""

    slot: int = 0
    shape: Shape = unknown_shape


def handle_of(thing: object) -> np.ndarray:
    """Returns a Python object as the value of a resource tensor."""
    handle = np.empty((), object)
    handle[()] = thing
    return handle


def _make(call: HostCall) -> tuple[Any]:
    return (handle_of({}),)


def _push(call: HostCall, handle: np.ndarray, index: np.ndarray, elem: np.ndarray) -> tuple[Any]:
    value = call.tools.to_host_memory(elem) if call.attrs.swap_memory else elem
    handle.item()[call.attrs.slot, call.tools.integer(index)] = value
    return (elem,)


def _pop(call: HostCall, handle: np.ndarray, index: np.ndarray) -> tuple[Any]:
    at = call.tools.integer(index)
    value = handle.item().pop((call.attrs.slot, at), None)
    if value is None:
        raise FailedPreconditionError(f"the stack has nothing of iteration {at}")
    return (value,)


def _popped_shape(c: Infer) -> Shape:
    return unknown_shape if c.attrs.shape is None else as_shape(c.attrs.shape)


LOOP_STACK: OpDef[Tensor] = OpDef(
    "LoopStack",
    outputs="handle: resource",
    doc="Creates a stack for the iterations of one run of a loop.\n\nhandle: a scalar.",
    infer=scalar_shape,
    host=_make,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
    raw=True,
)

LOOP_STACK_PUSH: OpDef[Tensor] = OpDef(
    "LoopStackPush",
    "handle: resource, index: int32, elem: T",
    "output: T",
    """Stores `elem` for iteration `index`.

    index: a scalar. elem: any dtype and shape; output: elem itself.""",
    types={"T": ANY},
    attrs=PushAttrs,
    infer=lambda c: c.shapes[2],
    host=_push,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
    raw=True,
)

LOOP_STACK_POP: OpDef[Tensor] = OpDef(
    "LoopStackPop",
    "handle: resource, index: int32",
    "elem: T",
    """Pops the element that was stored for iteration `index`.

    index: a scalar. elem: any dtype, of the stored shape. Errors: no element was stored.""",
    types={"T": ANY},
    attrs=PopAttrs,
    infer=_popped_shape,
    host=_pop,
    grad=GRADIENT_MISSING,
    stateful=True,
    raw=True,
)

OPS: tuple[OpDef, ...] = (LOOP_STACK, LOOP_STACK_PUSH, LOOP_STACK_POP)
API: dict[str, Any] = {}
