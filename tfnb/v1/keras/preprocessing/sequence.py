"""`tf.keras.preprocessing.sequence`: padding, pairs of words for skip-grams, windows of time series.

Invariant: random choices are those of NumPy's and Python's global generators, as in Keras.
"""

from __future__ import annotations

import random
from collections.abc import Sequence as Rows
from typing import Any

import numpy as np
import numpy.typing as npt

from tfnb.errors import InvalidArgumentError
from tfnb.v1.keras.data_sequences import Sequence

__all__ = ["TimeseriesGenerator", "make_sampling_table", "pad_sequences", "skipgrams"]


def pad_sequences(
    sequences: Rows[Any],
    maxlen: int | None = None,
    dtype: npt.DTypeLike = "int32",
    padding: str = "pre",
    truncating: str = "pre",
    value: object = 0.0,
) -> np.ndarray:
    """Returns sequences as an array [n, maxlen, ...], padded and cut "pre" or "post".

    Raises `InvalidArgumentError` for something else than sequences, and another place.
    """
    if not hasattr(sequences, "__len__") or any(not hasattr(s, "__len__") for s in sequences):
        raise InvalidArgumentError("`sequences` must be a list of iterables.")
    if padding not in ("pre", "post") or truncating not in ("pre", "post"):
        raise InvalidArgumentError(f"padding {padding!r} and truncating {truncating!r} must be pre or post")
    longest = max((len(s) for s in sequences), default=0) if maxlen is None else maxlen
    inner = next((np.asarray(s).shape[1:] for s in sequences if len(s)), ())
    result = np.full((len(sequences), longest, *inner), value, dtype=dtype)
    for i, sequence in enumerate(sequences):
        if not len(sequence) or not longest:
            continue
        cut = np.asarray(sequence[-longest:] if truncating == "pre" else sequence[:longest], dtype=dtype)
        if cut.shape[1:] != inner:
            raise InvalidArgumentError(f"Shape of sample {cut.shape[1:]} of sequence {i} is different from {inner}")
        if padding == "post":
            result[i, : len(cut)] = cut
        else:
            result[i, -len(cut) :] = cut
    return result


def make_sampling_table(size: int, sampling_factor: float = 1e-5) -> np.ndarray:
    """Returns the probability of keeping the word of each rank, by Zipf's law."""
    gamma = 0.577
    rank = np.arange(size)
    rank[0] = 1
    inverse = rank * (np.log(rank) + gamma) + 0.5 - 1.0 / (12.0 * rank)
    f = sampling_factor * inverse
    return np.minimum(1.0, f / np.sqrt(f))


def skipgrams(
    sequence: Rows[int],
    vocabulary_size: int,
    window_size: int = 4,
    negative_samples: float = 1.0,
    shuffle: bool = True,
    categorical: bool = False,
    sampling_table: Rows[float] | np.ndarray | None = None,
    seed: int | None = None,
) -> tuple[list[list[int]], list[Any]]:
    """Returns pairs of words near each other with the label 1, and random pairs with the label 0."""
    couples: list[list[int]] = []
    labels: list[Any] = []
    for i, word in enumerate(sequence):
        if not word or (sampling_table is not None and sampling_table[word] < random.random()):
            continue
        for j in range(max(0, i - window_size), min(len(sequence), i + window_size + 1)):
            if j != i and sequence[j]:
                couples.append([word, sequence[j]])
                labels.append([0, 1] if categorical else 1)
    if negative_samples > 0:
        words = [c[0] for c in couples]
        random.shuffle(words)
        count = int(len(labels) * negative_samples)
        couples += [[words[i % len(words)], random.randint(1, vocabulary_size - 1)] for i in range(count)]
        labels += [[1, 0] if categorical else 0] * count
    if shuffle:
        seed = random.randint(0, 10**6) if seed is None else seed
        for values in (couples, labels):
            random.seed(seed)
            random.shuffle(values)
    return couples, labels


class TimeseriesGenerator(Sequence):
    """Batches of windows of `length` steps of `data`, each with the element of `targets` after it.

    Raises `InvalidArgumentError` when the data is too short.
    """

    def __init__(
        self,
        data: Rows[Any] | np.ndarray,
        targets: Rows[Any] | np.ndarray,
        length: int,
        sampling_rate: int = 1,
        stride: int = 1,
        start_index: int = 0,
        end_index: int | None = None,
        shuffle: bool = False,
        reverse: bool = False,
        batch_size: int = 128,
    ) -> None:
        if len(data) != len(targets):
            raise InvalidArgumentError(
                f"Data and targets have to be of same length. Got {len(data)} and {len(targets)}"
            )
        self.data, self.targets, self.length, self.sampling_rate = data, targets, length, sampling_rate
        self.stride, self.start_index = stride, start_index + length
        self.end_index = len(data) - 1 if end_index is None else end_index
        self.shuffle, self.reverse, self.batch_size = shuffle, reverse, batch_size
        if self.start_index > self.end_index:
            raise InvalidArgumentError(f"`start_index+length` {self.start_index} is above `end_index` {self.end_index}")

    def __len__(self) -> int:
        return (self.end_index - self.start_index + self.batch_size * self.stride) // (self.batch_size * self.stride)

    def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        if self.shuffle:
            rows = np.random.randint(self.start_index, self.end_index + 1, size=self.batch_size)
        else:
            first = self.start_index + self.batch_size * self.stride * index
            rows = np.arange(first, min(first + self.batch_size * self.stride, self.end_index + 1), self.stride)
        samples = np.array([self.data[row - self.length : row : self.sampling_rate] for row in rows])
        targets = np.array([self.targets[row] for row in rows])
        return (samples[:, ::-1, ...], targets) if self.reverse else (samples, targets)
