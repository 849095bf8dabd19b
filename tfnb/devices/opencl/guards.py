"""Guards around the memory of a device: bytes past the end of each tensor that no kernel may change (TFNB_GUARD=1).

A kernel that writes too far damages whatever lies there, which shows much later or never. With guards the error comes
after the very program that did it. Kernels may read past the end, so every tensor has room there anyway. Invariant:
all tensors that live on the device, scratch memory included, are looked at after each program. What a kernel writes
before a tensor's beginning is found where that is the end of another one, as among small tensors.

A guard is 256 bytes long. There are none between the blocks of the arena.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from tfnb.devices.buffers import DeviceTensor
from tfnb.devices.host import PAD, capacity_of
from tfnb.devices.opencl.memory import DeviceMemory
from tfnb.errors import InternalError
from tfnb.ir.kernelcall import TensorInfo

__all__ = ["GuardedMemory"]

_PATTERN = np.frombuffer(bytes(range(1, 256)) + b"\xa5", np.uint8)


class GuardedMemory:
    """The memory `inner` with guards. It has all methods of `inner`; those that make tensors also guard them."""

    def __init__(self, inner: DeviceMemory) -> None:
        self._inner = inner
        # By the number of a tensor's object: a reference to it, and the place of its guard.
        self._guarded: dict[int, tuple[weakref.ref[DeviceTensor], int]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def allocate(self, info: TensorInfo, capacity: int) -> DeviceTensor:
        return self._guard(self._inner.allocate(info, capacity), capacity)

    def upload(self, array: np.ndarray, info: TensorInfo, capacity: int) -> DeviceTensor:
        return self._guard(self._inner.upload(array, info, capacity), capacity)

    def admit(self, array: np.ndarray, info: TensorInfo, capacity: int) -> DeviceTensor:
        """Returns a tensor with a guard if it is a copy; memory of the user's has none."""
        tensor = self._inner.admit(array, info, capacity)
        return tensor if tensor.array is array else self._guard(tensor, capacity)

    def rows(self, table: np.ndarray) -> tuple[DeviceTensor, list[Any]]:
        return self._inner.rows(table)

    def copy(self, source: DeviceTensor, target: DeviceTensor) -> None:
        """Copies; what is read of an old value that is larger lies behind the new one, and the guard behind that."""
        self._inner.copy(source, target)
        if source.info.nbytes > target.info.nbytes:
            self._put(target, source.info.nbytes)

    def viewed(self, tensor: DeviceTensor, info: TensorInfo) -> np.ndarray:
        """Returns the memory as an array of another shape, behind which the guard lies from now on."""
        array = self._inner.viewed(tensor, info)
        self._put(tensor, info.nbytes)
        return array

    def check(self, program: str) -> None:
        """Looks at all guards, after all work is done. Raises `InternalError` with the program that ran last."""
        for key, (reference, begin) in list(self._guarded.items()):
            tensor = reference()
            if tensor is None:
                del self._guarded[key]
                continue
            changed = np.flatnonzero(self._inner.bytes_of(tensor, begin, PAD) != _PATTERN)
            if changed.size:
                self._inner.set_bytes(tensor, begin, _PATTERN)
                raise InternalError(
                    f"{program} wrote past the end of {tensor!r}, which has {tensor.info.nbytes:,} bytes: "
                    f"{changed.size} of the next {PAD} have changed, the first one {begin + int(changed[0]):,} bytes "
                    "from the beginning"
                )

    def _guard(self, tensor: DeviceTensor, capacity: int) -> DeviceTensor:
        """Guards a new tensor: behind its value, or at the end of memory that is larger than the tensor needs."""
        is_larger = capacity > capacity_of(tensor.info.nbytes)
        self._put(tensor, capacity - PAD if is_larger else tensor.info.nbytes)
        return tensor

    def _put(self, tensor: DeviceTensor, begin: int) -> None:
        self._inner.set_bytes(tensor, begin, _PATTERN)
        self._guarded[id(tensor)] = weakref.ref(tensor), begin
