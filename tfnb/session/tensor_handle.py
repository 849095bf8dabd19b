"""Handles of tensors that a session keeps between steps, as `session.run` returns them (`tf.get_session_handle`).

Invariant: a tensor whose handles are gone is deleted when the session keeps the next one, unless its raw handle was
taken; so a loop that keeps a tensor in each step holds a bounded number of them.
"""

from __future__ import annotations

import weakref
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.ir.builder import GraphBuilder
from tfnb.ops.state.session_tensors import delete_session_tensor, get_session_tensor
from tfnb.passes.prune import Request
from tfnb.session.compile import CompiledStep, compile_step
from tfnb.system.ownership import make_own
from tfnb.types import DType

if TYPE_CHECKING:
    from tfnb.ir.tensor import Tensor
    from tfnb.session.dask.master.master import Master
    from tfnb.session.local import LocalWorker

__all__ = ["HandleSource", "TensorHandle"]


class TensorHandle:
    """The handle of a tensor that a session keeps. It may be fed in place of the value."""

    def __init__(self, name: str, dtype: DType, source: HandleSource) -> None:
        self._name, self.dtype, self._source = name, dtype, source
        self._deletion = weakref.finalize(self, source.dead.append, name)

    @property
    def handle(self) -> str:
        """The handle as a string, which `tf.get_session_tensor` and feeds of its placeholder take."""
        return self._name

    def eval(self) -> Any:
        """The value of the tensor. Raises `InvalidArgumentError` if it was deleted."""
        return self._source.value(self._name, self.dtype)

    def delete(self) -> None:
        """Deletes the tensor. Raises `InvalidArgumentError` if it was deleted before."""
        self._deletion.detach()
        self._source.delete(self._name)

    def get_raw_handle(self) -> str:
        """The handle as a string; from now on only `tf.delete_session_tensor` or `delete` deletes the tensor."""
        self._deletion.detach()
        return self._name

    def __str__(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return f"<TensorHandle {self._name!r} of {self.dtype.name}>"


class HandleSource:
    """Makes the handles of a session, and reads and deletes their tensors by steps outside the session's graph."""

    def __init__(self, worker: LocalWorker | Master) -> None:
        self._worker = worker
        self._steps: dict[tuple[str, DType | None], CompiledStep] = {}
        self.dead: deque[str] = deque()  # names that no TensorHandle has any more

    def make(self, name: bytes, dtype: DType) -> TensorHandle:
        """The handle of a new tensor; deletes the tensors whose handles are gone."""
        while self.dead:
            self.delete(self.dead.popleft())
        return TensorHandle(name.decode(), dtype, self)

    def value(self, name: str, dtype: DType) -> Any:
        """The value of the tensor with this handle, as an array of the caller's own."""
        values = self._run(name, dtype)
        make_own(values, (0,))
        return values[0]

    def delete(self, name: str) -> None:
        """Deletes the tensor with this handle."""
        self._run(name, None)

    def _run(self, name: str, dtype: DType | None) -> list[Any]:
        key = name.split(";")[-1], dtype  # the device, and what is done
        step = self._steps.get(key)
        if step is None:
            graph = GraphBuilder()
            tensors: tuple[Tensor, ...] = ()
            operations: tuple[Any, ...] = ()
            with graph.as_default():
                if dtype is None:
                    holder, operation = delete_session_tensor(name)
                    operations = (operation,)
                else:
                    holder, tensor = get_session_tensor(name, dtype)
                    tensors = (tensor,)
            step = compile_step(Request(tensors, operations, (holder,)), self._worker.context)
            self._steps[key] = step
        return self._worker.execute(step, (np.array(name.encode(), object),), None, None)
