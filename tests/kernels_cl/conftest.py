"""Runs recipes on a real OpenCL device without tfnb's own programs: a runner of a few lines.

Inputs lie in buffers 256 bytes longer than they need to be, outputs too, and a guard pattern behind
every output is checked after each run: kernels must not write past their output's end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

from tfnb.devices.opencl.platforms import units
from tfnb.errors import DeviceNotFoundError
from tfnb.ir.kernelcall import (
    F32,
    F64,
    I32,
    BiasIn,
    Epilogue,
    In,
    KernelCall,
    KernelSite,
    Out,
    Temp,
    TensorInfo,
)
from tfnb.settings import load_settings
from tfnb.types import as_dtype

KERNELS = Path(__file__).resolve().parents[2] / "kernels_cl"
PAD = 256
GUARD = 0x7F


def info(array: np.ndarray) -> TensorInfo:
    return TensorInfo(as_dtype(array.dtype), tuple(array.shape))


class Runner:
    """Builds kernel files once per set of defines and runs recipes' calls on NumPy arrays."""

    def __init__(self) -> None:
        try:  # not by pyopencl: how PoCL is set up in this process is decided by who asks it first for its devices
            self.context = cl.Context([units(load_settings())[0].device])
        except DeviceNotFoundError as e:
            pytest.skip(str(e))
        self.queue = cl.CommandQueue(self.context)
        self.units = self.context.devices[0].max_compute_units
        self._programs: dict[Any, Any] = {}
        self._kernels: dict[Any, Any] = {}

    def kernel(self, file: str, entry: str, defines: tuple[tuple[str, str], ...] = ()) -> Any:
        if (file, defines) not in self._programs:
            options = ["-I", str(KERNELS), *(f"-D{k}={v}" for k, v in defines)]
            source = (KERNELS / file).read_text()
            self._programs[file, defines] = cl.Program(self.context, source).build(options)
        key = file, entry, defines
        if key not in self._kernels:
            self._kernels[key] = cl.Kernel(self._programs[file, defines], entry)
        return self._kernels[key]

    def buffer(self, array: np.ndarray | None = None, nbytes: int = 0) -> Any:
        size = nbytes if array is None else array.nbytes
        raw = np.full(size + PAD, GUARD, np.uint8)
        if array is not None:
            raw[:size] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        return cl.Buffer(self.context, flags, hostbuf=raw)

    def fetch(self, buffer: Any, like: TensorInfo) -> np.ndarray:
        raw = np.empty(like.nbytes + PAD, np.uint8)
        cl.enqueue_copy(self.queue, raw, buffer)
        assert (raw[like.nbytes :] == GUARD).all(), "written past the output's end"
        return raw[: like.nbytes].view(like.dtype.np).reshape(like.shape)

    def launch(self, call: KernelCall, pointers: Mapping[Any, Any]) -> None:
        kernel = self.kernel(call.file, call.entry, call.defines)
        for position, arg in enumerate(call.args):
            match arg:
                case I32(value):
                    kernel.set_arg(position, np.int32(value))
                case F32(value):
                    kernel.set_arg(position, np.float32(value))
                case F64(value):
                    kernel.set_arg(position, np.float64(value))
                case Temp(key, _):
                    kernel.set_arg(position, pointers["temp", key])
                case _:
                    kernel.set_arg(position, pointers[arg])
        size = tuple(g * n for g, n in zip(call.groups, call.local, strict=True))
        cl.enqueue_nd_range_kernel(self.queue, kernel, size, call.local)

    def run_calls(
        self,
        calls: Sequence[KernelCall],
        inputs: Sequence[np.ndarray],
        outputs: Sequence[TensorInfo],
        bias: np.ndarray | None = None,
        in_place: Mapping[int, int] | None = None,
    ) -> list[np.ndarray]:
        """Results of `calls`; `in_place[o] = i` makes output o the memory of input i."""
        pointers: dict[Any, Any] = {In(i): self.buffer(a) for i, a in enumerate(inputs)}
        for o, spec in enumerate(outputs):
            shared = (in_place or {}).get(o)
            fresh = shared is None
            pointers[Out(o)] = self.buffer(nbytes=spec.nbytes) if fresh else pointers[In(shared)]
        if bias is not None:
            pointers[BiasIn()] = self.buffer(bias)
        temps: dict[str, int] = {}
        for call in calls:
            for arg in call.args:
                if isinstance(arg, Temp):
                    temps[arg.key] = max(temps.get(arg.key, 0), arg.nbytes)
        for key, nbytes in temps.items():
            pointers["temp", key] = self.buffer(nbytes=nbytes)
        for call in calls:
            self.launch(call, pointers)
        return [self.fetch(pointers[Out(o)], spec) for o, spec in enumerate(outputs)]

    def site(
        self,
        op: str,
        inputs: Sequence[np.ndarray],
        outputs: Sequence[TensorInfo],
        attrs: Any,
        *,
        values: Mapping[int, Any] | None = None,
        kind: str = "cpu",
        units: int | None = None,
        bias: np.ndarray | None = None,
        activation: str = "none",
    ) -> KernelSite:
        return KernelSite(
            op,
            inputs=tuple(map(info, inputs)),
            outputs=tuple(outputs),
            attrs=attrs,
            values=values or {},
            units=units or self.units,
            kind=kind,
            epilogue=Epilogue(None if bias is None else info(bias), activation),
        )


@pytest.fixture(scope="session")
def runner() -> Runner:
    return Runner()
