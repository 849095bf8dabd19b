"""The kernels that run the nodes of a plan: compiled clusters, host kernels, kernels that finish later.

OSDI'16, sections 3.3 and 5: kernels are chosen when a step is built. The program of a cluster is compiled for the
shapes of its inputs and cached by these shapes. Invariant: a kernel changes state only after all checks that could
refuse the run.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import repeat
from typing import Any, NamedTuple, NoReturn, Protocol

import numpy as np

from tfnb.caches import Cache
from tfnb.devices.buffers import Cell, DeviceTensor
from tfnb.devices.interface import Device, DeviceFacts, LoadedProgram, Program
from tfnb.errors import (
    Blamed,
    FailedPreconditionError,
    InternalError,
    InvalidArgumentError,
    KernelBuildError,
    OpError,
    OutOfRangeError,
    ResourceExhaustedError,
    UnimplementedError,
    UnknownError,
)
from tfnb.ir.bounds import Check, outside
from tfnb.ir.kernelcall import TensorInfo
from tfnb.ir.opdef import HostCall
from tfnb.ir.scalar import walk
from tfnb.ir.scalar.host import host_kernel, scalar_exprs
from tfnb.ir.step_graph.cluster import Cluster
from tfnb.ir.step_graph.graph import Edge, Node
from tfnb.runtime.cancel import Cancellation
from tfnb.runtime.deadline import within
from tfnb.runtime.rendezvous import Rendezvous
from tfnb.runtime.resources import ResourceManager
from tfnb.runtime.stats import COMPILE, LAUNCH, StepStats
from tfnb.runtime.value_tools import ValueTools
from tfnb.runtime.values import Value, await_inputs, info_of, nbytes_of, to_host
from tfnb.system.interrupts import HeldInterrupts
from tfnb.system.progress import compiling

__all__ = [
    "AsyncKernel",
    "ClusterKernel",
    "Compiler",
    "HostKernel",
    "StepContext",
    "blame",
    "reraise",
]

Done = Callable[["Sequence[Value] | None", "BaseException | None"], None]
_MAX_SHAPES = 8  # inputs and variables of a cluster that the timeline names
_MAX_PROGRAMS = 64  # programs of one cluster; when there are more, the oldest is dropped


class Compiler(Protocol):
    """The interface of the code generator. `tfnb/session/compile.py` passes `codegen.compile.compile_cluster`.

    `shape_values` are the values of the edges in `cluster.shape_values`. `variables` maps each variable to its dtype
    and shape, or to None if it is not initialised.
    """

    def __call__(
        self,
        cluster: Cluster,
        inputs: Sequence[TensorInfo],
        shape_values: Mapping[Edge, np.ndarray],
        variables: Mapping[int, TensorInfo | None],
        facts: DeviceFacts,
    ) -> Program: ...


class StepContext:
    """The state that the kernels of one run of a plan share. It belongs to the thread that runs the step."""

    __slots__ = ("_cancellation", "recorder", "rendezvous")

    def __init__(self, rendezvous: Rendezvous | None = None, recorder: StepStats | None = None) -> None:
        self.rendezvous = rendezvous or Rendezvous()
        self.recorder = recorder
        self._cancellation: Cancellation | None = None

    @property
    def cancellation(self) -> Cancellation:
        """The cancellation at which waiting kernels register their callbacks. It is created when it is first used."""
        if self._cancellation is None:
            self._cancellation = Cancellation()
        return self._cancellation

    def cancel(self, error: BaseException) -> None:
        """Wakes the kernels that wait, with this error."""
        if self._cancellation is not None:
            self._cancellation.cancel(error)


class AsyncKernel(Protocol):
    """A kernel that finishes later.

    `start` calls `done(outputs, None)` or `done(None, error)` exactly once, from any thread, at once or later. After a
    cancellation (`step.cancellation.on_cancel`) it does so soon. It returns None, or a function that returns a
    description of the event for which the kernel waits.
    """

    node: Node

    def start(
        self, inputs: Sequence[Value], is_dead: bool, tag: str, step: StepContext, done: Done
    ) -> Callable[[], str] | None: ...


def blame(error: BaseException, node: Blamed | None) -> BaseException:
    """The error to raise when the kernel of `node` raised `error`: an `OpError` that names the node.

    Exceptions that are not `Exception`s, such as KeyboardInterrupt, are returned unchanged.
    """
    if isinstance(error, OpError):
        return error.with_op(node)
    if not isinstance(error, Exception):
        return error
    text = str(error) or type(error).__name__
    kinds: tuple[tuple[type[Exception], type[OpError]], ...] = (
        (MemoryError, ResourceExhaustedError),
        (NotImplementedError, UnimplementedError),
        (StopIteration, OutOfRangeError),
        (TypeError, InvalidArgumentError),
        (ValueError, InvalidArgumentError),
    )
    for exception_class, error_class in kinds:
        if isinstance(error, exception_class):
            blamed = error_class(f"{type(error).__name__}: {text}", node)
            break
    else:
        blamed = UnknownError(f"{type(error).__name__}: {text}", node)
    return blamed


def reraise(error: BaseException, node: Blamed | None) -> NoReturn:
    """Raises the error that `blame` returns. Must be called inside the `except` block that caught `error`."""
    blamed = blame(error, node)
    if blamed is error:
        raise error
    raise blamed from error


# ---- clusters ------------------------------------------------------------------------------------


_Key = tuple[tuple[object, ...], tuple["tuple[int, ...] | None", ...]]
"""Shapes of a cluster's inputs, with values that fix shapes, and of its variables (None: uninitialised)."""


