"""The binding of a program's kernels to a device: constant arguments are set once, and the others are listed.

Scalars and constants stay until the kernels are bound to another program; a run sets inputs, outputs, random states,
scratch memory and variables. Invariant: each binding has its own kernel objects, so no other code sets their arguments.
"""

from __future__ import annotations

import operator
import struct
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
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


class _U64(NamedTuple):
    """An unsigned number of 64 bits as an argument."""

    value: int


_PACK: dict[type, Callable[[float], bytes]] = {
    I32: struct.Struct("i").pack,
    F32: struct.Struct("f").pack,
    F64: struct.Struct("d").pack,
    _U64: struct.Struct("Q").pack,
}
_COPIES = -1  # the number of the module `_COPY` in a launch that copies


class BoundLaunch(NamedTuple):
    """The launch `step` of the kernel `step.entry` of `built`, with the arguments of `enqueue_nd_range_kernel`."""

    call: tuple[Any, ...]
    built: Built
    step: Launch
    writes: bool  # whether it writes a variable

    @property
    def label(self) -> str:
        return self.step.label or self.step.entry


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
        self._built: dict[int, Built] = {}
        self.launches: list[BoundLaunch] = []
        self.rows: list[tuple[Use, int]] = []  # arguments that point to a row of the table of random states
        self.arena_uses: list[tuple[Use, int, int]] = []
        self._arena_places: list[tuple[int, int]] = []  # for each of these the numbers of its launch and argument
        self._arena_parts: list[tuple[int, int] | None] = []  # for each of these the offset and bytes that are set
        self._arena = 0  # the number of the arena of which these are parts
        self._parts: dict[Use, Any] = {}  # the memory behind arguments that are parts of a buffer
        steps = self._steps_of(program)
        expect("kernel", len(steps))
        for step in steps:
            try:
                self._bind(step)
            except KernelBuildError as e:
                e.nodes = step.nodes
                raise
        self._name_ends()

    def rebind(self, program: Program) -> bool:
        """Binds the same kernels to another program, whose steps differ in nothing but sizes.

        Returns whether it is such a program; nothing has changed if it is not.
        """
        former = self._program
        if program.modules != former.modules or not _are_same(program.consts, former.consts):
            return False
        if [v.writes for v in program.variables] != [v.writes for v in former.variables]:
            return False
        steps = self._steps_of(program)
        if len(steps) != len(self.launches):
            return False
        changes: list[list[int | bytes]] = []
        for old, new in zip(self.launches, steps, strict=True):
            numbers = [] if old.step is new else _changed_numbers(old.step, new)
            if numbers is None:
                return False
            changes.append(numbers)
        self._program = program
        launches = []  # a new list, since traced runs of the former program may yet be reported
        for old, new, numbers in zip(self.launches, steps, changes, strict=True):
            kernel = old.call[1]
            if numbers:
                _set_numbers(kernel, tuple(numbers))
            is_same = old.step is new
            launches.append(old if is_same else BoundLaunch(self._call(kernel, new), old.built, new, old.writes))
        self.launches = launches
        self.arena_uses = [
            (use, (slot := steps[k].args[place]).offset, slot.nbytes)  # type: ignore[union-attr]
            for (use, _, _), (k, place) in zip(self.arena_uses, self._arena_places, strict=True)
        ]
        self._name_ends()
        return True

    def set_part(self, use: Use, part: cl.Buffer | cl.SVM[Any]) -> None:
        """Sets an argument to a part of a buffer, and keeps the part.

        A kernel keeps no reference to its arguments, and drivers refuse buffers that have been released meanwhile. A
        pointer into shared memory is no such object.
        """
        set_arg, place = use
        set_arg(place, part)
        if isinstance(part, cl.Buffer):
            self._parts[use] = part

    def bind_arena(self, arena: DeviceTensor, number: int, offsets: Mapping[int, int]) -> None:
        """Sets the arguments that are parts of the arena with this number; `offsets` are the places of the slots."""
        memory, parts = self._device.memory, dict[tuple[int, int], Any]()
        if self._arena != number:
            self._arena, self._arena_parts = number, [None] * len(self.arena_uses)
        for k, (use, slot_offset, nbytes) in enumerate(self.arena_uses):
            place = offsets[slot_offset], nbytes if memory.has_sized_parts else 0
            if self._arena_parts[k] == place:
                continue
            part = parts.get(place)
            if part is None:
                part = parts[place] = memory.part(arena, place[0], nbytes)
            self.set_part(use, part)
            self._arena_parts[k] = place

    def _name_ends(self) -> None:
        """Lists the arguments of kernels that are inputs, outputs and variables."""
        program = self._program
        self.inputs = self._table("input", program.inputs)
        self.outputs = self._table("output", program.outputs)
        self.cell_uses = [self._uses.get(("variable", i)) for i in range(len(program.variables))]

    def _steps_of(self, program: Program) -> list[Launch]:
        """Returns the launches of all steps that do anything."""
        most = 8 * self._device.facts.units
        steps = [_launch_of(s, most) if isinstance(s, Copy) else s for s in program.steps]
        return [s for s in steps if 0 not in s.groups]

    def _bind(self, step: Launch) -> None:
        built = self._built.get(step.module)
        if built is None:
            module = _COPY if step.module == _COPIES else self._program.modules[step.module]
            built = self._built[step.module] = self._device.library.get(module, self._inline)
        kernel = cl.Kernel(built.program, step.entry)
        set_arg = kernel.set_arg
        writes = False
        numbers: list[int | bytes] = []
        for place, arg in enumerate(step.args):
            if isinstance(arg, Slot):
                self._bind_slot((set_arg, place), arg)
                writes = writes or self._writes(arg)
            else:
                numbers += (place, _PACK[type(arg)](arg.value))
        _set_numbers(kernel, tuple(numbers))
        self.launches.append(BoundLaunch(self._call(kernel, step), built, step, writes))

    def _call(self, kernel: cl.Kernel, step: Launch) -> tuple[Any, ...]:
        x, y, z = step.groups
        local = step.local
        sizes = x * local[0], y * local[1], z * local[2]
        width = 3 if sizes[2] != 1 else 2 if sizes[1] != 1 else 1
        return self._queue, kernel, sizes[:width], local[:width]

    def _writes(self, slot: Slot) -> bool:
        """Returns whether the slot is a variable that the program writes."""
        return slot.kind == "variable" and self._program.variables[slot.index].writes

    def _bind_slot(self, use: Use, slot: Slot) -> None:
        """Sets an argument that points to a constant, and lists any other one."""
        kind = slot.kind
        if kind == "arena":
            self.arena_uses.append((use, slot.offset, slot.nbytes))
            self._arena_places.append((len(self.launches), use[1]))
        elif kind == "const":
            const = self._consts[slot.index]
            self.set_part(use, self._device.memory.part(const, slot.offset, self.nbytes_of(slot)))
        elif kind == "none":
            use[0](use[1], None)
        elif kind == "rng":
            self.rows.append((use, slot.index))
        elif slot.offset:
            self._uses[kind, slot.index].further.append((use, slot.offset, self.nbytes_of(slot)))
        else:
            self._uses[kind, slot.index].plain.append(use)

    def nbytes_of(self, slot: Slot) -> int:
        """Returns the bytes of a slot; one that does not say how many means all that it points to."""
        p = self._program
        if slot.nbytes:
            return slot.nbytes
        if slot.kind == "input":
            return p.inputs[slot.index].nbytes
        if slot.kind == "output":
            return p.outputs[slot.index].nbytes
        if slot.kind == "variable":
            return p.variables[slot.index].info.nbytes
        return int(p.consts[slot.index].nbytes) if slot.kind == "const" else 0

    def accessed_bytes(self, launch: BoundLaunch) -> int:
        """Returns the bytes of all memory to which the arguments of a launch point."""
        return sum(self.nbytes_of(a) for a in launch.step.args if isinstance(a, Slot))

    def _table(self, kind: str, infos: Sequence[TensorInfo]) -> list[tuple[TensorInfo, int, list[Use], list[Any]]]:
        uses = [self._uses[kind, i] for i in range(len(infos))]
        return [(t, capacity_of(t.nbytes), u.plain, u.further) for t, u in zip(infos, uses, strict=True)]


