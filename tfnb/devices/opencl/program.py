"""A program bound to an OpenCL device: kernel objects with preset arguments, replayed at every run.

What never changes (scalars, constants, scratch) is bound once; a run binds inputs, outputs, random states and
those variables whose memory changed, then makes all launches in one call into C. Invariant: a run's launches, and the
cells it changes, happen all or not at all, even when Ctrl-C arrives among them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain, islice, starmap
from typing import Any, NamedTuple

import numpy as np
import pyopencl as cl

from tfnb.codegen.program import Copy, Launch, Module, Program, Slot
from tfnb.devices.buffers import Cell, DeviceTensor
from tfnb.devices.host import capacity_of
from tfnb.devices.interface import Recorder
from tfnb.devices.opencl.build import Built
from tfnb.devices.opencl.clock import SeenEvent
from tfnb.devices.opencl.small_reads import SmallReads
from tfnb.errors import InternalError, KernelBuildError, OpError, ResourceExhaustedError
from tfnb.ir.kernelcall import F32, I32, TensorInfo

__all__ = ["OpenCLProgram", "error_of"]

_OWN = capacity_of(1 << 12)  # of an input that a program in the caller's thread keeps memory for
INLINE_BYTES = 1 << 18  # what all launches of a program may touch to run in the caller's thread
_COPY_CHUNK = 1 << 16
_ONE_ITEM = ((1, 1, 1), (1, 1, 1))  # groups, and work-items of each
_WATCH = 64  # launches of a first run between looks at what PoCL has loaded

# Each work-group copies its part of n 16-byte pieces; the last one the odd bytes too.
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

Use = tuple[Callable[[int, Any], None], int]  # set_arg of a kernel, and the place of the argument
_enqueue = cl.enqueue_nd_range_kernel
_QUEUED, _START, _END = (getattr(cl.profiling_info, n) for n in ("QUEUED", "START", "END"))
_MEMORY_ERRORS = (
    cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE,
    cl.status_code.OUT_OF_HOST_MEMORY,
    cl.status_code.OUT_OF_RESOURCES,
)


def error_of(error: cl.Error, device: str) -> OpError:
    """The error of ours that says what OpenCL said."""
    text = f"{device}: {error}"
    return ResourceExhaustedError(text) if error.code in _MEMORY_ERRORS else InternalError(text)


class _Bound(NamedTuple):
    """A launch: `call` holds the arguments of `enqueue_nd_range_kernel`; `built` and `entry` say what it runs."""

    call: tuple[Any, ...]
    built: Built
    entry: str
    label: str
    nodes: tuple[int, ...]
    nbytes: int


class _Uses:
    """Where the kernels of a program take one slot's pointer: at its start, or further on."""

    __slots__ = ("further", "plain")

    def __init__(self) -> None:
        self.plain: list[Use] = []
        self.further: list[tuple[Use, int, int]] = []


