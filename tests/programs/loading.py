"""The programs of tests/programs/model_programs, and the data that they train on.

A program is a module in the style of 2016 with a learning rate `RATE` and `build(tf, data, rate)`, which builds into the
default graph and returns (loss, train op, feeds), where `feeds(step)` is the feed dictionary of a step. It imports
nothing of tfnb: what it is given as `tf` is either tfnb or tensorflow.compat.v1.
"""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from tfnb.datasets import mnist

PATHS = {path.stem: path for path in (Path(__file__).parent / "model_programs").glob("*/*.py")}
NAMES = sorted(PATHS)


def load(name: str) -> ModuleType:
    """The module of a program."""
    spec = importlib.util.spec_from_file_location(f"model_program_{name}", PATHS[name])
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def _digits() -> tuple[np.ndarray, np.ndarray]:
    train = mnist.read_data_sets().train
    images = np.asarray(train.images, np.float32)
    return images.reshape(-1, 784), np.asarray(train.labels, np.int64)


class Data:
    """Real digits, a text, and numbers that are the same in every run."""

    def digits(self, step: int, n: int) -> tuple[np.ndarray, np.ndarray]:
        """n images [n, 784] from 0 to 1 and their labels [n]."""
        images, labels = _digits()
        at = step * n % (len(images) - n)
        return images[at : at + n], labels[at : at + n]

    def one_hot(self, labels: Any, n: int = 10) -> np.ndarray:
        return np.eye(n, dtype=np.float32)[np.asarray(labels)]

    def small(self, step: int, n: int) -> np.ndarray:
        """Digits as [n, 14, 14, 1] images."""
        images, _ = self.digits(step, n)
        return images.reshape(n, 14, 2, 14, 2).mean(axis=(2, 4))[..., None]

    def normal(self, step: int, *shape: int) -> np.ndarray:
        return np.random.default_rng(100 + step).normal(size=shape).astype(np.float32)

    def uniform(self, step: int, *shape: int) -> np.ndarray:
        return np.random.default_rng(200 + step).random(shape, np.float32)

    def integers(self, step: int, high: int, *shape: int) -> np.ndarray:
        return np.random.default_rng(300 + step).integers(0, high, shape).astype(np.int32)

    def text(self) -> np.ndarray:
        """Characters of a sentence that repeats, as numbers below 27."""
        words = "the quick brown fox jumps over the lazy dog and runs away from the bear "
        return np.array([" abcdefghijklmnopqrstuvwxyz".index(c) for c in words * 20], np.int32)
