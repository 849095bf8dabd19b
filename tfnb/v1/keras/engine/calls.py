"""The calls of layers: which tensors went in and out, and the calls that are under way.

Invariant: the tensors that a `Node` received and returned never change.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from tfnb.types import DTypeLike
from tfnb.v1.keras.argument_types import TrainingFlag
from tfnb.v1.keras.engine.structure import flat, history_of, is_tensor

__all__ = ["Context", "InputSpec", "Node", "calling", "current_call"]


class Context(NamedTuple):
    """A call that is under way: its layer, and its argument `training`."""

    layer: Any
    training: Any


class _Calls(threading.local):
    def __init__(self) -> None:
        self.stack: list[Context] = []


_CALLS = _Calls()


@contextmanager
def calling(layer: object, training: TrainingFlag | None) -> Iterator[None]:
    """Within the block, `layer` is being called."""
    _CALLS.stack.append(Context(layer, training))
    try:
        yield
    finally:
        _CALLS.stack.pop()


def current_call() -> Context | None:
    """Returns the innermost call that is under way, or None."""
    return _CALLS.stack[-1] if _CALLS.stack else None


class Node:
    """A call of a layer on tensors that have a history."""

    def __init__(self, layer: Any, inputs: object, outputs: object, arguments: Mapping[str, Any]) -> None:
        self.layer = layer
        self.inputs, self.outputs, self.arguments = inputs, outputs, dict(arguments)
        self.input_tensors, self.output_tensors = flat(inputs), flat(outputs)

    def sources(self) -> list[tuple[Any, tuple[Any, int, int]]]:
        """Returns (tensor, history) of each tensor that the call received, also in keyword arguments."""
        if self.layer.is_input:
            return []
        given = [*self.input_tensors, *(v for v in flat(self.arguments) if is_tensor(v))]
        return [(t, h) for t in given if (h := history_of(t)) is not None]


class InputSpec:
    """What a layer demands of an input: its shape, rank, dtype, and sizes of some axes."""

    def __init__(
        self,
        dtype: DTypeLike | None = None,
        shape: Sequence[Any] | None = None,
        ndim: int | None = None,
        max_ndim: int | None = None,
        min_ndim: int | None = None,
        axes: Mapping[int, int | None] | None = None,
    ) -> None:
        self.dtype, self.shape = dtype, shape
        self.ndim = len(shape) if shape is not None else ndim
        self.max_ndim, self.min_ndim = max_ndim, min_ndim
        self.axes = {int(k): v for k, v in (axes or {}).items()}

    def __repr__(self) -> str:
        fields = ("dtype", "shape", "ndim", "max_ndim", "min_ndim", "axes")
        shown = (f"{name}={getattr(self, name)}" for name in fields if getattr(self, name) is not None)
        return f"InputSpec({', '.join(shown)})"
