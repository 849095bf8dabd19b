"""The values on the edges of a plan: tensors on a device, or arrays on the host.

Invariant: a value is never changed after its creation, so it may be passed on without a copy.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfnb.devices.buffers import DeviceTensor
from tfnb.ir.kernelcall import TensorInfo
from tfnb.runtime.stats import WAIT, StepStats
from tfnb.types import as_dtype

__all__ = ["Value", "await_inputs", "index_value", "info_of", "to_host", "truth"]

Value = DeviceTensor | np.ndarray
"""A `DeviceTensor`, or a NumPy array (strings and complex numbers always are arrays)."""


def to_host(value: Value) -> np.ndarray:
    """The value as an array, which the caller must not change. Waits until the value is computed."""
    return value.numpy() if type(value) is DeviceTensor else value  # type: ignore[return-value]


def info_of(value: Value) -> TensorInfo:
    """The dtype and shape of the value, without waiting for it."""
    if type(value) is DeviceTensor:
        return value.info
    return TensorInfo(as_dtype(value.dtype), value.shape)  # type: ignore[union-attr]


def truth(value: Value) -> bool:
    """The predicate of a Switch as a bool. Waits until the value is computed."""
    return bool(to_host(value))


def await_inputs(values: Sequence[Value], recorder: StepStats) -> float:
    """Waits for the values that devices still compute, and records the wait, so that it does not count for the reader.

    Returns the time at which all values were computed, in microseconds since the step began.
    """
    pending = [v for v in values if type(v) is DeviceTensor and v.ticket is not None and not v.ticket.done]
    if pending:
        start = recorder.now_us()
        for value in pending:
            value.wait()
        recorder.span(WAIT, f"wait for {pending[-1].device.name.rpartition('device:')[2]}", start)
    return recorder.now_us()


def index_value(index: int) -> np.ndarray:
    """The output `value_index` of a Merge, an int32 scalar."""
    return np.array(index, np.int32)


def nbytes_of(value: Value) -> int:
    """The size of a value in bytes. For strings on the host, it is the size of the references to them."""
    return int(value.info.nbytes if isinstance(value, DeviceTensor) else value.nbytes)
