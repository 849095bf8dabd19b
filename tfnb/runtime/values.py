"""Values that flow along a plan's edges: tensors on a device, or arrays on the host.

Invariant: a value is never changed after it was made, so it may be handed on without a copy.
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


def await_inputs(values: Sequence[Value], recorder: StepStats) -> float:
    """Waits for values that devices still compute, noting it, so that it does not count as their reader's time.

    The time at which they were there.
    """
    pending = [v for v in values if type(v) is DeviceTensor and v.ticket is not None and not v.ticket.done]
    if pending:
        start = recorder.now_us()
        for value in pending:
            value.wait()
        recorder.span(WAIT, f"wait for {pending[-1].device.name.rpartition('device:')[2]}", start)
    return recorder.now_us()


def index_value(index: int) -> np.ndarray:
    """A Merge's `value_index`."""
    return np.array(index, np.int32)


def nbytes_of(value: Value) -> int:
    """Bytes of a value; of strings, of the references to them."""
    return int(value.info.nbytes if isinstance(value, DeviceTensor) else value.nbytes)
