"""The test of an answer that is a function of tensors: it is called in a new graph, which is run on several inputs.

The first input decides between a wrong shape, a wrong value, an error, and a value that no input has a part in; then
the other inputs follow; then the graph is looked at, whether the exercise allows this way. A function that raises or
returns numbers is called with arrays, too: so a solution with NumPy is recognised. Invariant: the reader's own graph
and sessions are not touched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfnb.errors import OpError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor
from tfnb.lessons.case import RIGHT, Finding, Kind
from tfnb.lessons.comparing import described, difference_of_arrays
from tfnb.ops import API
from tfnb.session.config import ConfigProto, RunMetadata, RunOptions
from tfnb.session.session import Session
from tfnb.types import as_dtype

__all__ = ["Built", "GraphFunction", "needed_operations", "raised", "uses"]

Arrays = tuple[np.ndarray, ...]
MOST_SECONDS = 20  # of one step: an endless loop ends then
_BY_PYTHON = ("EagerPyFunc", "PyFunc", "PyFuncStateless")


@dataclass(frozen=True)
class Built:
    """What a function has built. `passes` are the graphs after each stage of the step's compilation."""

    graph: GraphBuilder
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    passes: Sequence[tuple[str, Any]] = ()

    @property
    def operations(self) -> list[Operation]:
        """The operations that the outputs need."""
        return needed_operations(self.outputs)


@dataclass(frozen=True)
class GraphFunction:
    """A test that calls the answer with placeholders and compares what a session gives with `reference`.

    inputs: tuples of arrays, one for each run; a dimension that is the same in all of them is fixed in the placeholder.
    reference: takes the arrays of one run and returns the array, or the tuple of arrays, that is right. allowed: takes
    what was built and returns "" or the reason why it is not allowed; what no input reaches, and Python functions, are
    never allowed. extend: returns other outputs in place of the answer's, gradients of them for example. read:
    takes the value of the one output and returns the arrays to compare, or a finding. devices: how many logical CPU
    devices the session has.
    """

    inputs: Sequence[Arrays]
    reference: Callable[..., Any]
    allowed: Callable[[Built], str] = lambda built: ""
    extend: Callable[[Built], Sequence[Tensor | None]] | None = None
    read: Callable[[Sequence[object]], tuple[np.ndarray, ...] | Finding] | None = None
    rtol: float = 1e-4
    atol: float = 1e-6
    devices: int = 1

    def __call__(self, answer: object) -> Finding:
        if not callable(answer):
            return Finding(Kind.SHAPE, f"the answer is {described(answer)}; needed a function of tensors")
        with GraphBuilder().as_default() as graph:
            try:
                placeholders = tuple(_placeholders(self.inputs))
                returned = answer(*placeholders)
            except Exception as e:
                return self._by_numpy(answer) or raised(e)
            outputs = tuple(returned) if isinstance(returned, list | tuple) else (returned,)
            right = _tuple(self.reference(*self.inputs[0]))
            needed = len(right) if self.read is None else 1
            if not all(isinstance(t, Tensor) for t in outputs):
                return self._of_numbers(outputs, right) or Finding(Kind.SHAPE, _needed_tensors(outputs, needed))
            built = Built(graph, placeholders, outputs)
            if self.extend is not None:
                try:
                    extended = tuple(self.extend(built))
                except Exception as e:  # of a gradient that the reader has written
                    return raised(e)
                if any(t is None for t in extended):
                    return Finding(Kind.VALUE, "there is no gradient: no differentiable way leads to an input")
                built = Built(graph, placeholders, tuple(t for t in extended if t is not None))
            if len(built.outputs) != needed:
                return Finding(Kind.SHAPE, _needed_tensors(outputs, needed))
            return self._run(built)

    def _run(self, built: Built) -> Finding:
        """Runs what was built on all inputs."""
        config = ConfigProto(device_count={"CPU": self.devices})
        metadata = RunMetadata()
        with Session(graph=built.graph, config=config) as session:
            try:
                session.run([variable.initializer for variable in built.graph.get_collection("variables")])
            except OpError as e:
                return raised(e)
            for k, arrays in enumerate(self.inputs):
                feeds = dict(zip(built.inputs, arrays, strict=True))
                try:
                    values = session.run(list(built.outputs), feeds, _options(), None if k else metadata)
                except OpError as e:
                    return Finding(Kind.ONCE, f"input {k + 1}: {raised(e).text}") if k else raised(e)
                found = self._compared(values, arrays)
                if found.kind is not Kind.RIGHT:
                    return Finding(Kind.ONCE, f"input {k + 1} of {len(self.inputs)}: {found.text}") if k else found
                if k == 0 and (way := _never_allowed(built)):
                    return Finding(Kind.FORBIDDEN, way)
        way = self.allowed(Built(built.graph, built.inputs, built.outputs, metadata.passes))
        return Finding(Kind.FORBIDDEN, way) if way else RIGHT

    def _compared(self, values: Sequence[object], arrays: Arrays) -> Finding:
        right = _tuple(self.reference(*arrays))
        if self.read is not None:
            taken = self.read(values)
            if isinstance(taken, Finding):
                return taken
            values = taken
        for k, (value, needed) in enumerate(zip(values, right, strict=True)):
            found = difference_of_arrays(np.asarray(value), np.asarray(needed), self.rtol, self.atol)
            if found.kind is not Kind.RIGHT:
                return found if len(right) == 1 else Finding(found.kind, f"output {k + 1}: {found.text}")
        return RIGHT

    def _by_numpy(self, answer: Callable[..., object]) -> Finding | None:
        """Returns the finding for a function that computes the right value of arrays, None for others."""
        try:
            with GraphBuilder().as_default():
                returned = answer(*(array.copy() for array in self.inputs[0]))
        except Exception:
            return None
        outputs = tuple(returned) if isinstance(returned, list | tuple) else (returned,)
        return self._of_numbers(outputs, _tuple(self.reference(*self.inputs[0])))

    def _of_numbers(self, outputs: Sequence[object], right: Sequence[object]) -> Finding | None:
        """Returns the finding for right values that are no tensors, None for others."""
        if self.extend is not None or len(outputs) != len(right) or any(isinstance(v, Tensor) for v in outputs):
            return None
        for value, needed in zip(outputs, right, strict=True):
            try:
                array, wanted = np.asarray(value, np.asarray(needed).dtype), np.asarray(needed)
            except (TypeError, ValueError):
                return None
            if difference_of_arrays(array, wanted, self.rtol, self.atol).kind is not Kind.RIGHT:
                return None
        return Finding(Kind.FORBIDDEN, "NumPy or Python has computed it, while the graph was built; the graph must")


