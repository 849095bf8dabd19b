"""Values that flow along a plan's edges: tensors on a device, or arrays on the host.

Invariant: a value is never changed after it was made, so it may be handed on without a copy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.devices.buffers import DeviceTensor
from tfnb.ir.kernelcall import TensorInfo
from tfnb.types import as_dtype

__all__ = ["Value", "index_value", "info_of", "to_host", "truth"]

Value = DeviceTensor | np.ndarray
"""A `DeviceTensor`, or a NumPy array (strings and complex numbers always are arrays)."""


def to_host(value: Value) -> np.ndarray:
    """The value as an array, waiting for it; not to be changed."""
    return value.numpy() if type(value) is DeviceTensor else value  # type: ignore[return-value]


def info_of(value: Value) -> TensorInfo:
    """Dtype and shape, without waiting."""
    if type(value) is DeviceTensor:
        return value.info
    return TensorInfo(as_dtype(value.dtype), value.shape)  # type: ignore[union-attr]


def truth(value: Value) -> bool:
    """What a Switch sees in its predicate."""
    return bool(to_host(value))


def index_value(index: int) -> np.ndarray:
    """A Merge's `value_index`."""
    return np.array(index, np.int32)


def nbytes_of(value: Any) -> int:
    """Bytes of a value; of strings, of the references to them."""
    return int(value.info.nbytes if type(value) is DeviceTensor else value.nbytes)
