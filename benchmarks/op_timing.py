"""One row of the table of operations: how the op is built, and its inputs in a small and a large size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["OpTiming", "floats", "gradient", "indices", "one", "rows", "two"]

Build = Callable[..., Any]


@dataclass(frozen=True)
class OpTiming:
    """`small` and `large` are the inputs' shapes; `make` gives an input from a random generator and its shape."""

    name: str
    build: Build
    small: tuple[tuple[int, ...], ...]
    large: tuple[tuple[int, ...], ...]
    make: Callable[[np.random.RandomState, tuple[int, ...]], np.ndarray] | None = None


def floats(rng: np.random.RandomState, shape: tuple[int, ...]) -> np.ndarray:
    return rng.rand(*shape).astype(np.float32) + np.float32(0.1)


def indices(shape: tuple[int, ...], high: int) -> np.ndarray:
    return np.random.RandomState(1).randint(0, high, shape).astype(np.int32)


def rows(x: Any) -> int:
    return int(x.shape[0])


def gradient(tf: Any, y: Any, x: Any) -> Any:
    return tf.gradients(tf.reduce_sum(y * y), x)[0]


def one(name: str, build: Build, *, large: tuple[int, ...] = (1024, 1024)) -> OpTiming:
    return OpTiming(name, build, ((20, 30),), (large,))


def two(name: str, build: Build) -> OpTiming:
    return OpTiming(name, build, ((20, 30), (20, 30)), ((1024, 1024), (1024, 1024)))
