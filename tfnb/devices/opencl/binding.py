"""The binding of a program's kernels to a device: constant arguments are set once, and the others are listed.

Scalars and constants stay until the kernels are bound to another program; a run sets inputs, outputs, random states,
scratch memory and variables. Invariant: each binding has its own kernel objects, so no other code sets their arguments.
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable, Container, Iterable, Mapping, Sequence, Set
from itertools import compress, count, repeat
from typing import Any, NamedTuple, cast

import numpy as np
import pyopencl as cl

from tfnb.caches import Cache, remembered
from tfnb.codegen.interpreter.reader import code_of
from tfnb.codegen.program import Copy, Launch, Module, Part, Program, Slot
from tfnb.codegen.schedules.chain import selection
from tfnb.devices.buffers import DeviceTensor
from tfnb.devices.host import capacity_of
from tfnb.devices.opencl.build import Built
from tfnb.devices.opencl.interpreted import INTERPRETER, interpreted
from tfnb.devices.opencl.invokers import invoker
from tfnb.devices.opencl.program_device import ProgramDevice
from tfnb.errors import KernelBuildError
from tfnb.ir.kernelcall import F32, F64, I32, TensorInfo
from tfnb.system.progress import expect

__all__ = ["Binding", "BoundLaunch", "Report", "Use"]

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

Use = tuple[int, int]  # the numbers of a kernel of a binding, and of an argument of it

Row = tuple[TensorInfo, int, list[Use], list[Use]]
"""An input or output, the bytes of its memory, and the arguments that point to its start and further into it."""

Arguments = tuple[Sequence[int], Sequence[int]]
"""The places of arguments that are other numbers, and of those that point to other bytes of scratch memory."""

Changes = tuple[list[int | bytes], Sequence[int], bool]
"""What differs between two launches of a kernel: places of arguments that are numbers and their new bytes, in turns;
the places of those that point to scratch memory; and whether the groups do."""


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
# The numbers of the modules of launches that copy or interpret, but for those that interpret a part of a chain.
_COPIES, _INTERPRETS = -1, -2
_OTHERS = {_COPIES: _COPY, _INTERPRETS: INTERPRETER}


class BoundLaunch(NamedTuple):
    """The launch `step` of the kernel `step.entry` of `built`, with the arguments of `enqueue_nd_range_kernel`."""

    call: tuple[Any, ...]
    built: Built
    step: Launch
    writes: bool  # whether it writes a variable

    @property
    def label(self) -> str:
        return self.step.label or self.step.entry


class Report(NamedTuple):
    """What a trace has of a launch, or of the parts of a chain that run apart.

    `first` and `last` are the numbers of the launches, and `nbytes` the bytes of all memory to which arguments point.
    """

    first: int
    last: int
    label: str
    nodes: tuple[int, ...]
    nbytes: int


class _Uses:
    """The kernel arguments that point into one slot: `plain` ones to its start, `further` ones to an offset in it."""

    __slots__ = ("further", "plain")

    def __init__(self) -> None:
        self.plain: list[Use] = []
        self.further: list[Use] = []


_NO_USES = _Uses()
_NONE: Set[Use] = frozenset()


class _Layout:
    """The arguments of a program's launches that point to memory; programs that differ in nothing but sizes share it.

    `builts` has the built program of each launch, `writes` whether the launch writes a variable, `uses` the arguments
    that point to each input, output and variable, `rows` those that point to a row of the table of random states, with
    the number of the row, `consts` those that point to constants, and `arena` those that point to scratch memory.
    """

    def __init__(self, program: Program, steps: Sequence[Launch], builts: list[Built]) -> None:
        self.builts = builts
        self.writes: list[bool] = []
        self.uses: dict[tuple[str, int], _Uses] = {}
        self.rows: list[tuple[Use, int]] = []
        self.consts: list[Use] = []
        self.arena: list[Use] = []
        for k, step in enumerate(steps):
            slots = [((k, place), a) for place, a in enumerate(step.args) if isinstance(a, Slot)]
            for use, slot in slots:
                self._add(use, slot)
            self.writes.append(any(s.kind == "variable" and program.variables[s.index].writes for _, s in slots))
        self.cells = [self.uses.get(("variable", i)) for i in range(len(program.variables))]

    def _add(self, use: Use, slot: Slot) -> None:
        if slot.kind == "arena":
            self.arena.append(use)
        elif slot.kind == "const":
            self.consts.append(use)
        elif slot.kind == "rng":
            self.rows.append((use, slot.index))
        elif slot.kind != "none":
            uses = self.uses.setdefault((slot.kind, slot.index), _Uses())
            (uses.further if slot.offset else uses.plain).append(use)


class Binding:
    """The kernels of `program` on `device`; its launches go to `queue`. `calls` are those of `enqueue_nd_range_kernel`.

    `consts` are the program's constants on the device. The caller keeps them alive as long as the kernels are in use.
    With `apart`, the parts of a chain are launched by their own kernels. The interpreter runs the kernels of the
    modules `interpreted`, for all of which there is code. `like` is the binding of another program for the same queue:
    if the two differ in nothing but sizes, they share what does not depend on sizes.
    """

    def __init__(
        self,
        device: ProgramDevice,
        program: Program,
        consts: Sequence[DeviceTensor],
        queue: cl.CommandQueue,
        inline: bool,
        apart: bool = False,
        interpreted: Container[Module] = (),
        like: Binding | None = None,
    ) -> None:
        self._device = device
        self._program = program
        self._queue = queue
        self._consts = [*consts]  # and the codes that are interpreted
        self._interpreted = interpreted
        self._codes: dict[tuple[int, str], tuple[Slot, object]] = {}  # of kernels, by module and entry
        self._modules = [*program.modules]  # and those of parts
        self._parts_of = self._number_parts(program.modules) if apart else {}
        self._modules.append(INTERPRETER)  # of parts
        self._steps = self._steps_of(program)
        if like is not None and not like._is_like(program, self._steps):
            like = None
        self.layout: _Layout = self._new_layout(inline) if like is None else like.layout
        self.kernels = [cl.Kernel(b.program, s.entry) for b, s in zip(self.layout.builts, self._steps, strict=True)]
        self.calls = [self._call(kernel, step) for kernel, step in zip(self.kernels, self._steps, strict=True)]
        self._parts: dict[Use, Any] = {}  # the memory behind arguments that are parts of a buffer
        self._arena = 0  # the number of the arena to which arguments point
        self._arena_places: dict[Use, object] = {}  # the place in it to which each of them points
        self._reports: tuple[Program, list[Report]] | None = None  # what `reports` returned for which program
        self._moved: Set[Use] = _NONE  # those that may have to point to another place now
        self.resized: Sequence[int] = ()  # the launches that have other sizes since `rebind`
        self._set_constants()
        self.inputs: Sequence[Row] = self._table("input", program.inputs, () if like is None else like.inputs)
        self.outputs: Sequence[Row] = self._table("output", program.outputs, () if like is None else like.outputs)

    def _new_layout(self, inline: bool) -> _Layout:
        """Builds the kernels. Raises `KernelBuildError` with the nodes of the launch."""
        expect("kernel", len(self._steps))
        built: dict[int, Built] = {}
        for step in self._steps:
            if step.module not in built:
                module = _OTHERS.get(step.module) or self._modules[step.module]
                try:
                    built[step.module] = self._device.library.get(module, inline)
                except KernelBuildError as e:
                    e.nodes = step.nodes
                    raise
        return _Layout(self._program, self._steps, [built[s.module] for s in self._steps])

    def _number_parts(self, modules: Sequence[Module]) -> dict[int, list[tuple[int, Part]]]:
        """Gives the modules of parts numbers; returns the parts of each chain, by the number of its module."""
        numbers: dict[Module, int] = {}
        parts_of = {
            k: [(numbers.setdefault(part.module, len(modules) + len(numbers)), part) for part in module.parts]
            for k, module in enumerate(modules)
            if module.parts
        }
        self._modules += numbers
        return parts_of

    def _set_constants(self) -> None:
        """Sets the arguments that stay: numbers, constants and null pointers."""
        for kernel, step in zip(self.kernels, self._steps, strict=True):
            numbers: list[int | bytes] = []
            for place, arg in enumerate(step.args):
                if not isinstance(arg, Slot):
                    numbers += (place, _PACK[type(arg)](arg.value))
                elif arg.kind == "none":
                    kernel.set_arg(place, None)
            _set_numbers(kernel, tuple(numbers))
        for use in self.layout.consts:
            slot = self.slot_of(use)
            self.set_part(use, self._device.memory.part(self._consts[slot.index], slot.offset, self.nbytes_of(slot)))

    def rebind(self, program: Program, changed: Sequence[int]) -> bool:
        """Binds the same kernels to another program, whose steps differ in nothing but sizes.

        `changed` are the numbers of the steps that are not the same objects as those of the program before; there are
        as many steps, with the same modules. Returns whether it is such a program; nothing has changed if it is not.
        """
        former, before = self._program, self._steps
        new_steps: Any = program.steps
        if not self._differs_in_sizes(program):
            return False
        if before is not former.steps:  # which has steps that copy or do nothing
            new_steps = self._steps_of(program)
            if len(new_steps) != len(before):
                return False
            changed = list(compress(count(), map(operator.is_not, before, new_steps)))
        has_sized_parts = self._device.memory.has_sized_parts
        resized = program.resized
        known: Iterable[Arguments | None] = repeat(None)
        if resized is not None and resized.steps is changed:  # then its `former` are the steps before
            known = resized.arguments
        changes = []
        for k, arguments in zip(changed, known, strict=False):
            new = new_steps[k]
            if type(new) is Copy or 0 in new.groups:
                return False
            if arguments is None:
                change = _changes_of(before[k], new, has_sized_parts)
            else:
                change = _known_changes(before[k], new, arguments, has_sized_parts)
            if change is None:
                return False
            changes.append((k, change))
        with_other_groups: list[int] = []
        for k, (numbers, arena, has_other_groups) in changes:
            if numbers:
                _set_numbers(self.kernels[k], tuple(numbers))
            if has_other_groups:
                if not with_other_groups:
                    self.calls = self.calls.copy()  # since the former program has this list
                self.calls[k] = self._call(self.kernels[k], new_steps[k])
                with_other_groups.append(k)
            if arena:
                self._moved = self._moved | {(k, place) for place in arena}
        self._program, self._steps, self.resized = program, new_steps, with_other_groups
        self.inputs = _resized(self.inputs, former.inputs, program.inputs)
        self.outputs = _resized(self.outputs, former.outputs, program.outputs)
        return True

    def _differs_in_sizes(self, program: Program) -> bool:
        """Returns whether all but the steps of a program differs from those of the one before in nothing but sizes."""
        former = self._program
        if former.modules is not program.modules and former.modules != program.modules:
            return False
        if not _are_same(program.consts, former.consts):
            return False
        if len(program.inputs) != len(former.inputs) or len(program.outputs) != len(former.outputs):
            return False
        if program.variables is former.variables:
            return True
        if len(program.variables) != len(former.variables):
            return False
        return not any(a.writes != b.writes for a, b in zip(program.variables, former.variables, strict=True))

    def _is_like(self, program: Program, steps: Sequence[Launch]) -> bool:
        """Returns whether the two programs differ in nothing but sizes."""
        if len(steps) != len(self._steps) or not self._differs_in_sizes(program):
            return False
        pairs = zip(self._steps, steps, strict=True)
        return all(old is new or _changes_of(old, new, True) is not None for old, new in pairs)

    def set_part(self, use: Use, part: cl.Buffer | cl.SVM[Any]) -> None:
        """Sets an argument to a part of a buffer, and keeps the part.

        A kernel keeps no reference to its arguments, and drivers refuse buffers that have been released meanwhile. A
        pointer into shared memory is no such object.
        """
        kernel, place = use
        self.kernels[kernel].set_arg(place, part)
        if isinstance(part, cl.Buffer):
            self._parts[use] = part

    @property
    def has_moved(self) -> bool:
        """Whether some arguments have to point to another place in scratch memory."""
        return bool(self._moved)

    def arena_offsets(self) -> set[int]:
        """Returns where in scratch memory the slots of the program begin."""
        return {self.slot_of(use).offset for use in self.layout.arena}

    def bind_arena(self, arena: DeviceTensor, number: int, offsets: Mapping[int, int] | None) -> None:
        """Sets the arguments that are parts of the arena with this number.

        `offsets` are the places of the slots; None: the slots lie where the program says.
        """
        memory, layout, parts = self._device.memory, self.layout, dict[object, Any]()
        moved: Iterable[Use] = self._moved
        if self._arena != number:
            moved = layout.arena
            self._arena, self._arena_places = number, {}
        places, has_sized_parts = self._arena_places, memory.has_sized_parts
        steps: Any = self._steps
        for use in moved:
            kernel, number_of_argument = use
            _, _, offset, nbytes = steps[kernel].args[number_of_argument]
            if offsets is not None:
                offset = offsets[offset]
            place: object = (offset, nbytes) if has_sized_parts else offset
            if places.get(use) == place:
                continue
            part = parts.get(place)
            if part is None:
                part = parts[place] = memory.part(arena, offset, nbytes)
            self.set_part(use, part)
            places[use] = place
        self._moved = _NONE

    def _steps_of(self, program: Program) -> Sequence[Launch]:
        """Returns the launches of all steps that do anything."""
        most = 8 * self._device.facts.units
        steps: Any = program.steps
        if Copy in map(type, steps):
            steps = [_launch_of(s, most) if isinstance(s, Copy) else s for s in steps]
        if any([0 in s.groups for s in steps]):  # noqa: C419 - a generator takes longer
            steps = [s for s in steps if 0 not in s.groups]
        if self._parts_of:
            steps = [launch for s in steps for launch in self._apart(s)]
        if self._interpreted:
            steps = [self._through_interpreter(s) for s in steps]
        return cast(Sequence[Launch], steps)

    def _through_interpreter(self, step: Launch) -> Launch:
        """Returns the launch of the interpreter for a kernel that is interpreted; for another one its own launch."""
        if step.module < 0 or self._modules[step.module] not in self._interpreted:
            return step
        known = self._codes.get((step.module, step.entry))
        if known is None:
            code = cast(np.ndarray, code_of(self._modules[step.module].source, step.entry))
            known = Slot("const", len(self._consts), 0, code.nbytes), code
            self._consts.append(self._device.constant(code))
            self._codes[step.module, step.entry] = known
        is_part = step.module >= len(self._program.modules)
        return interpreted(step, len(self._modules) - 1 if is_part else _INTERPRETS, known[0])

    def _apart(self, step: Launch) -> list[Launch]:
        """Returns the launches of those parts that a launch of a chain selects; for another launch the launch itself.

        Each of them has the nodes of the whole chain, by which `reports` knows them.
        """
        if step.module not in self._parts_of:
            return [step]
        selected, *args = step.args
        launches = []
        at = 0
        for k, (module, part) in enumerate(self._parts_of[step.module]):
            if int(selected.value) & selection((k,)):  # type: ignore[union-attr]
                own = tuple(args[at : at + part.n_args])
                launches.append(step._replace(module=module, entry=part.entry, args=own, nbytes=None))
            at += part.n_args
        return launches

    def _call(self, kernel: cl.Kernel, step: Launch) -> tuple[Any, ...]:
        return (self._queue, kernel, *_work_sizes(step.groups, step.local))

    def slot_of(self, use: Use) -> Slot:
        """Returns what an argument points to."""
        kernel, place = use
        return self._steps[kernel].args[place]  # type: ignore[return-value]

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

    def launches(self) -> list[BoundLaunch]:
        """Returns the launches of the program, in the order of `calls`."""
        layout = self.layout
        return list(map(BoundLaunch, self.calls, layout.builts, self._steps, layout.writes))

    def reports(self) -> list[Report]:
        """Returns what a trace has of the launches, in the order of `calls`."""
        if self._reports is None or self._reports[0] is not self._program:
            self._reports = self._program, self._joined()
        return self._reports[1]

    def _joined(self) -> list[Report]:
        first_part = len(self._program.modules)
        found: list[Report] = []
        for k, step in enumerate(self._steps):
            nbytes = sum(self.nbytes_of(a) for a in step.args if isinstance(a, Slot))
            if found and step.module >= first_part and step.nodes is found[-1].nodes:
                found[-1] = found[-1]._replace(last=k, nbytes=found[-1].nbytes + nbytes)
            else:
                found.append(Report(k, k, step.label or step.entry, step.nodes, nbytes))
        return found

    def have_launched(self, launches: Iterable[int]) -> bool:
        """Returns whether the launches with these numbers have run before, in this program or in others."""
        has_launched, builts, steps = self._device.library.has_launched, self.layout.builts, self._steps
        for k in launches:
            _, _, sizes, local = self.calls[k]
            if not has_launched(builts[k], steps[k].entry, sizes, local):
                return False
        return True

    def _table(self, kind: str, infos: Sequence[TensorInfo], former: Sequence[Row]) -> Sequence[Row]:
        """Returns the tensors of inputs or outputs, with the arguments that point to them.

        `former` is the table of a program that differs in sizes only, or empty.
        """
        if not former:
            uses = [self.layout.uses.get((kind, i), _NO_USES) for i in range(len(infos))]
            return [(t, capacity_of(t.nbytes), u.plain, u.further) for t, u in zip(infos, uses, strict=True)]
        return [
            row if row[0] is t else (t, capacity_of(t.nbytes), row[2], row[3])
            for row, t in zip(former, infos, strict=True)
        ]


def _resized(table: Sequence[Row], former: Sequence[TensorInfo], infos: Sequence[TensorInfo]) -> Sequence[Row]:
    """Returns the table of inputs or outputs with other shapes."""
    rows = list(table)
    for k in compress(count(), map(operator.is_not, former, infos)):
        _, _, plain, further = rows[k]
        rows[k] = infos[k], capacity_of(infos[k].nbytes), plain, further
    return rows


def _launch_of(copy: Copy, most: int) -> Launch:
    """Returns the launch that copies, of at most `most` groups."""
    numbers = _U64(copy.nbytes // 16), _U64(copy.nbytes % 16)
    groups = min(-(-copy.nbytes // _COPY_CHUNK), most)
    args: Any = (copy.source, copy.target, *numbers)
    return Launch(_COPIES, "copy", args, (groups, 1, 1), (1, 1, 1), copy.nodes, "copy")


def _changes_of(old: Launch, new: Launch, has_sized_parts: bool) -> Changes | None:
    """Returns None if the two launches differ in more than numbers, group sizes and places in scratch memory.

    With `has_sized_parts`, the number of bytes at a place belongs to it.
    """
    module, entry, former_args, former_groups, former_local, *_ = old
    before: Any = former_args
    after: Any = new.args
    if module != new.module or entry != new.entry or len(after) != len(before):
        return None
    numbers: list[int | bytes] = []
    arena: list[int] = []
    for place in compress(count(), map(operator.is_not, before, after)):
        a, b = before[place], after[place]
        kind = type(b)
        if type(a) is not kind:
            return None
        if kind is Slot:
            slot, index, offset, _ = b
            if slot != a[0] or index != a[1]:
                return None
            if slot == "arena":
                if offset != a[2] or has_sized_parts:
                    arena.append(place)
            elif offset != a[2] or (slot == "const" and a != b):
                return None
        else:  # perhaps equal: -0.0 equals 0.0
            numbers += (place, _PACK[kind](b.value))
    return numbers, arena, new.groups != former_groups or new.local != former_local


def _known_changes(old: Launch, new: Launch, arguments: Arguments, has_sized_parts: bool) -> Changes:
    """Returns what `_changes_of` would, where it is known which arguments are other numbers or other bytes."""
    numbers, arena = arguments
    args: Any = new.args
    packed: list[int | bytes] = []
    for place in numbers:
        a = args[place]
        packed += (place, _PACK[type(a)](a.value))
    return packed, arena if has_sized_parts else (), new.groups != old.groups or new.local != old.local


@remembered("sizes of launches", 4096)
def _work_sizes(groups: tuple[int, int, int], local: tuple[int, int, int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns the global and the local size of a launch, in as many dimensions as it needs."""
    sizes = groups[0] * local[0], groups[1] * local[1], groups[2] * local[2]
    width = 3 if sizes[2] != 1 else 2 if sizes[1] != 1 else 1
    return sizes[:width], local[:width]


def _are_same(some: Sequence[object], others: Sequence[object]) -> bool:
    return some is others or (len(some) == len(others) and all(map(operator.is_, some, others)))
