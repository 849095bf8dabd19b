"""What host kernels that keep values (tensor arrays, stacks) do with them, without a detour over the host.

White paper, section 4.4: state of loops stays on the device. Invariant: a value made here is never changed afterwards;
a part shares the memory of the whole, and keeps it alive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfnb.caches import Cache
from tfnb.devices.buffers import Cell, DeviceTensor
from tfnb.devices.call_program import update_program
from tfnb.devices.interface import Device, LoadedProgram
from tfnb.ir.kernelcall import KernelCall, KernelSite, TensorInfo
from tfnb.runtime.values import Value, info_of, to_host

__all__ = ["ValueTools"]

_MAX_PROGRAMS = 16  # for other shapes; the oldest goes
Recipe = Callable[[Sequence[TensorInfo], int, str], "tuple[KernelSite, tuple[KernelCall, ...]]"]


class ValueTools:
    """Works on values for a device."""

    __slots__ = ("_device", "_programs")

    def __init__(self, device: Device) -> None:
        self._device: Any = device  # its `memory` is not part of the interface
        self._programs: Cache[Any, LoadedProgram] = Cache("programs of updates", _MAX_PROGRAMS)

    @staticmethod
    def host(value: Value) -> np.ndarray:
        """The value as an array, waiting for it; not to be changed."""
        return to_host(value)

    @staticmethod
    def integer(value: Value) -> int:
        """The number that a scalar holds."""
        return int(to_host(value))

    @staticmethod
    def shape(value: Value) -> tuple[int, ...]:
        return value.shape

    @staticmethod
    def dtype_name(value: Value) -> str:
        return info_of(value).dtype.name

    def stack(self, values: Sequence[Value], axis_length: int | None = None) -> Value:
        """Values of one shape as one, along a new first axis."""
        arrays = [to_host(v) for v in values]
        target, out = self._target(values[0], (len(values), *values[0].shape))
        np.stack(arrays, out=out)
        return target

    def concat(self, values: Sequence[Value]) -> Value:
        """Values that differ in their first dimension only as one, along it."""
        arrays = [to_host(v) for v in values]
        rows = sum(v.shape[0] for v in values)
        target, out = self._target(values[0], (rows, *values[0].shape[1:]))
        np.concatenate(arrays, out=out)
        return target

    def _target(self, like: Value, shape: tuple[int, ...]) -> tuple[Value, np.ndarray]:
        """Room for a result, on the device where the host can write there, and the array to write."""
        if type(like) is DeviceTensor and like.array is not None:
            made = self._device.allocate(TensorInfo(like.info.dtype, shape))
            if made.array is not None:
                return made, made.array
        array: np.ndarray = np.empty(shape, info_of(like).dtype.np)
        return array, array

    def update(self, recipe: Recipe, inputs: Sequence[Value], cell: Cell | None) -> Cell:
        """Runs library kernels that write a tensor where it lies: that of `cell`, or a new one.

        `recipe(infos, units, kind)` gives the site and its calls for inputs of these dtypes and shapes; with a cell,
        the calls read what it holds.
        """
        infos = tuple(info_of(v) for v in inputs)
        loaded = self._programs.get((recipe, infos))
        if loaded is None:
            facts = self._device.facts
            site, calls = recipe(infos, facts.units, facts.kind)
            loaded = self._device.load(update_program(site, calls, cell is not None))
            self._programs.put((recipe, infos), loaded)
        if cell is None:
            cell = Cell("sum")
        loaded.run(inputs, (cell,))
        return cell

    def unstack(self, value: Value) -> list[Value]:
        """The parts along the first axis."""
        return self.split(value, [1] * value.shape[0], squeeze=True)

    def split(self, value: Value, lengths: Sequence[int], squeeze: bool = False) -> list[Value]:
        """Pieces along the first axis; with `squeeze` without it."""
        tail = value.shape[1:]
        found: list[Value] = []
        start = 0
        if type(value) is not DeviceTensor or value.array is None:
            array = to_host(value)
            for n in lengths:
                part = array[start : start + n]
                found.append(part.reshape(tail) if squeeze else part)
                start += n
            return found
        width = TensorInfo(value.info.dtype, tail).nbytes
        for n in lengths:
            shape = tail if squeeze else (n, *tail)
            view = value.array[start : start + n].reshape(shape)
            arg = self._device.memory.part(value, start * width, n * width)
            found.append(DeviceTensor(value.device, TensorInfo(value.info.dtype, shape), arg, view, value.ticket))
            start += n
        return found

    def to_host_memory(self, value: Value) -> Value:
        """The value in the host's memory, for `swap_memory`; on a CPU it is there already."""
        if type(value) is DeviceTensor and value.array is None:
            return value.numpy()
        return value

    def add(self, values: Sequence[Value]) -> Value:
        """The sum of values of one shape."""
        total = np.array(to_host(values[0]))
        for v in values[1:]:
            total += to_host(v)
        return total