def needed_operations(tensors: Sequence[Tensor]) -> list[Operation]:
    """Returns the operations that a session would run for these tensors, in no particular order."""
    found: dict[str, Operation] = {}
    waiting = [t.op for t in tensors]
    while waiting:
        op = waiting.pop()
        if op.name not in found:
            found[op.name] = op
            waiting += [*(t.op for t in op.inputs), *op.control_inputs]
    return list(found.values())


def uses(built: Built, *types: str) -> bool:
    """Returns whether the outputs need an operation of one of the types."""
    return any(op.type in types for op in built.operations)


def raised(error: Exception) -> Finding:
    """Returns the finding for an answer that raises `error`: its message without what it proposes after a semicolon."""
    message = error.message if isinstance(error, OpError) else str(error)
    told = next((line.strip() for line in message.splitlines() if line.strip()), "").partition("; ")[0]
    return Finding(Kind.RAISES, f"{type(error).__name__}: {told[:300].rstrip('.')}")


def _options() -> RunOptions:
    return RunOptions(timeout_in_ms=1000 * MOST_SECONDS)


def _placeholders(inputs: Sequence[Arrays]) -> list[Tensor]:
    placeholders = []
    for k, arrays in enumerate(zip(*inputs, strict=True)):
        shapes = zip(*(array.shape for array in arrays), strict=True)
        shape = [sizes[0] if len(set(sizes)) == 1 else None for sizes in shapes]
        placeholders.append(API["placeholder"](as_dtype(arrays[0].dtype), shape, name=f"input_{k + 1}"))
    return placeholders


def _tuple(value: object) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _needed_tensors(outputs: Sequence[object], needed: int) -> str:
    came = ", ".join("a tensor" if isinstance(v, Tensor) else described(v) for v in outputs)
    return f"the function returns {came}; needed {'one tensor' if needed == 1 else f'{needed} tensors'}"


def _never_allowed(built: Built) -> str:
    """Returns why the way in which a right value was computed is allowed in no exercise, or ""."""
    names = {t.op.name for t in built.inputs}
    if uses(built, *_BY_PYTHON):
        return "a Python function computes it inside the graph; operations must"
    if names and not names & {op.name for op in built.operations}:
        return "it is a constant: the result does not depend on an input"
    return ""