class _Specialised(NamedTuple):
    """A loaded program of a cluster, with its variables, random nodes and checks.

    `missing` is the first variable that the program reads and that has no value, or None.
    """

    loaded: LoadedProgram
    cells: tuple[Cell, ...]
    random: tuple[Node, ...]
    missing: Node | None
    checks: tuple[Check, ...]


class ClusterKernel:
    """Runs a cluster on a device.

    Programs are cached by shapes. Threads that need the same new program wait for a single compilation.
    """

    def __init__(self, cluster: Cluster, device: Device, compile_program: Compiler, resources: ResourceManager) -> None:
        self.cluster = cluster
        self.device = device
        self.node = next((n for n in reversed(cluster.nodes)), None)
        self._compile = compile_program
        self._random = resources.random
        self._nodes = cluster.by_id()
        self._cells = [resources.variable(self._nodes[i]) for i in cluster.variables]
        places = {e: i for i, e in enumerate(cluster.inputs)}
        self._shape_values = [(e, places[e]) for e in cluster.shape_values]
        self._programs: Cache[_Key, _Specialised] = Cache("programs of clusters", _MAX_PROGRAMS)
        self._lock = threading.Lock()

    def run(self, inputs: Sequence[Value], recorder: StepStats | None = None) -> Sequence[Value]:
        """Enqueues the cluster and returns its outputs in the order of `cluster.outputs`.

        Raises `FailedPreconditionError` for an uninitialised variable before any kernel runs.
        """
        shapes: Any = tuple([v.shape for v in inputs])
        if self._shape_values:
            shapes = shapes, tuple([to_host(inputs[i]).tobytes() for _, i in self._shape_values])
        while True:
            if self._cells:
                with self.device.lock:  # so that no other step changes the shape of a variable meanwhile
                    key = shapes, tuple([None if (t := c.tensor) is None else t.shape for c in self._cells])
                    program = self._programs.get(key)
                    if program is not None:
                        return self._launch(program, inputs, recorder)
            else:
                key = shapes, ()
                program = self._programs.get(key)
                if program is not None:
                    return self._launch(program, inputs, recorder)
            start = recorder.now_us() if recorder is not None else 0.0
            within(partial(self._specialise, key, inputs), f"{self.cluster.name} to be compiled for new shapes")
            if recorder is not None:
                recorder.span(COMPILE, self.cluster.name, start, detail=f"compiled for {self._shapes(inputs)}")

    def _launch(self, program: _Specialised, inputs: Sequence[Value], recorder: StepStats | None) -> Sequence[Value]:
        self._programs.hits += 1
        if program.missing is not None:
            raise _uninitialised(program.missing)
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
        with HeldInterrupts(), self._lock:  # Ctrl-C is raised only after the compiled program was cached
            program = self._programs.get(key)
            if program is None:
                what = f"{self.cluster.name} of {len(self.cluster.nodes):,} nodes"
                with self._programs.timed(), compiling(what, "cluster"):
                    program = self._build(key[1], inputs)
                self._programs.put(key, program)
                self._programs.hits -= 1  # because the launch that follows counts as a hit
        return program

    def _build(self, state: Sequence[tuple[int, ...] | None], inputs: Sequence[Value]) -> _Specialised:
        ids = self.cluster.variables
        variables = {
            i: None if shape is None else TensorInfo(self._nodes[i].specs[0].dtype, shape)
            for i, shape in zip(ids, state, strict=True)
        }
        values = {e: to_host(inputs[i]) for e, i in self._shape_values}
        infos = [info_of(v) for v in inputs]
        try:
            program = self._compile(self.cluster, infos, values, variables, self.device.facts)
        except FailedPreconditionError as e:
            uninitialised = [self._nodes[i] for i in ids if variables[i] is None]
            raise (_uninitialised(uninitialised[0]) if uninitialised else e) from None
        try:
            loaded = self.device.load(program)
        except KernelBuildError as e:
            failed_nodes = [self._nodes[n] for n in e.nodes if n in self._nodes]
            raise (e.with_op(failed_nodes[-1]) if failed_nodes else e) from None
        missing = next((u.node for u in program.variables if u.reads and variables[u.node] is None), None)
        cells = dict(zip(ids, self._cells, strict=True))
        return _Specialised(
            loaded,
            tuple(cells[u.node] for u in program.variables),
            tuple(self._nodes[i] for i in program.random),
            None if missing is None else self._nodes[missing],
            program.checks,
        )

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
        return (self._programs,)

    def programs(self) -> list[Program]:
        """The programs that have been compiled so far, for inspection."""
        return [s.loaded.program for s in list(self._programs.values())]

    def _largest(self, program: Program) -> Any:
        """The node that an error about exhausted memory names: the one with the largest output."""
        sizes = [(info.nbytes, -i) for i, info in enumerate(program.outputs)]
        return self._nodes[self.cluster.outputs[-max(sizes)[1]].id] if sizes else self.node


