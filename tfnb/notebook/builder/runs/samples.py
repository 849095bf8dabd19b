"""Data to feed a graph of the builder with, so that a first lesson needs no other cell: the package's digits.

`digits.images(step)` and `digits.labels(step)` are of the same digits for the same step. Invariant: each digit is in
one batch of an epoch, and each epoch has another order.
"""

from __future__ import annotations

import numpy as np

from tfnb.caches import remembered
from tfnb.datasets import mnist

__all__ = ["Digits"]

BATCH = 64


class Digits:
    """Batches of the training digits, and all test digits."""

    def images(self, step: int, count: int = BATCH) -> np.ndarray:
        """Returns the images of a step, float32 [count, 28, 28, 1], from 0 to 1."""
        return self.rows(step, count).reshape(-1, 28, 28, 1)

    def rows(self, step: int, count: int = BATCH) -> np.ndarray:
        """Returns the images of a step as rows, float32 [count, 784]."""
        images, _, _, _ = _digits()
        return images[_numbers(step, count, len(images))]

    def labels(self, step: int, count: int = BATCH) -> np.ndarray:
        """Returns the digits of a step, int64 [count]."""
        _, labels, _, _ = _digits()
        return labels[_numbers(step, count, len(labels))]

    def one_hot(self, step: int, count: int = BATCH) -> np.ndarray:
        """Returns the digits of a step, float32 [count, 10], with a one at the digit."""
        return np.eye(10, dtype=np.float32)[self.labels(step, count)]

    def test_images(self) -> np.ndarray:
        """Returns the test images, float32 [1500, 28, 28, 1]."""
        return self.test_rows().reshape(-1, 28, 28, 1)

    def test_rows(self) -> np.ndarray:
        """Returns the test images as rows, float32 [1500, 784]."""
        return _digits()[2]

    def test_labels(self) -> np.ndarray:
        """Returns the test digits, int64 [1500]."""
        return _digits()[3]


@remembered("digits of the builder", 1)
def _digits() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    data = mnist.read_data_sets()
    parts = data.train.images, data.train.labels.astype(np.int64), data.test.images, data.test.labels.astype(np.int64)
    for part in parts:
        part.flags.writeable = False
    return parts


def _numbers(step: int, count: int, total: int) -> np.ndarray:
    """Returns the numbers of the digits in the batch of a step."""
    per_epoch = max(1, total // count)
    epoch, batch = divmod(int(step), per_epoch)
    return np.random.default_rng(epoch).permutation(total)[batch * count : (batch + 1) * count]
