"""Tensors that a session keeps between steps, under handles that programs fetch and feed (`tf.get_session_handle`).

A handle is a string, a number that is never used again and the device of the op that kept the tensor. The tensor stays
where that op runs. Invariant: a tensor is kept until it is deleted or the session ends, whatever else runs.
"""

from __future__ import annotations

import itertools
import threading
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from tfnb.errors import DTypeError, InvalidArgumentError, NotFoundError
from tfnb.ir.default import get_default_graph
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.shapes import scalar_shape
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.placeholder import placeholder
from tfnb.types import ANY, DType, DTypeLike, string, unknown_shape

__all__ = ["API", "GET_SESSION_HANDLE", "OPS", "delete_session_tensor", "get_session_handle", "get_session_tensor"]

_numbers = itertools.count()


class SessionTensors:
    """The tensors that a session keeps, by their handles."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.values: dict[bytes, tuple[DType, Any]] = {}


def _kept(call: HostCall) -> SessionTensors:
    if call.resources is None:
        raise NotFoundError("tensors are kept only in a session", call.op)
    kept: SessionTensors = call.resources.get("", "tensors kept between steps", SessionTensors)
    return kept


def _keep(call: HostCall, value: object) -> tuple[Any]:
    kept, handle = _kept(call), f"{call.op.name};{next(_numbers)};{call.op.device or ''}".encode()
    with kept.lock:
        kept.values[handle] = call.types["T"], call.tools.to_host_memory(value)
    return (np.array(handle, object),)


def _unknown(call: HostCall, handle: bytes) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"The tensor with handle '{handle.decode(errors='replace')}' is not in the session store: it was deleted, or "
        "another session or task keeps it",
        call.op,
    )


def _find(call: HostCall, handle: object) -> tuple[Any]:
    kept, key = _kept(call), np.asarray(handle, object).item()
    with kept.lock:
        dtype, value = kept.values.get(key, (None, None))
    if dtype is None:
        raise _unknown(call, key)
    if dtype is not call.types["dtype"]:
        raise InvalidArgumentError(
            f"the tensor with handle '{key.decode()}' is {dtype.name}, expected {call.types['dtype'].name}", call.op
        )
    return (value,)


def _delete(call: HostCall, handle: object) -> tuple[()]:
    kept, key = _kept(call), np.asarray(handle, object).item()
    with kept.lock:
        if kept.values.pop(key, None) is None:
            raise _unknown(call, key)
    return ()


GET_SESSION_HANDLE: OpDef[Tensor] = OpDef(
    "GetSessionHandle",
    "value: T",
    "handle: string",
    "Keeps a tensor of any dtype in the session. Host only.\n\nhandle: a scalar, by which other steps find the tensor.",
    types={"T": ANY},
    infer=scalar_shape,
    host=_keep,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
    raw=True,
)
GET_SESSION_TENSOR: OpDef[Tensor] = OpDef(
    "GetSessionTensor",
    "handle: string",
    "value: dtype",
    "The tensor that the session keeps under `handle`, a scalar. Host only.\n\nErrors: there is none of this dtype.",
    types={"dtype": ANY},
    infer=lambda c: unknown_shape,
    host=_find,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
    raw=True,
)
DELETE_SESSION_TENSOR: OpDef[Operation] = OpDef(
    "DeleteSessionTensor",
    "handle: string",
    "",
    "Deletes the tensor that the session keeps under `handle`, a scalar. Host only.\n\nErrors: there is none.",
    host=_delete,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
    raw=True,
)


def get_session_handle(data: TensorLike, name: str | None = None) -> Tensor:
    """Keeps a tensor in the session and returns its handle, a string scalar.

    data: any dtype and shape. `session.run` returns a `TensorHandle` for the handle: `eval()` is the value, `delete()`
    forgets it, and it may be fed in place of a value. The value is forgotten when the last `TensorHandle` of it is.
    """
    return GET_SESSION_HANDLE(data, name=name)


def _holder(handle: str | bytes) -> tuple[Tensor, AbstractContextManager[Any]]:
    """A placeholder for the handle, and a context in which nodes are placed where its tensor is kept."""
    if not isinstance(handle, (str, bytes)):
        raise DTypeError(f"handle must be the str of a TensorHandle, got {type(handle).__name__} {handle!r}")
    text = handle.decode() if isinstance(handle, bytes) else handle
    device = text.split(";")[-1]
    return placeholder(string, ()), get_default_graph().device(device) if device else nullcontext()


def get_session_tensor(handle: str | bytes, dtype: DTypeLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """A placeholder for handles, and the tensor that the session keeps under the handle that is fed to it.

    handle: the `handle` of a `TensorHandle`, which says where the tensor is kept. dtype: that of the tensor, whose
    shape is not known before. Raises `DTypeError` if `handle` is not a string; a step raises `InvalidArgumentError` if
    there is no such tensor.
    """
    holder, device = _holder(handle)
    with device:
        return holder, GET_SESSION_TENSOR(holder, dtype=dtype, name=name)


def delete_session_tensor(handle: str | bytes, name: str | None = None) -> tuple[Tensor, Operation]:
    """A placeholder for handles, and the operation that deletes the tensor whose handle is fed to it.

    handle: the `handle` of a `TensorHandle`. Raises `DTypeError` if it is not a string; a step raises
    `InvalidArgumentError` if there is no such tensor.
    """
    holder, device = _holder(handle)
    with device:
        return holder, DELETE_SESSION_TENSOR(holder, name=name)


OPS: tuple[OpDef, ...] = (GET_SESSION_HANDLE, GET_SESSION_TENSOR, DELETE_SESSION_TENSOR)
API: dict[str, Any] = {
    "get_session_handle": get_session_handle,
    "get_session_tensor": get_session_tensor,
    "delete_session_tensor": delete_session_tensor,
}
