"""The binding of a program's kernels to a device: constant arguments are set once, and the others are listed.

Scalars and constants never change; a run sets inputs, outputs, random states, scratch memory and variables.
Invariant: each binding has its own kernel objects, so no other code sets their arguments.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pyopencl as cl
from pyopencl import invoker

from tfnb.caches import Cache
from tfnb.codegen.program import Copy, Launch, Module, Program, Slot
from tfnb.devices.buffers import DeviceTensor
from tfnb.devices.host import capacity_of
from tfnb.devices.opencl.build import Built
from tfnb.devices.opencl.program_device import ProgramDevice
from tfnb.errors import KernelBuildError
from tfnb.ir.kernelcall import F32, F64, I32, TensorInfo
from tfnb.system.progress import expect

__all__ = ["Binding", "BoundLaunch", "Use"]

_COPY_CHUNK = 1 << 16

# Each work-group copies its share of n pieces of 16 bytes, and the last one also the remaining bytes.
_COPY = Module(
    source="""
__kernel void copy(__global const uchar *from, __global uchar *to, ulong n, ulong odd)
{
    __global const uint4 *source = (__global const uint4 *)from;
    __global uint4 *target = (__global uint4 *)to;
    ulong groups = get_num_groups(0), g = get_group_id(0);
    ulong end = n * (g + 1) / groups;
    for (ulong i = n * g / groups; i < end; ++i)
        target[i] = source[i];
    if (g == groups - 1)
        for (ulong i = 0; i < odd; ++i)
            to[n * 16 + i] = from[n * 16 + i];
}
"""
)

# pyopencl makes functions for the arguments of each new kernel object, which takes it half a millisecond with its cache
# on disk. They depend on the arguments of the call alone, so equal kernels share them.
_invokers: Cache[tuple[object, ...], Any] = Cache("functions that launch kernels", 4096)
_generate: Callable[..., Any] = invoker.generate_enqueue_and_set_args


def _generated_once(*arguments: object, **named: object) -> Any:
    key = tuple(tuple(a) if isinstance(a, list) else a for a in (*arguments, *named.values()))
    functions = _invokers.get(key)
    return _invokers.put(key, _generate(*arguments, **named)) if functions is None else functions


invoker.generate_enqueue_and_set_args = _generated_once

Use = tuple[Callable[[int, Any], None], int]  # `set_arg` of a kernel, and the index of the argument


# What pyopencl's own generated functions call for numbers: `set_arg` takes 10 microseconds for each.
_set_numbers: Callable[[cl.Kernel, tuple[int | bytes, ...]], None] = vars(cl.Kernel)["_set_arg_buf_multi"]


_PACK: dict[type, Callable[[float], bytes]] = {
    I32: struct.Struct("i").pack,
    F32: struct.Struct("f").pack,
    F64: struct.Struct("d").pack,
}


class BoundLaunch(NamedTuple):
    """A launch of the kernel `entry` of `built`; `call` holds the arguments of `enqueue_nd_range_kernel`."""

    call: tuple[Any, ...]
    built: Built
    entry: str
    label: str
    nodes: tuple[int, ...]
    nbytes: int
    writes: bool  # whether it writes a variable


class _Uses:
    """The kernel arguments that point into one slot: `plain` ones to its start, `further` ones to an offset in it."""

    __slots__ = ("further", "plain")

    def __init__(self) -> None:
        self.plain: list[Use] = []
        self.further: list[tuple[Use, int, int]] = []


class Binding:
    """The kernels of `program` on `device`; its launches go to `queue`.

    `consts` are the program's constants on the device. The caller keeps them alive as long as the kernels are in use.
    """

    def __init__(
        self,
        device: ProgramDevice,
        program: Program,
        consts: Sequence[DeviceTensor],
        queue: cl.CommandQueue,
        inline: bool,
    ) -> None:
        self._device = device
        self._program = program
        self._queue = queue
        self._inline = inline
        self._consts = consts
        self._uses: defaultdict[tuple[str, int], _Uses] = defaultdict(_Uses)
        self._built: list[Built | None] = [None] * len(program.modules)
        self.launches: list[BoundLaunch] = []
        self.rows: list[tuple[Use, int]] = []  # arguments that point to a row of the table of random states
        self.arena_uses: list[tuple[Use, int, int]] = []
        self._bind()
        self.inputs = self._table("input", program.inputs)
        self.outputs = self._table("output", program.outputs)
        self.cell_uses = [self._uses.get(("variable", i)) for i in range(len(program.variables))]

    def _bind(self) -> None:
        expect("kernel", sum(isinstance(s, Copy) or 0 not in s.groups for s in self._program.steps))
        for step in self._program.steps:
            if isinstance(step, Copy):
                self._bind_copy(step)
            elif 0 not in step.groups:
                try:
                    self._bind_launch(step)
                except KernelBuildError as e:
                    e.nodes = step.nodes
                    raise

    def _bind_launch(self, step: Launch) -> None:
        module, entry, args, (x, y, z), local, nodes, label, _ = step
        built = self._built[module]
        if built is None:
            built = self._built[module] = self._device.library.get(self._program.modules[module], self._inline)
        kernel = cl.Kernel(built.program, entry)
        set_arg = kernel.set_arg
        nbytes, writes = 0, False
        numbers: list[int | bytes] = []
        for place, arg in enumerate(args):
            if isinstance(arg, Slot):
                nbytes += self._bind_slot((set_arg, place), arg)
                writes = writes or self._writes(arg)
            else:
                numbers += (place, _PACK[type(arg)](arg.value))
        _set_numbers(kernel, tuple(numbers))
        sizes = x * local[0], y * local[1], z * local[2]
        width = 3 if sizes[2] != 1 else 2 if sizes[1] != 1 else 1
        call = (self._queue, kernel, sizes[:width], local[:width])
        self.launches.append(BoundLaunch(call, built, entry, label or entry, nodes, nbytes, writes))

    def _bind_copy(self, step: Copy) -> None:
        if not step.nbytes:
            return
        built = self._device.library.get(_COPY, self._inline)
        kernel = cl.Kernel(built.program, "copy")
        self._bind_slot((kernel.set_arg, 0), step.source)
        self._bind_slot((kernel.set_arg, 1), step.target)
        _set_numbers(kernel, (2, struct.pack("Q", step.nbytes // 16), 3, struct.pack("Q", step.nbytes % 16)))
        groups = min(-(-step.nbytes // _COPY_CHUNK), 8 * self._device.facts.units)
        call = (self._queue, kernel, (groups,), (1,))
        nbytes = 2 * step.nbytes
        self.launches.append(BoundLaunch(call, built, "copy", "copy", step.nodes, nbytes, self._writes(step.target)))

    def _writes(self, slot: Slot) -> bool:
        """Returns whether the slot is a variable that the program writes."""
        return slot.kind == "variable" and self._program.variables[slot.index].writes

    def _bind_slot(self, use: Use, slot: Slot) -> int:
        """Sets an argument that points to a constant, lists any other one, and returns the bytes of the slot."""
        nbytes = slot.nbytes or self._nbytes(slot)
        kind = slot.kind
        if kind == "arena":
            self.arena_uses.append((use, slot.offset, nbytes))
        elif kind == "const":
            const = self._consts[slot.index]
            use[0](use[1], self._device.memory.part(const, slot.offset, nbytes))
        elif kind == "none":
            use[0](use[1], None)
        elif kind == "rng":
            self.rows.append((use, slot.index))
        elif slot.offset:
            self._uses[kind, slot.index].further.append((use, slot.offset, nbytes))
        else:
            self._uses[kind, slot.index].plain.append(use)
        return nbytes

    def _nbytes(self, slot: Slot) -> int:
        p = self._program
        if slot.kind == "input":
            return p.inputs[slot.index].nbytes
        if slot.kind == "output":
            return p.outputs[slot.index].nbytes
        if slot.kind == "variable":
            return p.variables[slot.index].info.nbytes
        return int(p.consts[slot.index].nbytes) if slot.kind == "const" else 0

    def _table(self, kind: str, infos: Sequence[TensorInfo]) -> list[tuple[TensorInfo, int, list[Use], list[Any]]]:
        uses = [self._uses[kind, i] for i in range(len(infos))]
        return [(t, capacity_of(t.nbytes), u.plain, u.further) for t, u in zip(infos, uses, strict=True)]