def _uninitialised(node: Node) -> FailedPreconditionError:
    return FailedPreconditionError(
        f"Attempting to use uninitialized value {node.name}; run its initializer first: "
        "session.run(tf.global_variables_initializer()), tf.local_variables_initializer() for a local variable",
        node,
    )


# ---- host kernels --------------------------------------------------------------------------------


class HostKernel:
    """Runs the NumPy kernel of an operation.

    `variables` maps the numbers of those inputs that are variables to their Variable nodes, and `constants` maps the
    numbers of constant inputs to their arrays. The plan supplies the other inputs, in order. The tensors that the
    operation writes to variables are stored on `device`. `expensive` kernels, which take long or wait for something,
    run in the pool. Raises `UnimplementedError` for an operation without a kernel for the host.
    """

    def __init__(
        self,
        node: Node,
        resources: ResourceManager,
        device: Device,
        variables: Mapping[int, Node] | None = None,
        constants: Mapping[int, np.ndarray] | None = None,
        expensive: bool = False,
    ) -> None:
        kernel = node.opdef.start or host_kernel(node.opdef)
        if kernel is None:
            raise UnimplementedError(f"{node.type} has no kernel for the host", node)
        self.node = node
        self.expensive = expensive
        self._kernel = kernel
        self._device = device
        self._cells = {i: resources.variable(v) for i, v in (variables or {}).items()}
        self._owners = dict(variables or {})
        self._constants = dict(constants or {})
        self.call = HostCall(
            node.attrs,
            node.types,
            node.specs,
            node,
            lambda: resources.random.next(node),
            resources,
            ValueTools(device) if node.opdef.raw else None,
        )
        self._n_inputs = len(node.inputs)
        self._raw = node.opdef.raw
        self._optional = frozenset(i for i in self._cells if not _reads(node, i))
        for i in node.opdef.writes:
            if i not in self._cells:
                raise InternalError(f"input {i} is written, but no variable was found behind it", node)

    def run(self, inputs: Sequence[Value], recorder: StepStats | None = None) -> list[Value]:
        """Runs the kernel and returns its outputs. The caller passes exceptions of the kernel to `blame`."""
        start = await_inputs(inputs, recorder) if recorder is not None else 0.0
        if self._raw:
            outputs = list(self._kernel(self.call, *self._values(inputs)))
        elif self.node.opdef.writes:
            with self._device.lock:  # so that no other step changes the variable between the read and the write
                outputs = self.finish(self._kernel(self.call, *self.arrays(inputs)))
        else:
            outputs = self.finish(self._kernel(self.call, *self.arrays(inputs)))
        if recorder is not None:
            recorder.host(self.node, start, sum(nbytes_of(v) for v in (*inputs, *outputs)))
        return outputs

    def _values(self, inputs: Sequence[Value]) -> list[Any]:
        """All inputs of a raw kernel, as values that may still be on the device."""
        if not self._cells and not self._constants:
            return list(inputs)
        remaining = iter(inputs)
        values: list[Any] = []
        for i in range(self._n_inputs):
            cell = self._cells.get(i)
            if cell is not None:
                values.append(self._state(i, cell))
            else:
                values.append(self._constants[i] if i in self._constants else next(remaining))
        return values

    def finish(self, result: object) -> list[Value]:
        """Converts the result of the kernel to the outputs of the node, and stores the new values of its variables."""
        specs, writes = self.node.specs, self.node.opdef.writes
        if not specs and not writes:
            return []
        results = list(result) if isinstance(result, (tuple, list)) else [result]
        new_values = [np.asarray(r, self._owners[i].specs[0].dtype.np) for i, r in zip(writes, results, strict=False)]
        remaining = iter(results[len(writes) :])
        outputs: list[Value] = []
        for spec in specs:
            if spec.ref and writes:
                outputs.append(new_values[0])
            else:
                outputs.append(np.asarray(next(remaining), spec.dtype.np))
        if new_values:
            self._store(new_values)
        return outputs

    def arrays(self, inputs: Sequence[Value]) -> list[Any]:
        """All inputs of the node as arrays: the inputs from the plan, the values of variables, and constants."""
        if not self._cells and not self._constants:
            return [to_host(v) for v in inputs]
        remaining = iter(inputs)
        arrays: list[Any] = []
        for i in range(self._n_inputs):
            cell = self._cells.get(i)
            if cell is not None:
                arrays.append(self._state(i, cell))
            elif i in self._constants:
                arrays.append(self._constants[i])
            else:
                arrays.append(to_host(next(remaining)))
        return arrays

    def _state(self, i: int, cell: Cell) -> np.ndarray | None:
        """A copy of the value of a variable; later steps change the original in place.

        None for an input that may be empty.
        """
        with self._device.lock:
            if cell.tensor is not None:
                return np.array(cell.tensor.numpy())
        if i in self._optional:
            return None
        raise _uninitialised(self._owners[i])

    def _store(self, values: Sequence[np.ndarray]) -> None:
        tensors = []
        for value in values:
            info = info_of(value)
            if info.dtype.cl:
                tensors.append(self._device.from_numpy(value))
            else:  # strings and complex numbers stay on the host
                tensors.append(DeviceTensor(self._device, info, None, np.array(value)))
        cells = [self._cells[i] for i in self.node.opdef.writes]
        # One call into C, so that an interrupt finds all of them changed or none.
        deque(map(setattr, cells, repeat("tensor"), tensors), 0)


def _reads(node: Node, i: int) -> bool:
    """Returns whether the kernel needs the old value of the variable at input `i`."""
    op = node.opdef
    if i not in op.writes:
        return not (len(op.input_args) == len(node.inputs) and op.input_args[i].ref)
    if op.scalar is None:
        return True
    dtypes = tuple(node.specs[0].dtype for _ in node.inputs)
    return any(e.op == "arg" and e.value == i for root in scalar_exprs(op, node.attrs, dtypes) for e in walk(root))
