"""Accumulators of gradients as data structures, for synchronous replication (white paper and OSDI'16, section 4.4).

Workers add gradients. An operation that takes the average of n gradients waits, without a thread, until n have arrived.
Invariant: a gradient older than the accumulator's step is dropped; taking the average empties the accumulator and
begins its next step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.opdef import AsyncCall
from tfnb.ops.sync.waiting_list import Attempt, Lines
from tfnb.types import DType, Shape, bracketed

__all__ = ["Accumulator", "DenseAccumulator", "SparseAccumulator"]

_TAKE = "TakeGrad"


class Accumulator:
    """The common part of both kinds; each keeps its sum (`_add`, `_average`, `_clear`). `mean`: average, not sum."""

    def __init__(self, name: str, dtype: DType, shape: Shape, reduction: str) -> None:
        if reduction not in ("MEAN", "SUM"):
            raise InvalidArgumentError(f"reduction_type must be MEAN or SUM, got {reduction!r}")
        self.name = name
        self.dtype = dtype
        self.shape = shape
        self.mean = reduction == "MEAN"
        self._lines = Lines(_TAKE)
        self._step = 0
        self._count = 0

    def _add(self, grad: Any) -> None:
        raise AssertionError("a kind of accumulator says how")

    def _average(self) -> list[np.ndarray]:
        raise AssertionError("a kind of accumulator says how")

    def _clear(self) -> None:
        raise AssertionError("a kind of accumulator says how")

    def apply(self, local_step: int, grad: np.ndarray | tuple[np.ndarray, np.ndarray, np.ndarray | None]) -> None:
        """Adds a gradient unless it is stale, which means that `local_step` is before the accumulator's step."""
        with self._lines.lock:
            if local_step < self._step:
                return
            self._add(grad)
            self._count += 1
        self._lines.poke()

    def take(self, call: AsyncCall, n: int) -> Callable[[], str]:
        """Delivers the average once `n` gradients have arrived; then the accumulator is empty and one step further."""
        if n <= 0:
            raise InvalidArgumentError(f"Argument num_required must be positive, got {n}")

        def step(attempt: Attempt) -> bool:
            if self._count < n:
                return False
            attempt.result = self._average()
            self._clear()
            self._count = 0
            self._step += 1
            return True

        self._lines.submit(_TAKE, Attempt(call, step))
        return lambda: f"accumulator '{self.name}' has {self._count} of the {n} gradients it waits for"

    def set_step(self, step: int) -> None:
        with self._lines.lock:
            self._step = step

    @property
    def count(self) -> int:
        return self._count

    def dispose(self) -> None:
        self._lines.cancel_line(_TAKE, f"accumulator '{self.name}': its container was reset")


class DenseAccumulator(Accumulator):
    """Accumulates dense gradients of one shape."""

    _sum: np.ndarray | None = None

    def _add(self, grad: np.ndarray) -> None:
        if not self.shape.is_compatible_with(grad.shape):
            raise InvalidArgumentError(f"Shape mismatch: expected {self.shape}, got {grad.shape}")
        if self._sum is None:
            self._sum = np.array(grad)
        elif self._sum.shape != grad.shape:
            raise InvalidArgumentError(f"Shape mismatch: expected {self._sum.shape}, got {grad.shape}")
        else:
            self._sum += grad

    def _average(self) -> list[np.ndarray]:
        assert self._sum is not None
        return [_mean(self._sum, self._count) if self.mean else self._sum]

    def _clear(self) -> None:
        self._sum = None


def _mean(total: np.ndarray, count: int | np.ndarray) -> np.ndarray:
    if total.dtype.kind in "iu":
        return total // np.asarray(count, total.dtype)
    return (total / np.asarray(count, total.dtype)).astype(total.dtype)


def _compare(what: str, wanted: Sequence[int | None], got: Sequence[int | None]) -> None:
    """Raises `InvalidArgumentError` unless a gradient has the dimensions that are known, and possibly more."""
    if len(got) < len(wanted):
        raise InvalidArgumentError(f"Shape mismatch: expected {what} rank at least {len(wanted)}, got {len(got)}")
    for i, (a, b) in enumerate(zip(wanted, got, strict=False)):
        if None not in (a, b) and a != b:
            raise InvalidArgumentError(f"Shape mismatch: expected {what} dim {i} to be {a}, got {b}")


class SparseAccumulator(Accumulator):
    """Accumulates rows by their indices; as in TensorFlow, each row is averaged over the gradients that contain it."""

    def __init__(self, name: str, dtype: DType, shape: Shape, reduction: str) -> None:
        super().__init__(name, dtype, shape, reduction)
        self._indices = np.zeros(0, np.int64)
        self._values: np.ndarray | None = None
        self._counts = np.zeros(0, np.int64)

    def _add(self, grad: tuple[np.ndarray, np.ndarray, np.ndarray | None]) -> None:
        indices, values, shape = grad
        self._check(indices, values, shape)
        if self._values is None:
            self._indices, self._values = indices.astype(np.int64), np.array(values)
            self._counts = np.ones(len(indices), np.int64)
            return
        places = {int(i): k for k, i in reversed(list(enumerate(self._indices)))}
        at = np.array([places.get(int(i), -1) for i in indices], np.int64)
        present = at >= 0
        np.add.at(self._values, at[present], values[present])
        np.add.at(self._counts, at[present], 1)
        self._indices = np.concatenate([self._indices, indices[~present].astype(np.int64)])
        self._values = np.concatenate([self._values, values[~present]])
        self._counts = np.concatenate([self._counts, np.ones(int((~present).sum()), np.int64)])

    def _check(self, indices: np.ndarray, values: np.ndarray, shape: np.ndarray | None) -> None:
        if indices.ndim != 1:
            raise InvalidArgumentError(f"Input indices should be vector but received shape: {bracketed(indices.shape)}")
        if values.ndim < 1:
            raise InvalidArgumentError("Values cannot be 0-dimensional.")
        if len(indices) != len(values):
            raise InvalidArgumentError(f"Expected {len(indices)} non-empty input values, got {len(values)}.")
        dims = self.shape.sizes or ()
        given = () if shape is None else tuple(None if d < 0 else int(d) for d in shape)
        if given:
            _compare("shape", dims, given)
            if len(given) != values.ndim:
                raise InvalidArgumentError(f"Shape mismatch: expected values rank {len(given)}, got {values.ndim}")
            _compare("values", (None, *given[1:]), values.shape)
        _compare("values", (None, *dims[1:]) if dims else (), values.shape)
        if self._values is not None:
            if values.ndim != self._values.ndim:
                raise InvalidArgumentError(
                    f"Shape mismatch: expected values rank {self._values.ndim}, got {values.ndim}"
                )
            _compare("values", (None, *self._values.shape[1:]), values.shape)
        limit = next((d for d in (*dims[:1], *given[:1]) if d is not None), None)
        for k, index in enumerate(indices.tolist()):
            if index < 0 or (limit is not None and index >= limit):
                raise InvalidArgumentError(
                    f"Shape mismatch: index of slice {k} exceeded limits of shape; index is {index} exceeded {limit}"
                )

    def _average(self) -> list[np.ndarray]:
        assert self._values is not None
        values = self._values
        if self.mean:
            counts = self._counts.reshape(-1, *[1] * (values.ndim - 1))
            values = _mean(values, counts)
        dims = self.shape.sizes or (None, *values.shape[1:])
        shape = [-1 if d is None else d for d in (dims[0], *values.shape[1:])]
        return [self._indices, values, np.array(shape, np.int64)]

    def _clear(self) -> None:
        self._values = None