class OpenCLProgram:
    """See `LoadedProgram`; `device` is an `OpenCLDevice`. `inline` says that it runs in the caller's thread."""

    def __init__(self, device: Any, program: Program) -> None:
        self.program = program
        self._device = device
        self.inline = device.inline_queue is not None and _is_small(program)
        self._queue = device.inline_queue if self.inline else device.queue
        self._uses: dict[tuple[str, int], _Uses] = {}
        self._launches: list[_Bound] = []
        self._consts: list[DeviceTensor] = []
        self._rows: list[tuple[Use, int]] = []
        self._arena: DeviceTensor | None = None
        self._arena_uses: list[tuple[Use, int, int]] = []
        self._has_run = False
        self._reads = SmallReads.of(program) if self.inline else None
        try:
            self._bind()
        except cl.Error as e:
            raise error_of(e, device.name) from None
        self._calls = [b.call for b in self._launches]
        self._traced_calls: list[Any] | None = None
        self._inputs = self._table("input", program.inputs)
        self._outputs = self._table("output", program.outputs)
        self._own: list[DeviceTensor | None] = [None] * len(program.inputs)  # memory for small arrays that come
        self._holds_own = [False] * len(program.inputs)  # is it bound now?
        self._bound_cells: list[Any] = [None] * len(program.variables)
        self._cell_uses = [self._uses.get(("variable", i)) for i in range(len(program.variables))]

    # ---- binding ---------------------------------------------------------------------------

    def _bind(self) -> None:
        self._consts = [self._device.constant(array) for array in self.program.consts]
        for step in self.program.steps:
            if isinstance(step, Copy):
                self._bind_copy(step)
            elif 0 not in step.groups:
                try:
                    self._bind_launch(step)
                except KernelBuildError as e:
                    e.nodes = step.nodes
                    raise

    def _bind_launch(self, step: Launch) -> None:
        built = self._device.library.get(self.program.modules[step.module], self.inline)
        kernel = cl.Kernel(built.program, step.entry)
        nbytes = 0
        for place, arg in enumerate(step.args):
            if isinstance(arg, Slot):
                nbytes += self._bind_slot((kernel.set_arg, place), arg)
            else:
                kind = np.int32 if isinstance(arg, I32) else np.float32 if isinstance(arg, F32) else np.float64
                kernel.set_arg(place, kind(arg.value))
        sizes = tuple(g * n for g, n in zip(step.groups, step.local, strict=True))
        width = max((i + 1 for i in range(3) if sizes[i] != 1), default=1)
        self._add(kernel, built, step.entry, sizes[:width], step.local[:width], step.label, step.nodes, nbytes)

    def _bind_copy(self, step: Copy) -> None:
        if not step.nbytes:
            return
        built = self._device.library.get(_COPY, self.inline)
        kernel = cl.Kernel(built.program, "copy")
        self._bind_slot((kernel.set_arg, 0), step.source)
        self._bind_slot((kernel.set_arg, 1), step.target)
        kernel.set_arg(2, np.uint64(step.nbytes // 16))
        kernel.set_arg(3, np.uint64(step.nbytes % 16))
        groups = min(-(-step.nbytes // _COPY_CHUNK), 8 * self._device.facts.units)
        self._add(kernel, built, "copy", (groups,), (1,), "copy", step.nodes, 2 * step.nbytes)

    def _add(
        self, kernel: Any, built: Built, entry: str, sizes: tuple[int, ...], local: tuple[int, ...],
        label: str, nodes: tuple[int, ...], nbytes: int,
    ) -> None:  # fmt: skip
        call = (self._queue, kernel, sizes, local)
        self._launches.append(_Bound(call, built, entry, label or entry, nodes, nbytes))

    def _bind_slot(self, use: Use, slot: Slot) -> int:
        """Binds what stays, notes what does not; returns the slot's bytes."""
        nbytes = slot.nbytes or self._nbytes(slot)
        if slot.kind == "const":
            const = self._consts[slot.index]
            use[0](use[1], self._device.memory.part(const, slot.offset, nbytes))
        elif slot.kind == "arena":
            self._arena_uses.append((use, slot.offset, nbytes))
        elif slot.kind == "rng":
            self._rows.append((use, slot.index))
        else:
            uses = self._uses.setdefault((slot.kind, slot.index), _Uses())
            if slot.offset:
                uses.further.append((use, slot.offset, nbytes))
            else:
                uses.plain.append(use)
        return nbytes

    def _nbytes(self, slot: Slot) -> int:
        p = self.program
        if slot.kind == "input":
            return p.inputs[slot.index].nbytes
        if slot.kind == "output":
            return p.outputs[slot.index].nbytes
        if slot.kind == "variable":
            return p.variables[slot.index].info.nbytes
        return int(p.consts[slot.index].nbytes) if slot.kind == "const" else 0

    def _table(
        self, kind: str, infos: Sequence[TensorInfo]
    ) -> list[tuple[TensorInfo, int, list[Use], list[Any]]]:
        found = [self._uses.get((kind, i)) or _Uses() for i in range(len(infos))]
        return [(t, capacity_of(t.nbytes), u.plain, u.further) for t, u in zip(infos, found, strict=True)]

    # ---- running ---------------------------------------------------------------------------

    def run(
        self,
        inputs: Sequence[DeviceTensor | np.ndarray],
        cells: Sequence[Cell],
        rng: np.ndarray | None = None,
        recorder: Recorder | None = None,
    ) -> Sequence[DeviceTensor | np.ndarray]:
        device = self._device
        # Before the lock: fetching from another device may take that one's lock.
        values = [
            v.numpy() if type(v) is DeviceTensor and v.device is not device else v for v in inputs
        ]
        with device.lock:
            try:
                if self._reads is not None and recorder is None and device.in_flight is None:
                    found = self._reads.copies(values, cells)
                    if found is not None:
                        return found
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
            device.settle()  # what was enqueued on another queue, or cut off, comes first
            device.active = queue
        if self._arena_uses and (self._arena is None or self._arena is not device.arena):
            self._bind_arena()
        keep: list[Any] = []
        for k, (value, (info, capacity, plain, further)) in enumerate(zip(inputs, self._inputs, strict=True)):
            own = False
            if type(value) is not DeviceTensor:
                own = self.inline and recorder is None and capacity <= _OWN
                if own and self._holds_own[k]:
                    self._own[k].array[...] = value  # type: ignore[union-attr,index]
                    continue
                value = self._placed(k, value) if own else self._admit(value, info, capacity, recorder)
            self._holds_own[k] = False
            keep.append(value.array)
            keep.append(arg := value.arg)
            for set_arg, place in plain:
                set_arg(place, arg)
            if further:
                self._bind_further(value, further)
            self._holds_own[k] = own
        outputs = []
        for info, capacity, plain, further in self._outputs:
            value = memory.allocate(info, capacity)
            arg = value.arg
            for set_arg, place in plain:
                set_arg(place, arg)
            if further:
                self._bind_further(value, further)
            outputs.append(value)
        changes = self._bind_cells(cells) if cells else []
        if self._rows:
            keep.append(self._bind_rows(rng))
        keep.append([v.array for v in outputs])
        self._finish(keep, outputs, cells, changes, recorder)
        return outputs

    def _placed(self, k: int, array: np.ndarray) -> DeviceTensor:
        """A small input in memory that stays the program's own, as a run in the caller's thread leaves nothing that
        reads it: what a pool, and binding other memory in each run, would cost is several times the copy."""
        tensor = self._own[k]
        if tensor is None:
            info, capacity, _, _ = self._inputs[k]
            self._own[k] = tensor = self._device.memory.allocate(info, capacity)
        tensor.array[...] = array  # type: ignore[index]
        return tensor

    def _admit(self, array: Any, info: TensorInfo, capacity: int, recorder: Recorder | None) -> DeviceTensor:
        """An array as a tensor of the device."""
        memory = self._device.memory
        if recorder is None:
            return memory.admit(array, info, capacity)
        start = recorder.now_us()
        value = memory.admit(array, info, capacity)
        how = "used where it is" if value.array is array else "copied"
        label = f"to {self._device.name.rpartition('device:')[2]}"
        recorder.span("transfer", label, start, info.nbytes, f"{info.dtype.name}{list(info.shape)}, {how}")
        return value

    def _bind_further(self, value: DeviceTensor, further: Iterable[tuple[Use, int, int]]) -> None:
        part = self._device.memory.part
        for (set_arg, place), offset, nbytes in further:
            set_arg(place, part(value, offset, nbytes))

    def _bind_arena(self) -> None:
        device = self._device
        moved, more = _spread((offset for _, offset, _ in self._arena_uses), device.memory.align)
        arena = device.scratch(self.program.arena_nbytes + more, self.program.name)
        self._bind_further(
            arena, ((use, moved[offset], nbytes) for use, offset, nbytes in self._arena_uses)
        )
        self._arena = arena

    def _bind_rows(self, rng: np.ndarray | None) -> DeviceTensor:
        if rng is None or len(rng) < len(self.program.random):
            raise InternalError(
                f"{self.program.name} needs {len(self.program.random)} random states"
            )
        tensor, rows = self._device.memory.rows(rng)
        for (set_arg, place), index in self._rows:
            set_arg(place, rows[index])
        return tensor

    def _bind_cells(self, cells: Sequence[Cell]) -> list[tuple[Cell, str, DeviceTensor]]:
        """Binds the variables' memory; returns the cells that get other memory with this run."""
        changes: list[tuple[Cell, str, DeviceTensor]] = []
        for i, cell in enumerate(cells):
            tensor = cell.tensor
            if tensor is not None and (tensor.arg, tensor.info) == self._bound_cells[i]:
                continue
            use = self.program.variables[i]
            if use.writes and (
                tensor is None or (tensor.info is not use.info and tensor.info != use.info)
            ):
                tensor = self._fresh(cell, use.info, use.reads)
                changes.append((cell, "tensor", tensor))
            if tensor is None:
                raise InternalError(f"{self.program.name} reads {cell.name}, which has no value")
            uses = self._cell_uses[i]
            if uses is not None:
                for set_arg, place in uses.plain:
                    set_arg(place, tensor.arg)
                self._bind_further(tensor, uses.further)
            self._bound_cells[i] = tensor.arg, tensor.info
        return changes

    def _fresh(self, cell: Cell, info: TensorInfo, reads: bool) -> DeviceTensor:
        memory, old = self._device.memory, cell.tensor
        room = info.nbytes if old is None or not reads else max(info.nbytes, old.info.nbytes)
        tensor: DeviceTensor = memory.allocate(info, capacity_of(room))
        if reads and old is not None:
            memory.copy(old, tensor)
        return tensor

    def _finish(
        self,
        keep: list[Any],
        outputs: list[DeviceTensor],
        cells: Sequence[Cell],
        changes: list[Any],
        recorder: Any,
    ) -> None:
        device = self._device
        keep.append([c.tensor for c in cells])
        device.in_flight = keep  # outlives this frame should an interrupt unwind it
        if recorder is not None:
            event, interrupt = self._traced(changes, recorder)
        elif not self._has_run:
            with device.library.room():
                events, interrupt = self._early(self._calls, changes)
            event = events[-1] if events else None
        else:
            events, interrupt = _all_of(
                chain(starmap(_enqueue, self._calls), starmap(setattr, changes)), len(changes)
            )
            event = events[0] if self._calls else None
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

    def _is_compiled(self, b: _Bound) -> bool:
        return bool(self._device.library.is_compiled(b.built, b.entry, b.call[3]))

    def _early(
        self, calls: Sequence[Any], changes: list[Any], recorder: Recorder | None = None
    ) -> tuple[list[Any], BaseException | None]:
        """A first run: launches one by one, announcing kernels that compile for the first time on this machine."""
        library, interrupt = self._device.library, None
        launched: list[Any] = []
        for i, (b, call) in enumerate(zip(self._launches, calls, strict=True)):
            if self._is_compiled(b):
                events, caught = _all_of(starmap(_enqueue, [call]))
            else:
                start = recorder.now_us() if recorder is not None else 0.0
                with library.compiling(b.built, b.entry, b.call[3]):
                    events, caught = _all_of(starmap(_enqueue, [call]))
                    call[0].finish()
                if recorder is not None:
                    recorder.span("compile", b.label, start, detail=f"the device compiles {b.entry}")
            launched.append(events[0])
            interrupt = interrupt or caught
            if i % _WATCH == _WATCH - 1 or i == len(self._launches) - 1:
                call[0].finish()
                library.launched(
                    (x.built.key, x.entry, x.call[3])
                    for x in self._launches[i - i % _WATCH : i + 1]
                )
        _, caught = _all_of(starmap(setattr, changes))
        self._has_run = True
        return launched, interrupt or caught

    def _traced(self, changes: list[Any], recorder: Recorder) -> tuple[Any, BaseException | None]:
        """Runs on a queue that takes times; the recorder asks for them later."""
        if self._traced_calls is None:
            queue = self._device.profiling_queue(self.inline)
            self._traced_calls = [(queue, *call[1:]) for call in self._calls]
        calls = self._traced_calls
        before = recorder.now_us()
        events: Sequence[Any]
        if self._has_run:
            made = chain(starmap(_enqueue, calls), starmap(setattr, changes))
            found, interrupt = _all_of(made, len(calls) + len(changes))
            events = list(islice(found, len(calls)))
        else:
            with self._device.library.room():
                events, interrupt = self._early(calls, changes, recorder)
        if not events:
            return None, interrupt
        done = SeenEvent(events[-1])
        if self.inline:  # which it is already
            done.wait()
        recorder.later(partial(self._report, recorder, events, done, before, recorder.now_us()))
        return done, interrupt

    def _report(
        self, recorder: Recorder, events: Sequence[Any], done: SeenEvent, before: float, after: float
    ) -> None:  # fmt: skip
        """Gives a recorder the times of a run's launches, which were enqueued between `before` and `after`."""
        done.wait()
        times = [(1e-3 * e.get_profiling_info(_START), 1e-3 * e.get_profiling_info(_END)) for e in events]
        first, last = (1e-3 * e.get_profiling_info(_QUEUED) for e in (events[0], events[-1]))
        begin, ended = 1e6 * recorder.begin, 1e6 * done.seen - times[-1][1]  # the last launch ended before that
        zero = self._device.clocks[self.inline].zero(begin + before, first, last, begin + after, ended) - begin
        name, queue = self._device.name, "inline" if self.inline else "queue"
        launch = recorder.launch
        for b, (start, end) in zip(self._launches, times, strict=True):
            launch(name, queue, b.label, b.nodes, zero + start, zero + end, b.nbytes)


def _all_of(calls: Iterable[Any], after: int = 0) -> tuple[deque[Any], BaseException | None]:
    """Makes all calls; keeps the results of the last `after + 1`, and an interrupt that came among them.

    The calls are C functions driven by a C loop, so Python sees an interrupt only when the loop is over or, if
    one of them looked for signals, between two: the iterator then goes on where it was.
    """
    results: deque[Any] = deque(maxlen=after + 1)
    interrupt = None
    while True:
        try:
            results.extend(calls)
            return results, interrupt
        except KeyboardInterrupt as e:
            interrupt = e


def _spread(offsets: Iterable[int], align: int) -> tuple[dict[int, int], int]:
    """Moves offsets up to multiples of `align`; how far the last one went.

    Later ones move at least as far as earlier ones, so what did not overlap does not afterwards.
    """
    moved, shift = {}, 0
    for offset in sorted(set(offsets)):
        shift += -(offset + shift) % align
        moved[offset] = offset + shift
    return moved, shift


def _is_small(program: Program) -> bool:
    """Does a hand-over to other threads cost more than the work?

    Library kernels stay on the main device, since compiling them twice costs seconds; but those whose recipe found
    the work too little for two units, as with small products of matrices.
    """
    touched = 0
    variables: dict[int, int] = {}  # what is used of them: a few rows of a large table, perhaps
    for step in program.steps:
        slots = (step.source, step.target) if isinstance(step, Copy) else step.args
        for slot in slots:
            if isinstance(slot, Slot) and slot.kind == "variable":
                variables[slot.index] = max(slot.nbytes, variables.get(slot.index, 0))
        if isinstance(step, Copy):
            touched += 2 * step.nbytes
        elif program.modules[step.module].file and (step.groups, step.local) != _ONE_ITEM:
            return False
        else:
            touched += sum(a.nbytes for a in step.args if isinstance(a, Slot))
    moved = sum(i.nbytes for i in (*program.inputs, *program.outputs))
    return touched + moved + sum(variables.values()) <= INLINE_BYTES
