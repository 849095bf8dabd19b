"""A program on an OpenCL device: kernel objects with preset arguments, which every run launches again.

Constant arguments are set when the program is loaded (`binding.py`). A run sets inputs, outputs, random states and
those variables whose memory has changed, and then launches all kernels (`launching.py`). The parts of a chain are
launched by kernels of their own, which other programs have too, until the program has run often and a second process
has compiled the chain (`second_compiler.py`); both give the same bits.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence, Set
from itertools import compress, count
from operator import is_not
from typing import Any, NamedTuple, cast

import numpy as np
import pyopencl as cl

from tfnb.codegen.interpreter.reader import code_of
from tfnb.codegen.program import Copy, Launch, Module, Program, Slot, Step
from tfnb.devices.buffers import Cell, DeviceTensor
from tfnb.devices.host import capacity_of
from tfnb.devices.interface import ProgramTakenError, Recorder
from tfnb.devices.opencl.binding import Binding, Use
from tfnb.devices.opencl.interpreted import INTERPRETER
from tfnb.devices.opencl.launching import Launcher
from tfnb.devices.opencl.program_device import ProgramDevice
from tfnb.devices.opencl.small_reads import SmallReads
from tfnb.errors import InternalError, OpError, ResourceExhaustedError
from tfnb.ir.kernelcall import F32, F64, I32, TensorInfo

__all__ = ["OpenCLProgram", "error_of"]

_OWN = capacity_of(1 << 12)  # bytes of the largest input for which an inline program keeps memory
INLINE_BYTES = 1 << 18  # the number of bytes that a core accesses before other cores have started
_INLINE_LAUNCHES = 16  # so many times these bytes are the most work of an inline program, for which its caller waits
_WORK_OF_A_BUILD = 16  # so many times the most work of an inline program takes the caller less time than a build
_new = tuple.__new__  # the function that makes a named tuple takes twice as long
_RUNS_BETWEEN = 128  # runs of a program without its chains after which it asks for one, or whether it is there
_RUNS_OF_INTERPRETER = 8  # runs with interpreted kernels after which a program asks for compiled ones, or for whether
# they are there
_MOST_INTERPRETED = 1024  # such runs after which the program compiles kernels that never came
_INTERPRETED_BYTES = 1 << 22  # the most that a launch accesses which is interpreted
_WORTH_INTERPRETER = 20  # kernels that take longer to compile than the interpreter does
_KINDS = {Slot: "p", I32: "i", F32: "f", F64: "d"}  # the letters of arguments, see `Request`
_ONE_ITEM = ((1, 1, 1), (1, 1, 1))  # the number of groups, and of work-items in each
_MEMORY_ERRORS = (
    cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE,
    cl.status_code.OUT_OF_HOST_MEMORY,
    cl.status_code.OUT_OF_RESOURCES,
)


def error_of(error: cl.Error, device: str) -> OpError:
    """Returns the error of tfnb for an error of OpenCL."""
    text = f"{device}: {error}"
    return ResourceExhaustedError(text) if error.code in _MEMORY_ERRORS else InternalError(text)


class _Kernel(NamedTuple):
    """A kernel that a program launches.

    `kinds` has a letter for each argument (see `Request`), `nbytes` is the number of bytes that the launch accesses.
    """

    module: Module
    entry: str
    kinds: str
    nbytes: int


class OpenCLProgram:
    """A loaded program, see `LoadedProgram`. `inline` says whether it runs in the caller's thread.

    `former` is another program that may differ in nothing but sizes. If so, this one takes over its kernels if it is
    `spare`; `is_taken` then says that the former program has none.
    """

    def __init__(
        self, device: ProgramDevice, program: Program, former: OpenCLProgram | None = None, is_spare: bool = True
    ) -> None:
        if former is not None and former._device is not device:
            former = None
        self.program = program
        self._device: ProgramDevice = device
        self.is_taken = False
        changed = None if former is None else _changed(former.program, program)
        self._works = _works_of(program, former, changed)
        prefers_inline = device.inline_queue is not None and _is_small(self._works, device.facts.units)
        self._chains = [m for m in program.modules if m.parts] if device.library.compiles_at_launch else []
        self._is_apart = False  # whether the parts of chains are launched by their own kernels
        self._n_apart: int = 0 if former is None else former._n_apart  # runs with them
        self._interpreted: tuple[Module, ...] = ()  # the modules whose kernels are interpreted
        self._n_interpreted: int = 0 if former is None else former._n_interpreted  # runs with them
        # While the kernels are being built for the better one of the two devices, the other one runs them.
        self._moves = device.inline_queue is not None and self._has_only(not prefers_inline, former)
        if self._moves:
            device.library.build_soon(self._modules_on(prefers_inline), prefers_inline)
        self._bind(prefers_inline is not self._moves, former, is_spare, changed)

    def _has_only(self, inline: bool, former: OpenCLProgram | None) -> bool:
        """Returns whether the kernels are built for this device only, and the work there is shorter than a build."""
        library = self._device.library
        if former is not None and former.inline is not inline and former.program.modules == self.program.modules:
            return False
        return (
            not library.has(self._modules_on(not inline), not inline)
            and library.has(self._modules_on(inline), inline)
            and _is_small(self._works, self._device.facts.units, _WORK_OF_A_BUILD)
        )

    def _modules_on(self, inline: bool) -> list[Module]:
        """Returns the modules that run on one of the two devices now: chains that it does not have, by their parts."""
        modules: list[Module] = []
        has = self._device.library.has
        for m in self.program.modules:
            modules += [part.module for part in m.parts] if m in self._chains and not has((m,), inline) else (m,)
        return modules

    def _settle_chains(self) -> None:
        """Notes a run without chains, and takes the next step towards having them if it is time for that."""
        self._n_apart += 1
        if self._n_apart % _RUNS_BETWEEN:
            return
        library, inline = self._device.library, self.inline
        if library.has(self._chains, inline):
            self._bind(inline)
            return
        missing = [m for m in self._chains if not library.has_archived(m, inline)]
        if not missing:
            library.build_soon(self._chains, inline)
            return
        self._ask_for(missing, self._kernels_of(()), on_nothing=True)

    def _ask_for(self, missing: Sequence[Module], kernels: Iterable[_Kernel], on_nothing: bool) -> None:
        """Asks the second process for the kernels of the first of these modules that may still come."""
        found: dict[Module, dict[str, str]] = {m: {} for m in missing}
        for module, entry, kinds, _ in kernels:
            if module in found:
                found[module][entry] = kinds
        library = self._device.library
        any(library.compile_elsewhere(m, self.inline, [*found[m].items()], on_nothing) for m in missing)

    def _kernels_of(self, apart: Container[Module]) -> Iterator[_Kernel]:
        """Yields the kernels that the program launches. The chains `apart` are launched by their parts."""
        modules = self.program.modules
        for step in self.program.steps:
            if not isinstance(step, Launch):
                continue
            module, kinds = modules[step.module], "".join([_KINDS[type(a)] for a in step.args])
            nbytes = _work_of(step, modules)[0]
            if module not in apart:
                yield _Kernel(module, step.entry, kinds, nbytes)
                continue
            at = 1  # after the argument that selects parts
            for part in module.parts:
                yield _Kernel(part.module, part.entry, kinds[at : at + part.n_args], nbytes)
                at += part.n_args

    def _apart_on(self, inline: bool) -> list[Module]:
        """Returns the chains that are launched by their parts on one of the two devices."""
        return [m for m in self._chains if not self._device.library.has((m,), inline)]

    def _to_interpret(self, inline: bool) -> tuple[Module, ...]:
        """Returns the modules whose kernels the interpreter runs for now.

        Nobody has compiled them, there is code for all of their kernels that the program launches, and these access so
        little memory that interpreting them takes less time than compiling. Where the interpreter would have to be
        compiled itself, there must be many of them.
        """
        library = self._device.library
        if not library.interprets or self._n_interpreted >= _MOST_INTERPRETED:
            return ()
        new: dict[Module, set[str]] = {
            m: set()
            for m in self._modules_on(inline)
            if m.source and not library.has((m,), inline) and not library.has_archived(m, inline)
        }
        if not new:
            return ()
        for module, entry, _, nbytes in self._kernels_of(self._apart_on(inline)):
            if module in new and nbytes <= _INTERPRETED_BYTES and code_of(module.source, entry) is not None:
                new[module].add(entry)
            else:
                new.pop(module, None)
        n_kernels = sum(map(len, new.values()))
        is_there = library.has((INTERPRETER,), inline) or library.has_archived(INTERPRETER, inline)
        return tuple(new) if is_there or n_kernels >= _WORTH_INTERPRETER else ()

    def _settle_interpreted(self) -> None:
        """Notes a run with interpreted kernels; if it is time for that, takes the next step towards compiled ones."""
        self._n_interpreted += 1
        if self._n_interpreted % _RUNS_OF_INTERPRETER:
            return
        library, inline = self._device.library, self.inline
        missing = [m for m in self._interpreted if not library.has_archived(m, inline)]
        if not missing or self._n_interpreted >= _MOST_INTERPRETED:
            self._bind(inline)
        else:
            self._ask_for(missing, self._kernels_of(self._apart_on(inline)), on_nothing=False)

    def _bind(
        self,
        inline: bool,
        former: OpenCLProgram | None = None,
        is_spare: bool = True,
        changed: Sequence[int] | None = None,
    ) -> None:
        device, program = self._device, self.program
        self.inline = inline
        self._is_apart = bool(self._apart_on(inline))
        self._interpreted = self._to_interpret(inline)
        inline_queue = device.inline_queue if inline else None
        self._queue = inline_queue or device.queue
        self._reads = SmallReads.of(program) if inline and program.reads else None
        if former is not None and (
            former.inline is not inline
            or former._is_apart is not self._is_apart
            or former._interpreted != self._interpreted
        ):
            former = None
        spare = former if former is not None and is_spare and former._gives(program, changed) else None
        if spare is not None:
            self._consts: Sequence[DeviceTensor] = spare._consts
            self._binding: Binding = spare._binding
            self._launcher: Launcher = spare._launcher
            self._launcher.follow(program.variables)
        else:
            like = None if former is None else former._binding
            try:
                self._consts = tuple([device.constant(array) for array in program.consts])
                self._binding = Binding(
                    device, program, self._consts, self._queue, inline, self._is_apart, self._interpreted, like
                )
            except cl.Error as e:
                raise error_of(e, device.name) from None
            self._launcher = Launcher(device, self._binding, program.variables, inline)
        self._kernels = self._binding.kernels
        self._inputs = self._binding.inputs
        self._outputs = self._binding.outputs
        self._rows = self._binding.layout.rows
        self._cell_uses = self._binding.layout.cells
        self._has_arena = bool(self._binding.layout.arena)
        # The number of the arena that is bound; a reference would keep the memory of an older one.
        is_bound = (
            spare is not None and not self._binding.has_moved and program.arena_nbytes <= spare.program.arena_nbytes
        )
        self._arena: int = spare._arena if spare is not None and is_bound else 0
        # Memory for small input arrays, as an array of the input's shape, and whether it is bound now.
        self._own: list[tuple[DeviceTensor, np.ndarray] | None] = [None] * len(program.inputs)
        self._holds_own = bytearray(len(program.inputs))
        # The kernel argument, dtype and shape of each variable to which the kernels are bound. Invariant: the shape is
        # the one that this program reads or writes.
        self._bound_cells: list[Any] = [None] * len(program.variables)
        if spare is not None:
            self._take_cells(spare)
            self._take_own(spare)

    def _take_cells(self, spare: OpenCLProgram) -> None:
        """Notes the variables to which the kernels of another program are bound, where that still is right.

        A variable that has another shape in this program is looked at again in the run, and so is one with arguments
        that point to a part of it, whose length may have changed.
        """
        has_sized_parts = self._device.memory.has_sized_parts
        for i, (bound, variable) in enumerate(zip(spare._bound_cells, self.program.variables, strict=True)):
            uses = self._cell_uses[i]
            is_part = has_sized_parts and uses is not None and bool(uses.further)
            if bound is not None and bound[1] == variable.info and not is_part:
                self._bound_cells[i] = bound

    def _take_own(self, spare: OpenCLProgram) -> None:
        """Takes the memory for small inputs from a program that does not run again, where it has the same size."""
        for k, own in enumerate(spare._own):
            if own is not None and self._inputs[k][1] == spare._inputs[k][1]:
                info = self._inputs[k][0]
                if info is not spare._inputs[k][0]:
                    own = own[0], self._device.memory.viewed(own[0], info)
                self._own[k], self._holds_own[k] = own, spare._holds_own[k]

    def _gives(self, program: Program, changed: Sequence[int] | None) -> bool:
        """Gives the kernels to another program if they fit; `changed` is the result of `_changed`."""
        if self.is_taken or changed is None or not self._binding.rebind(program, changed):
            return False
        self.is_taken = True
        return True

    # ---- running ---------------------------------------------------------------------------

    def run(
        self,
        inputs: Sequence[DeviceTensor | np.ndarray],
        cells: Sequence[Cell],
        rng: np.ndarray | None = None,
        recorder: Recorder | None = None,
    ) -> Sequence[DeviceTensor | np.ndarray]:
        device = self._device
        # The lock is not taken yet, because a download from another device may take the lock of that device.
        values = [v.numpy() if type(v) is DeviceTensor and v.device is not device else v for v in inputs]
        with device.lock:
            if self.is_taken:
                raise ProgramTakenError
            if self._moves and device.library.has(self._modules_on(not self.inline), not self.inline):
                self._moves = False
                self._bind(not self.inline)
            if self._is_apart:
                self._settle_chains()
            if self._interpreted:
                self._settle_interpreted()
            try:
                if self._reads is not None and recorder is None and device.in_flight is None:
                    copies = self._reads.copies(values, cells)
                    if copies is not None:
                        return copies
                return self._run(values, cells, rng, recorder)
            except cl.Error as e:
                raise error_of(e, device.name) from None

    def _run(
        self,
        inputs: Sequence[Any],
        cells: Sequence[Cell],
        rng: np.ndarray | None,
        recorder: Recorder | None,
    ) -> list[DeviceTensor]:
        device = self._device
        memory = device.memory
        queue = self._queue if recorder is None else device.profiling_queue(self.inline)
        if queue is not device.active or device.in_flight is not None:
            device.settle()  # first wait for work on another queue or of an interrupted run
            device.active = queue
        if self._has_arena and self._arena != device.arenas:
            self._bind_arena()
        kernels = self._kernels
        keep: list[Any] = []
        for k, (value, (info, capacity, uses_at_start, uses_at_offset)) in enumerate(
            zip(inputs, self._inputs, strict=True)
        ):
            uses_own = False
            if type(value) is not DeviceTensor:
                uses_own = self.inline and recorder is None and capacity <= _OWN
                if uses_own and self._holds_own[k]:
                    self._own[k][1][...] = value  # type: ignore[index]
                    continue
                value = self._placed(k, value) if uses_own else self._admit(value, info, capacity, recorder)
            self._holds_own[k] = False
            keep.append(value.array)
            keep.append(arg := value.arg)
            for kernel, place in uses_at_start:
                kernels[kernel].set_arg(place, arg)
            if uses_at_offset:
                self._bind_further(value, uses_at_offset)
            self._holds_own[k] = uses_own
        outputs = []
        for info, capacity, uses_at_start, uses_at_offset in self._outputs:
            value = memory.allocate(info, capacity)
            arg = value.arg
            for kernel, place in uses_at_start:
                kernels[kernel].set_arg(place, arg)
            if uses_at_offset:
                self._bind_further(value, uses_at_offset)
            outputs.append(value)
        changes = self._bind_cells(cells) if cells else []
        if self._rows:
            keep.append(self._bind_rows(rng))
        keep.append([v.array for v in outputs])
        self._finish(keep, outputs, cells, changes, recorder)
        return outputs

    def _placed(self, k: int, array: np.ndarray) -> DeviceTensor:
        """Copies a small input into memory that the program keeps.

        After a run in the caller's thread nothing reads this memory any more, so the next run may use it again. Memory
        from a pool must be bound in each run, which would cost several times as much as the copy.
        """
        own = self._own[k]
        if own is None:
            info, capacity, _, _ = self._inputs[k]
            tensor = self._device.memory.allocate(info, capacity)
            self._own[k] = own = tensor, cast(np.ndarray, tensor.array)
        own[1][...] = array
        return own[0]

    def _admit(self, array: np.ndarray, info: TensorInfo, capacity: int, recorder: Recorder | None) -> DeviceTensor:
        """Makes an array a tensor of the device, and records the transfer."""
        memory = self._device.memory
        if recorder is None:
            return memory.admit(array, info, capacity)
        start = recorder.now_us()
        value = memory.admit(array, info, capacity)
        how = "used where it is" if value.array is array else "copied"
        label = f"to {self._device.name.rpartition('device:')[2]}"
        recorder.span("transfer", label, start, info.nbytes, f"{info.dtype.name}{list(info.shape)}, {how}")
        return value

    def _bind_further(self, value: DeviceTensor, further: Iterable[Use]) -> None:
        binding, part = self._binding, self._device.memory.part
        for use in further:
            slot = binding.slot_of(use)
            binding.set_part(use, part(value, slot.offset, binding.nbytes_of(slot)))

    def _bind_arena(self) -> None:
        device, binding = self._device, self._binding
        offsets, surplus = None, 0
        if device.memory.align > 1:
            offsets, surplus = _spread(binding.arena_offsets(), device.memory.align)
        arena = device.scratch(self.program.arena_nbytes + surplus, self.program.name)
        binding.bind_arena(arena, device.arenas, offsets)
        self._arena = device.arenas

    def _bind_rows(self, rng: np.ndarray | None) -> DeviceTensor:
        if rng is None or len(rng) < len(self.program.random):
            raise InternalError(f"{self.program.name} needs {len(self.program.random)} random states")
        tensor, rows = self._device.memory.rows(rng)
        for use, index in self._rows:
            self._binding.set_part(use, rows[index])
        return tensor

    def _bind_cells(self, cells: Sequence[Cell]) -> list[tuple[Cell, str, DeviceTensor]]:
        """Binds the memory of the variables.

        Returns the arguments of the `setattr` calls for those cells that get new memory in this run.
        """
        changes: list[tuple[Cell, str, DeviceTensor]] = []
        for i, cell in enumerate(cells):
            tensor = cell.tensor
            if tensor is not None and (tensor.arg, tensor.info) == self._bound_cells[i]:
                continue
            use = self.program.variables[i]
            if use.writes and (tensor is None or (tensor.info is not use.info and tensor.info != use.info)):
                tensor = self._fresh(cell, use.info, use.reads)
                changes.append((cell, "tensor", tensor))
            if tensor is None:
                raise InternalError(f"{self.program.name} reads {cell.name}, which has no value")
            uses = self._cell_uses[i]
            if uses is not None:
                for kernel, place in uses.plain:
                    self._kernels[kernel].set_arg(place, tensor.arg)
                if uses.further:
                    self._bind_further(tensor, uses.further)
            self._bound_cells[i] = tensor.arg, tensor.info
        return changes

    def _fresh(self, cell: Cell, info: TensorInfo, reads: bool) -> DeviceTensor:
        memory, old_tensor = self._device.memory, cell.tensor
        nbytes = info.nbytes if old_tensor is None or not reads else max(info.nbytes, old_tensor.info.nbytes)
        tensor: DeviceTensor = memory.allocate(info, capacity_of(nbytes))
        if reads and old_tensor is not None:
            memory.copy(old_tensor, tensor)
        return tensor

    def _finish(
        self,
        keep: list[Any],
        outputs: list[DeviceTensor],
        cells: Sequence[Cell],
        changes: list[Any],
        recorder: Recorder | None,
    ) -> None:
        device = self._device
        keep.append([c.tensor for c in cells])
        device.in_flight = keep  # it is kept alive even if an interrupt ends this function
        event, interrupt = self._launcher.run(cells, changes, recorder)
        if event is None or self.inline:
            device.in_flight = None
        else:
            ticket = device.ticket(event, keep)
            for value in outputs:
                value.ticket = ticket
            for cell in cells:
                cell.tensor.ticket = ticket  # type: ignore[union-attr]
        if interrupt is not None:
            raise interrupt
        if device.guards is not None:
            device.settle()
            device.guards.check(self.program.name)


def _spread(offsets: Set[int], align: int) -> tuple[dict[int, int], int]:
    """Rounds offsets up to multiples of `align`; returns the new offsets and the distance by which the last one moved.

    Later offsets move at least as far as earlier ones, so disjoint buffers stay disjoint.
    """
    new_offsets, shift = {}, 0
    for offset in sorted(offsets):
        shift += -(offset + shift) % align
        new_offsets[offset] = offset + shift
    return new_offsets, shift


class _Works(NamedTuple):
    """The bytes that each step accesses, those of each input and output, and the `total` of all.

    `known` is False for library kernels of which nobody says how many they are; `all_known` is False if there are any.
    """

    nbytes: Sequence[int]
    known: Sequence[bool]
    ends: Sequence[int]
    total: int
    all_known: bool


def _changed(old: Program, new: Program) -> Sequence[int] | None:
    """Returns the numbers of the steps that may be other objects; None if the programs differ in more than those.

    Their inputs, outputs and variables may have other shapes.
    """
    if new.resized is not None and new.resized.former is old.steps and old.modules is new.modules:
        return new.resized.steps
    if len(old.steps) != len(new.steps) or (old.modules is not new.modules and old.modules != new.modules):
        return None
    if len(old.inputs) != len(new.inputs) or len(old.outputs) != len(new.outputs):
        return None
    return list(compress(count(), map(is_not, old.steps, new.steps)))


def _works_of(program: Program, former: OpenCLProgram | None, changed: Sequence[int] | None) -> _Works:
    """Returns the work of a program; `changed` is the result of `_changed` for `former` and this one."""
    modules, steps = program.modules, program.steps
    infos = (*program.inputs, *program.outputs)
    if former is None or changed is None:
        pairs = [_work_of(s, modules) for s in steps]
        nbytes, known = [n for n, _ in pairs], [k for _, k in pairs]
        ends = [i.nbytes for i in infos]
        return _Works(nbytes, known, ends, sum(nbytes) + sum(ends), all(known))
    old, (former_nbytes, former_known, former_ends, total, all_known) = former.program, former._works
    nbytes, known, ends = [*former_nbytes], [*former_known], [*former_ends]
    for k in changed:
        step = steps[k]
        work, is_known = step.nbytes, True
        if work is None or type(step) is Copy:
            work, is_known = _work_of(step, modules)
        total += work - nbytes[k]
        nbytes[k] = work
        if is_known is not known[k]:
            known[k] = is_known
            all_known = all(known)
    for k, (before, info) in enumerate(zip((*old.inputs, *old.outputs), infos, strict=True)):
        if before is not info:
            size = info.nbytes
            total += size - ends[k]
            ends[k] = size
    return _new(_Works, (nbytes, known, ends, total, all_known))


def _work_of(step: Step, modules: Sequence[Module]) -> tuple[int, bool]:
    if type(step) is Copy:
        return 2 * step.nbytes, True
    if step.nbytes is not None:
        return step.nbytes, True
    module, _, args, groups, local, *_ = step
    nbytes = sum([a[3] for a in args if type(a) is Slot])
    return nbytes, not modules[module].file or (groups, local) == _ONE_ITEM


def _is_small(works: _Works, units: int, times: int = 1) -> bool:
    """Returns whether passing the work to the threads of `units` cores costs more than the work itself.

    With `times`, the question is whether that is so for work of which this is `times` as much; a library kernel of
    which nobody says how much work it is then counts `times` the bytes of its arguments.

    The cores save a launch all but its `units`-th part, and start late, so many small launches are no reason to wake
    them. Library kernels of which nobody says how much work they are run on the main device, except kernels with a
    single work-item, as for small matrix products.
    """
    most = times * INLINE_BYTES * units / max(units - 1, 0.5)
    if times == 1:
        if not works.all_known or works.total <= most:  # which is less than that of many launches
            return works.all_known
        counted, total = works.nbytes, works.total
    else:
        counted = [n if is_known else n * times for n, is_known in zip(works.nbytes, works.known, strict=True)]
        total = sum(counted) + sum(works.ends)
    return max(counted, default=0) <= most and total <= times * _INLINE_LAUNCHES * INLINE_BYTES
