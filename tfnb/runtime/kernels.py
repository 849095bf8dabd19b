"""The kernels that run the nodes of a plan: host kernels, and kernels that finish later.

OSDI'16, sections 3.3 and 5: kernels are chosen when a step is built. The kernels of compiled clusters are in
`cluster_kernel.py`. Invariant: a kernel changes state only after all checks that could refuse the run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from typing import Any, NoReturn, Protocol

import numpy as np

from tfnb.devices.buffers import Cell, DeviceTensor
from tfnb.devices.interface import Device
from tfnb.errors import (
    Blamed,
    FailedPreconditionError,
    InternalError,
    OpError,
    UnimplementedError,
    error_class_of,
)
from tfnb.ir.opdef import HostCall
from tfnb.ir.scalar import walk
from tfnb.ir.scalar.host import host_kernel, scalar_exprs
from tfnb.ir.step_graph.graph import Node
from tfnb.runtime.cancel import Cancellation
from tfnb.runtime.rendezvous import Rendezvous
from tfnb.runtime.resources import ResourceManager
from tfnb.runtime.stats import StepStats
from tfnb.runtime.value_tools import ValueTools
from tfnb.runtime.values import Value, await_inputs, info_of, nbytes_of, to_host
from tfnb.system.interrupts import is_from_handler

__all__ = [
    "AsyncKernel",
    "HostKernel",
    "StepContext",
    "blame",
    "reraise",
    "uninitialised",
]

Done = Callable[["Sequence[Value] | None", "BaseException | None"], None]


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

    What the handler of a signal has raised, such as KeyboardInterrupt, is returned unchanged.
    """
    if is_from_handler(error):
        return error
    if isinstance(error, OpError):
        return error.with_op(node)
    text = str(error) or type(error).__name__
    return error_class_of(error)(f"{type(error).__name__}: {text}", node)


def reraise(error: BaseException, node: Blamed | None) -> NoReturn:
    """Raises the error that `blame` returns. Must be called inside the `except` block that caught `error`."""
    blamed = blame(error, node)
    if blamed is error:
        raise error
    raise blamed from error


def uninitialised(node: Node) -> FailedPreconditionError:
    """Returns the error for a variable that is read before it has a value."""
    return FailedPreconditionError(
        f"Attempting to use uninitialized value {node.name}; run its initializer first: "
        "session.run(tf.global_variables_initializer()), tf.local_variables_initializer() for a local variable",
        node,
    )


# ---- host kernels --------------------------------------------------------------------------------


class HostKernel:
    """Runs the NumPy kernel of an operation.

    `variables` maps the numbers of those inputs that are variables to their Variable nodes, and `constants` maps the
    numbers of constant inputs to their arrays. The plan supplies the other inputs, in order; nothing else reads those
    whose numbers are in `owns` (`HostCall.owns`). The tensors that the operation writes to variables are stored on
    `device`. `expensive` kernels, which take long or wait for something, run in the pool. Raises `UnimplementedError`
    for an operation without a kernel for the host.
    """

    def __init__(
        self,
        node: Node,
        resources: ResourceManager,
        device: Device,
        variables: Mapping[int, Node] | None = None,
        constants: Mapping[int, np.ndarray] | None = None,
        expensive: bool = False,
        owns: frozenset[int] = frozenset(),
    ) -> None:
        kernel = node.opdef.start or host_kernel(node.opdef)
        if kernel is None:
            raise UnimplementedError(f"{node.type} has no kernel for the host", node)
        self.node = node
        self.expensive = expensive
        self._kernel = kernel
        self._device = device
        self._cells = {i: resources.variable(v, device) for i, v in (variables or {}).items()}
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
            owns,
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
        raise uninitialised(self._owners[i])

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
