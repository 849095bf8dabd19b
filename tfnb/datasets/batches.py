"""Examples with labels, served in batches: the `DataSet` of TensorFlow's first tutorials.

An epoch returns each example once. A batch that crosses the end of an epoch takes the rest of it and the start of the
next epoch, which is shuffled anew. Invariant: an image always comes with its label, and orders follow from the random
state of NumPy as TensorFlow's do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from tfnb.errors import DTypeError, InvalidArgumentError

__all__ = ["DataSet", "Datasets", "dense_to_one_hot"]

FAKE_EXAMPLES = 10_000


class DataSet:
    """Images and labels of equal number, with a position inside the current epoch.

    `images` has unsigned bytes of shape `[n, rows, columns, 1]`, which `reshape` changes to `[n, rows * columns]`.
    `dtype` is `uint8` (pixels 0 to 255) or `float32` (pixels 0.0 to 1.0). `labels` has shape `[n]`, or
    `[n, classes]` if they are one-hot. `fake_data` returns constant digits without any arrays. `seed` makes shuffling
    repeatable. Raises `DTypeError` for another dtype, and `InvalidArgumentError` when the numbers of images and labels
    differ.
    """

    def __init__(
        self,
        images: np.ndarray,
        labels: np.ndarray,
        fake_data: bool = False,
        one_hot: bool = False,
        dtype: DTypeLike = np.float32,
        reshape: bool = True,
        seed: int | None = None,
    ) -> None:
        kind = _pixel_dtype(dtype)
        self._fake = fake_data
        self._one_hot = one_hot
        self._images, self._labels = np.asarray(images), np.asarray(labels)
        if fake_data:
            self._num_examples = FAKE_EXAMPLES
        else:
            self._num_examples = len(self._images)
            if len(self._labels) != self._num_examples:
                raise InvalidArgumentError(
                    f"a data set needs a label for each image, not {len(self._labels)} labels for "
                    f"{self._num_examples} images"
                )
            if reshape:
                pixels = math.prod(self._images.shape[1:])
                self._images = self._images.reshape(self._num_examples, pixels)
            if kind == np.float32:
                self._images = self._images.astype(np.float32) * np.float32(1 / 255)
        # Without a seed, the random state of NumPy that programs seed, so that they get the batches of TensorFlow.
        self._shuffled: Callable[[Any], None] = (
            np.random.shuffle if seed is None else np.random.RandomState(seed).shuffle
        )
        self._epochs_completed = 0
        self._index_in_epoch = 0

    @property
    def images(self) -> np.ndarray:
        """All images, in the order of the file, or of the present epoch once batches have been shuffled."""
        return self._images

    @property
    def labels(self) -> np.ndarray:
        """All labels, in the order of `images`."""
        return self._labels

    @property
    def num_examples(self) -> int:
        """The number of examples."""
        return self._num_examples

    @property
    def epochs_completed(self) -> int:
        """The number of epochs that ended before the last batch, or within it."""
        return self._epochs_completed

    def next_batch(self, batch_size: int, fake_data: bool = False, shuffle: bool = True) -> tuple[Any, Any]:
        """Returns the next `batch_size` images and labels, in random order if `shuffle` is set.

        A batch that reaches beyond the end of the data set continues with the next epoch. Raises `InvalidArgumentError`
        for a batch size below 1, and if there are no examples.
        """
        if batch_size < 1:
            raise InvalidArgumentError(f"a batch needs at least one example, not {batch_size}")
        if fake_data or self._fake:
            return self._fake_batch(batch_size)
        if not self._num_examples:
            raise InvalidArgumentError(f"a data set without examples has no batch of {batch_size}")
        if self._index_in_epoch == 0 and self._epochs_completed == 0 and shuffle:
            self._shuffle()
        parts = []
        left = batch_size
        while left > self._num_examples - self._index_in_epoch:
            parts.append(self._serve(self._index_in_epoch, self._num_examples))
            left -= self._num_examples - self._index_in_epoch
            self._index_in_epoch = 0
            self._epochs_completed += 1
            if shuffle:
                self._shuffle()
        self._index_in_epoch += left
        parts.append(self._serve(self._index_in_epoch - left, self._index_in_epoch))
        images, labels = zip(*parts, strict=True)
        return np.concatenate(images), np.concatenate(labels)

    def _shuffle(self) -> None:
        order = np.arange(self._num_examples)
        self._shuffled(order)
        self._images, self._labels = self._images[order], self._labels[order]

    def _serve(self, start: int, end: int) -> tuple[np.ndarray, np.ndarray]:
        return self._images[start:end], self._labels[start:end]

    def _fake_batch(self, batch_size: int) -> tuple[list[list[int]], list[Any]]:
        label = [1] + [0] * 9 if self._one_hot else 0
        return [[1] * 784] * batch_size, [label] * batch_size


class Datasets(NamedTuple):
    """The data sets for training, validation and testing."""

    train: DataSet
    validation: DataSet
    test: DataSet


def dense_to_one_hot(labels: np.ndarray, num_classes: int) -> np.ndarray:
    """Labels `[n]` as `float64 [n, num_classes]` rows with a single 1."""
    return np.eye(num_classes)[labels]


def _pixel_dtype(dtype: DTypeLike) -> np.dtype:
    requested_dtype = np.dtype(getattr(dtype, "as_numpy_dtype", dtype))
    if requested_dtype not in (np.uint8, np.float32):
        raise DTypeError(f"images can be uint8 or float32, not {dtype}")
    return requested_dtype