def _launch_of(copy: Copy, most: int) -> Launch:
    """Returns the launch that copies, of at most `most` groups."""
    numbers = _U64(copy.nbytes // 16), _U64(copy.nbytes % 16)
    groups = min(-(-copy.nbytes // _COPY_CHUNK), most)
    args: Any = (copy.source, copy.target, *numbers)
    return Launch(_COPIES, "copy", args, (groups, 1, 1), (1, 1, 1), copy.nodes, "copy")


def _changed_numbers(old: Launch, new: Launch) -> list[int | bytes] | None:
    """Returns the places and bytes of the numbers that a kernel gets instead of those of another launch of it.

    Returns None if the two launches differ in more than numbers, group sizes and places in scratch memory.
    """
    if old.module != new.module or old.entry != new.entry or len(old.args) != len(new.args):
        return None
    changed: list[int | bytes] = []
    for place, (a, b) in enumerate(zip(old.args, new.args, strict=True)):
        if a is b:
            continue
        if isinstance(a, Slot):
            if not isinstance(b, Slot) or a.kind != b.kind or a.index != b.index:
                return None
            if a.kind != "arena" and (a.offset or b.offset or a.kind == "const") and a != b:
                return None
        elif type(a) is not type(b):
            return None
        elif a.value != b.value or isinstance(a.value, float):  # -0.0 equals 0.0
            changed += (place, _PACK[type(b)](b.value))
    return changed


def _are_same(some: Sequence[object], others: Sequence[object]) -> bool:
    return some is others or (len(some) == len(others) and all(map(operator.is_, some, others)))
