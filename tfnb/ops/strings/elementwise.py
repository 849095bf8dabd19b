"""Application of a Python function to the elements of string tensors, with the broadcasting of TensorFlow's string ops.

A string tensor is an object array of bytes. Invariant: results are new arrays; an error names the element concerned.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfnb.errors import OpError
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, NoAttrs, OpDef
from tfnb.ir.shapes import unchanged
from tfnb.ir.tensor import Tensor

__all__ = ["clipped", "mapped", "text_op", "unquoted"]


def clipped(text: bytes, limit: int = 60) -> str:
    """Returns the first `limit` bytes of a text, for an error message."""
    return repr(text if len(text) <= limit else text[:limit] + b"...")


def unquoted(text: bytes, limit: int = 60) -> str:
    """Returns the first `limit` bytes of a text without quotes, as TensorFlow's messages show it."""
    return clipped(text, limit)[2:-1]


def mapped(
    call: HostCall, fn: Callable[..., Any], *arrays: np.ndarray, dtype: type | np.dtype[Any] = object
) -> np.ndarray:
    """Applies `fn` to the elements of `arrays`, which broadcast; its errors name the node and the element."""
    many = np.broadcast_arrays(*arrays) if len(arrays) > 1 else list(arrays)
    out = np.empty(many[0].shape, dtype)
    flat = out.reshape(-1)
    for i, values in enumerate(zip(*(a.reshape(-1) for a in many), strict=True)):
        try:
            flat[i] = fn(*values)
        except OpError as e:
            where = f"element {i}: " if out.size > 1 else ""
            raise type(e)(f"{call.op.type}, {where}{e.message}", call.op) from None
    return out


def text_op(
    name: str,
    fn: Callable[..., Any],
    doc: str,
    *,
    inputs: str = "input: string",
    outputs: str = "output: string",
    attrs: type = NoAttrs,
    dtype: type | np.dtype[Any] = object,
    api: str = "",
    **more: Any,
) -> OpDef[Tensor]:
    """Defines a host op that applies `fn(attrs, text)` to each element of one string input."""
    return OpDef(
        name,
        inputs,
        outputs,
        doc + " Runs on the host.",
        attrs=attrs,
        infer=unchanged,
        host=lambda call, x: mapped(call, lambda t: fn(call.attrs, t), x, dtype=dtype),
        grad=NOT_DIFFERENTIABLE,
        api=api,
        **more,
    )
