"""The kernel of a compiled cluster: the programs for the shapes that a run brings (OSDI'16, section 3.3).

A program is compiled once for a class of shapes, in which sizes are formulas. Shapes that come for the first time share
one set of kernel objects, which is bound to each of them in turn; shapes that come again get kernel objects of their
own. Invariant: the program for some shapes does not depend on which shapes came before, and a kernel changes state only
after all checks that could refuse the run.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, nullcontext
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from tfnb.caches import Cache
from tfnb.devices.buffers import Cell
from tfnb.devices.interface import Device, DeviceFacts, LoadedProgram, Program, ProgramClass, ProgramTakenError
from tfnb.errors import (
    FailedPreconditionError,
    InternalError,
    InvalidArgumentError,
    KernelBuildError,
    OpError,
    ResourceExhaustedError,
)
from tfnb.ir.bounds import Check, outside
from tfnb.ir.kernelcall import TensorInfo
from tfnb.ir.shape_class import ServedShapes, ShapeClass, class_of, with_symbols
from tfnb.ir.step_graph.cluster import Cluster
from tfnb.ir.step_graph.graph import Edge, Node
from tfnb.runtime.deadline import within
from tfnb.runtime.kernels import uninitialised
from tfnb.runtime.resources import ResourceManager
from tfnb.runtime.stats import COMPILE, LAUNCH, StepStats
from tfnb.runtime.values import Value, info_of, to_host
from tfnb.size_trace import SizeTrace
from tfnb.system.collector import collector_paused
from tfnb.system.interrupts import ctrl_c_at_once, holding_interrupts, raise_if_held
from tfnb.system.progress import compiling

__all__ = ["ClusterKernel", "Compiler"]

_MAX_SHAPES = 8  # inputs and variables of a cluster that the timeline names
_MAX_PROGRAMS = 64  # programs of one cluster; when there are more, the oldest is dropped
_MAX_STEPS = 4096  # of the programs of one cluster: small ones may be more than `_MAX_PROGRAMS`
_MISSES_OF_FULL = 8  # when there are so many programs, one of so many shapes that come again gets kernels of its own
_MAX_CLASSES = 64  # classes of shapes of one cluster
_MAX_CONDITIONS = 16  # classes that differ in their conditions only; the latest are kept
_MANY_STEPS = 256  # of a program that makes so many objects that the collector would look at all of them
_NO_PAUSE = nullcontext()
_MAX_SEEN = 1024  # shapes of one cluster of which it is known that they have come before
_MAX_SIZES = 32  # elements of the largest value whose numbers are sizes like dimensions


class Compiler(Protocol):
    """The interface of the code generator. `tfnb/session/compile.py` passes `codegen.compile.compile_cluster`.

    `shape_values` are the values of the edges in `cluster.shape_values`. `variables` maps each variable to its dtype
    and shape, or to None if it is not initialised. Dimensions and shape values may be symbols of `trace`.
    """

    def __call__(
        self,
        cluster: Cluster,
        inputs: Sequence[TensorInfo],
        shape_values: Mapping[Edge, np.ndarray],
        variables: Mapping[int, TensorInfo | None],
        facts: DeviceFacts,
        *,
        trace: SizeTrace,
    ) -> ProgramClass: ...


_Key = tuple[tuple[object, ...], tuple["tuple[int, ...] | None", ...]]
"""Shapes of a cluster's inputs, with values that fix shapes, and of its variables (None: uninitialised)."""


_ClassKey = tuple[ShapeClass, tuple[object, ...]]
"""The class of the shapes of inputs, of the numbers in values that fix shapes, and of variables; and what the class
does not cover: the shapes of these values, and the bytes of those whose elements are no sizes."""


class _Specialised(NamedTuple):
    """A loaded program of a cluster, with its variables, random nodes and checks.

    `missing` is the first variable that the program reads and that has no value, or None.
    """

    loaded: LoadedProgram
    cells: tuple[Cell, ...]
    random: tuple[Node, ...]
    missing: Node | None
    checks: tuple[Check, ...]


class _Class:
    """A class of shapes. `newest` is the latest shape that came for the first time; the next one takes its kernels."""

    __slots__ = ("newest", "served")

    def __init__(self, served: ServedShapes[ProgramClass]) -> None:
        self.served = served
        self.newest: _Key | None = None


