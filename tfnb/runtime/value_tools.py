"""The operations of host kernels that store values (tensor arrays, stacks), without a copy to the host where possible.

White paper, section 4.4: the state of loops stays on the device. Invariant: a value that this module creates is never
changed afterwards. A part of a value shares the memory of the whole value and keeps that memory alive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfnb.caches import Cache
from tfnb.devices.buffers import Cell, DeviceTensor, MemoryStats
from tfnb.devices.call_program import update_program
from tfnb.devices.interface import Device, LoadedProgram
from tfnb.ir.kernelcall import KernelCall, KernelSite, TensorInfo
from tfnb.runtime.values import Value, info_of, to_host

__all__ = ["ValueTools"]

_MAX_PROGRAMS = 16  # programs for different shapes; when there are more, the oldest is dropped
Recipe = Callable[[Sequence[TensorInfo], int, str], "tuple[KernelSite, tuple[KernelCall, ...]]"]


class ValueTools:
    """Stacks, splits, adds and updates values for one device. The methods wait for the values that they read."""

    __slots__ = ("_device", "_programs")

    def __init__(self, device: Device) -> None:
        self._device: Any = device  # typed as Any, because its `memory` is not part of the interface
        self._programs: Cache[Any, LoadedProgram] = Cache("programs of updates", _MAX_PROGRAMS)

    def memory_stats(self) -> MemoryStats:
        """The memory of the device."""
        stats: MemoryStats = self._device.memory_stats()
        return stats

    @staticmethod
    def host(value: Value) -> np.ndarray:
        """The value as an array, which the caller must not change. Waits until the value is computed."""
        return to_host(value)

    @staticmethod
    def integer(value: Value) -> int:
        """The value of an integer scalar."""
        return int(to_host(value))

    @staticmethod
    def shape(value: Value) -> tuple[int, ...]:
        """The shape of the value, without waiting for it."""
        return value.shape

    @staticmethod
    def dtype_name(value: Value) -> str:
        """The name of the value's dtype, for example "float32", without waiting for it."""
        return info_of(value).dtype.name

    def stack(self, values: Sequence[Value]) -> Value:
        """Stacks values of one shape and dtype along a new first axis."""
        arrays = [to_host(v) for v in values]
        target, out = self._target(values[0], (len(values), *values[0].shape))
        np.stack(arrays, out=out)
        return target

    def concat(self, values: Sequence[Value]) -> Value:
        """Concatenates values along their first axis. Their shapes may differ in the first dimension only."""
        arrays = [to_host(v) for v in values]
        rows = sum(v.shape[0] for v in values)
        target, out = self._target(values[0], (rows, *values[0].shape[1:]))
        np.concatenate(arrays, out=out)
        return target

    def _target(self, like: Value, shape: tuple[int, ...]) -> tuple[Value, np.ndarray]:
        """Allocates a result of this shape with the dtype of `like`.

        Returns the result and the array through which the host writes it. The result is on the device if `like` is
        there and the host can write the device's memory, and in the memory of the host otherwise.
        """
        if type(like) is DeviceTensor and like.array is not None:
            tensor = self._device.allocate(TensorInfo(like.info.dtype, shape))
            if tensor.array is not None:
                return tensor, tensor.array
        array: np.ndarray = np.empty(shape, info_of(like).dtype.np)
        return array, array

    def update(self, recipe: Recipe, inputs: Sequence[Value], cell: Cell | None) -> Cell:
        """Runs library kernels that write the tensor of `cell` in place, or a new tensor if `cell` is None; returns the
        cell.

        `recipe(infos, units, kind)` returns the kernel site and its calls for inputs of these dtypes and shapes on a
        device with these compute units and of this kind. With a cell, the calls also read its old tensor.
        """
        infos = tuple(info_of(v) for v in inputs)
        program = self._programs.find((recipe, infos))
        if program is None:
            facts = self._device.facts
            with self._programs.timed():
                site, calls = recipe(infos, facts.units, facts.kind)
                program = self._device.load(update_program(site, calls, cell is not None))
            self._programs.put((recipe, infos), program)
        if cell is None:
            cell = Cell("sum")
        program.run(inputs, (cell,))
        return cell

    def unstack(self, value: Value) -> list[Value]:
        """Splits a value into its elements along the first axis, which the results do not have."""
        return self.split(value, [1] * value.shape[0], squeeze=True)

    def split(self, value: Value, lengths: Sequence[int], squeeze: bool = False) -> list[Value]:
        """Splits a value along its first axis into pieces of these lengths.

        With `squeeze`, all lengths must be 1, and the pieces do not have the first axis.
        """
        tail = value.shape[1:]
        pieces: list[Value] = []
        start = 0
        if type(value) is not DeviceTensor or value.array is None:
            array = to_host(value)
            for n in lengths:
                part = array[start : start + n]
                pieces.append(part.reshape(tail) if squeeze else part)
                start += n
            return pieces
        width = TensorInfo(value.info.dtype, tail).nbytes
        for n in lengths:
            shape = tail if squeeze else (n, *tail)
            view = value.array[start : start + n].reshape(shape)
            arg = self._device.memory.part(value, start * width, n * width)
            pieces.append(DeviceTensor(value.device, TensorInfo(value.info.dtype, shape), arg, view, value.ticket))
            start += n
        return pieces

    def to_host_memory(self, value: Value) -> Value:
        """Copies the value to the memory of the host, for `swap_memory`. A value on a CPU is there already."""
        if type(value) is DeviceTensor and value.array is None:
            return value.numpy()
        return value

    def add(self, values: Sequence[Value]) -> Value:
        """The sum of values of one shape and dtype, as a new array."""
        total = np.array(to_host(values[0]))
        for v in values[1:]:
            total += to_host(v)
        return total