class ClusterKernel:
    """Runs a cluster on a device.

    Programs are cached by shapes, and the classes from which they are made by the classes of shapes. Threads that need
    the same new program wait for a single compilation.
    """

    def __init__(self, cluster: Cluster, device: Device, compile_program: Compiler, resources: ResourceManager) -> None:
        self.cluster = cluster
        self.device = device
        self.node = next((n for n in reversed(cluster.nodes)), None)
        self._compile = compile_program
        self._waits_for = f"{cluster.name} to be compiled for new shapes"
        self._random = resources.random
        self._nodes = cluster.by_id()
        self._cells = [resources.variable(self._nodes[i], device) for i in cluster.variables]
        places = {e: i for i, e in enumerate(cluster.inputs)}
        self._shape_values = [(e, places[e]) for e in cluster.shape_values]
        self._programs: Cache[_Key, _Specialised] = Cache("programs of clusters", _MAX_PROGRAMS)
        # The shapes of inputs, of values that fix shapes and of variables, as far as the graph fixes them.
        states = [self._nodes[i].specs[0].shape.sizes or () for i in cluster.variables]
        inputs = cluster.known_shapes or [()] * len(cluster.inputs)
        self._known = [*map(tuple, inputs), *[()] * len(self._shape_values), *map(tuple, states)]
        self._classes: Cache[_ClassKey, list[_Class]] = Cache("classes of shapes", _MAX_CLASSES)
        self._seen: Cache[_Key, bool] = Cache("shapes of clusters", _MAX_SEEN)
        self._n_again = 0  # loads for shapes that came again while there were as many programs as there may be
        self._lock = threading.Lock()

    def stored(self, slot: int) -> np.ndarray | None:
        """Returns the value of the variable that is the output `slot` of a cluster that does not run in this step.

        None for other outputs, and for a variable without a value.
        """
        variable = self.cluster.outputs[slot].id
        if variable not in self.cluster.variables:
            return None
        with self.device.lock:
            tensor = self._cells[self.cluster.variables.index(variable)].tensor
            return None if tensor is None else np.array(tensor.numpy())

    def run(self, inputs: Sequence[Value], recorder: StepStats | None = None) -> Sequence[Value]:
        """Enqueues the cluster and returns its outputs in the order of `cluster.outputs`.

        Raises `FailedPreconditionError` for an uninitialised variable before any kernel runs.
        """
        shapes: Any = tuple([v.shape for v in inputs])
        if self._shape_values:
            shapes = shapes, tuple([to_host(inputs[i]).tobytes() for _, i in self._shape_values])
        program = None
        while True:
            try:
                if self._cells:
                    with self.device.lock:  # so that no other step changes the shape of a variable meanwhile
                        key = shapes, tuple([None if (t := c.tensor) is None else t.shape for c in self._cells])
                        program = self._programs.get(key)
                        if program is not None:
                            return self._launch(program, inputs, recorder)
                else:
                    key = shapes, ()
                    if program is None:
                        program = self._programs.get(key)
                    if program is not None:
                        return self._launch(program, inputs, recorder)
            except ProgramTakenError:  # for other shapes, by another thread
                program = None
                continue
            start = recorder.now_us() if recorder is not None else 0.0
            program = within(partial(self._specialise, key, inputs), self._waits_for)
            if recorder is not None:
                recorder.span(COMPILE, self.cluster.name, start, detail=f"compiled for {self._shapes(inputs)}")
            if len(program.loaded.program.steps) > _MANY_STEPS:
                with collector_paused():  # while the program runs for the first time, which binds its kernels
                    return self.run(inputs, recorder)

    def _launch(self, program: _Specialised, inputs: Sequence[Value], recorder: StepStats | None) -> Sequence[Value]:
        self._programs.hits += 1
        if program.missing is not None:
            raise uninitialised(program.missing)
        if program.checks:
            self._check(program.checks, inputs)
        rng = self._random.table(program.random) if program.random else None
        try:
            if recorder is None:
                return program.loaded.run(inputs, program.cells, rng)
            start = recorder.now_us()
            outputs = program.loaded.run(inputs, program.cells, rng, recorder)
            recorder.span(LAUNCH, self.cluster.name, start)
            return outputs
        except ResourceExhaustedError as e:
            raise e.with_op(self._largest(program.loaded.program)) from None
        except OpError as e:
            raise e.with_op(self.node) from None

    def _check(self, checks: Sequence[Check], inputs: Sequence[Value]) -> None:
        """Raises `InvalidArgumentError` if a number in the memory of the host is out of bounds."""
        for c in checks:
            values = inputs[c.position]
            if isinstance(values, (np.ndarray, np.generic)):
                wrong = outside(values, c.bound)
                if wrong is not None:
                    node = self._nodes[c.node]
                    raise InvalidArgumentError(c.bound.message(node.type, wrong), node)

    # ---- specialisation --------------------------------------------------------------------

    def _specialise(self, key: _Key, inputs: Sequence[Value]) -> _Specialised:
        with holding_interrupts(), self._lock:  # Ctrl-C is raised only after the compiled program was cached
            program = self._programs.get(key)
            if program is None:
                with self._programs.timed():
                    program = self._build(key, inputs)
                self._programs.limit = max(_MAX_PROGRAMS, _MAX_STEPS // (len(program.loaded.program.steps) + 1))
                self._programs.put(key, program)
                self._programs.hits -= 1  # because the launch that follows counts as a hit
        return program

    def _build(self, key: _Key, inputs: Sequence[Value]) -> _Specialised:
        ids, state = self.cluster.variables, key[1]
        program, its_class = self._served(state, inputs)
        if program is not None and its_class is not None:
            loaded = self._load(key, program, its_class)
        else:
            with ExitStack() as wait:  # it shows the compilation of a new class until its kernels are built
                program, its_class = self._program_of_new_class(state, inputs, wait)
                loaded = self._load(key, program, its_class)
                raise_if_held()  # the class and its kernels stay in their caches
        random = tuple([self._nodes[i] for i in program.random]) if program.random else ()
        if not program.variables:
            return _Specialised(loaded, (), random, None, program.checks)
        shapes = dict(zip(ids, state, strict=True))
        missing = next((u.node for u in program.variables if u.reads and shapes[u.node] is None), None)
        cells = dict(zip(ids, self._cells, strict=True))
        return _Specialised(
            loaded,
            tuple([cells[u.node] for u in program.variables]),
            random,
            None if missing is None else self._nodes[missing],
            program.checks,
        )

    def _load(self, key: _Key, program: Program, its_class: _Class) -> LoadedProgram:
        """Loads a program with kernel objects of its own, or for shapes that come for the first time with those of the
        newest program of its class.
        """
        newest = its_class.newest
        takes_over = self._seen.is_new(key, True) or self._has_no_room()
        former = None
        if newest is not None:
            former = self._programs.pop(newest, None) if takes_over else self._programs.get(newest)
        if takes_over:
            its_class.newest = key
        try:
            with collector_paused() if len(program.steps) > _MANY_STEPS else _NO_PAUSE:
                return self.device.load(program, None if former is None else former.loaded, takes_over)
        except KernelBuildError as e:
            failed_nodes = [self._nodes[n] for n in e.nodes if n in self._nodes]
            raise (e.with_op(failed_nodes[-1]) if failed_nodes else e) from None

    def _has_no_room(self) -> bool:
        """Returns whether shapes that come again get no kernels of their own, because others would lose theirs.

        If more shapes come in turn than programs are kept, each would be dropped before its shape comes again, and to
        make new kernels takes longer than to take them over. Some programs change places, since shapes may not come
        any more.
        """
        if len(self._programs) < self._programs.limit:
            return False
        self._n_again += 1
        return self._n_again % _MISSES_OF_FULL != 0

    def _class_key(
        self, state: Sequence[tuple[int, ...] | None], inputs: Sequence[Value]
    ) -> tuple[_ClassKey, tuple[int, ...], list[np.ndarray]]:
        """Returns the class of inputs, and of variables of the shapes `state`; their sizes; and the values that fix
        shapes.
        """
        shapes: list[Sequence[int] | None] = [v.shape for v in inputs]
        if not self._shape_values:
            dims, sizes = class_of(self._known, [*shapes, *state])
            return (dims, ()), sizes, []
        values = [to_host(inputs[i]) for _, i in self._shape_values]
        shapes += [v.ravel().tolist() if _are_sizes(v) else () for v in values]
        dims, sizes = class_of(self._known, [*shapes, *state])
        return (dims, tuple([v.shape if _are_sizes(v) else (v.shape, v.tobytes()) for v in values])), sizes, values

    def _served(
        self, state: Sequence[tuple[int, ...] | None], inputs: Sequence[Value]
    ) -> tuple[Program | None, _Class | None]:
        """Returns the program for inputs, and for variables of the shapes `state`, and the class that serves them.

        Returns None for both if no class does.
        """
        key, sizes, _ = self._class_key(state, inputs)
        for known_class in self._classes.get(key) or ():
            program = known_class.served.program(sizes)
            if program is not None:
                self._classes.hits += 1
                return program, known_class
        return None, None

    def _program_of_new_class(
        self, state: Sequence[tuple[int, ...] | None], inputs: Sequence[Value], wait: ExitStack
    ) -> tuple[Program, _Class]:
        """Returns what `_served` would, after the cluster was compiled for a class that serves it.

        The compilation is shown until `wait` is left.
        """
        key, sizes, values = self._class_key(state, inputs)
        infos = [info_of(v) for v in inputs]
        what = f"{self.cluster.name} of {len(self.cluster.nodes):,} nodes"
        wait.enter_context(compiling(what, "cluster"))
        wait.enter_context(collector_paused())
        with self._classes.timed():
            served = ServedShapes(sizes, partial(self._compile_class, key[0], infos, values))
        classes = self._classes.get(key)
        if classes is None:
            classes = self._classes.put(key, [])
        new_class = _Class(served)
        classes.append(new_class)
        del classes[:-_MAX_CONDITIONS]
        program = served.program(sizes)
        if program is None:
            raise InternalError(
                f"{self.cluster.name}: a new class does not serve its own shapes",
                self.node,
            )
        return program, new_class

    def _compile_class(
        self,
        shapes: ShapeClass,
        infos: Sequence[TensorInfo],
        values: Sequence[np.ndarray],
        symbols: Sequence[Any],
        trace: SizeTrace,
    ) -> ProgramClass:
        """Compiles the cluster for a class of shapes: those of inputs, numbers in `values`, and those of variables."""
        dims: Any = with_symbols(shapes, symbols)
        n, m = len(infos), len(infos) + len(values)
        ids = self.cluster.variables
        variables = {
            i: None if shape is None else TensorInfo(self._nodes[i].specs[0].dtype, shape)
            for i, shape in zip(ids, dims[m:], strict=True)
        }
        inputs = [TensorInfo(i.dtype, d) for i, d in zip(infos, dims[:n], strict=True)]
        shape_values = {
            e: _with_sizes(v, d) if _are_sizes(v) else v
            for (e, _), v, d in zip(self._shape_values, values, dims[n:m], strict=True)
        }
        try:
            with ctrl_c_at_once():  # code generation changes nothing but its own results
                return self._compile(self.cluster, inputs, shape_values, variables, self.device.facts, trace=trace)
        except FailedPreconditionError as e:
            without_value = [self._nodes[i] for i in ids if variables[i] is None]
            raise (uninitialised(without_value[0]) if without_value else e) from None

    def _shapes(self, inputs: Sequence[Value]) -> str:
        """The shapes that caused a compilation, as text: those of inputs, and of variables by their names.

        An input whose value fixes shapes is followed by its value, as in "float32[6, 4], int32[2] = [3, 8], w[4]".
        """
        infos = [info_of(v) for v in inputs]
        texts = [f"{info.dtype.name}{list(info.shape)}" for info in infos]
        for _, i in self._shape_values:
            texts[i] += f" = {np.array2string(to_host(inputs[i]), separator=', ', threshold=_MAX_SHAPES)}"
        for cell in self._cells:
            texts.append(f"{cell.name}{'' if cell.tensor is None else list(cell.tensor.shape)}")
        more = f" and {len(texts) - _MAX_SHAPES} more" if len(texts) > _MAX_SHAPES else ""
        return ", ".join(texts[:_MAX_SHAPES]) + more or "no inputs"

    @property
    def caches(self) -> tuple[Cache[Any, Any], ...]:
        """The caches of this kernel, with their counters."""
        return self._programs, self._classes, self._seen

    def programs(self) -> list[Program]:
        """The programs that have been compiled so far, for inspection."""
        return [s.loaded.program for s in list(self._programs.values())]

    def _largest(self, program: Program) -> Any:
        """The node that an error about exhausted memory names: the one with the largest output or other array."""
        outputs = zip(program.outputs, self.cluster.outputs, strict=True)
        sizes: list[tuple[int, Any]] = [(info.nbytes, self._nodes[edge.id]) for info, edge in outputs]
        for nbytes, ids in program.scratch_arrays():
            nodes = [self._nodes[i] for i in ids if i in self._nodes]
            sizes += [(nbytes, node) for node in nodes[-1:]]
        return max(sizes, key=lambda size: size[0])[1] if sizes else self.node


def _are_sizes(value: np.ndarray) -> bool:
    """Returns whether the elements of a value that fixes shapes may be sizes."""
    return value.dtype.kind == "i" and value.size <= _MAX_SIZES


def _with_sizes(value: np.ndarray, numbers: Sequence[Any]) -> np.ndarray:
    """Returns the value with these elements."""
    if all(isinstance(n, int) for n in numbers):
        return value
    array = np.empty(len(numbers), object)
    array[:] = numbers
    return array.reshape(value.shape)
