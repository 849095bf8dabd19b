"""CIFAR, Fashion-MNIST and the Boston housing prices, from files that Keras would have downloaded.

Invariant: no pickled file is read; of CIFAR the binary version is needed.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from tfnb.errors import InvalidArgumentError, UnimplementedError
from tfnb.v1.keras.downloads import local_file

Split = tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def boston_housing_data(path: str = "boston_housing.npz", test_split: float = 0.2, seed: int = 113) -> Split:
    """Returns ((x, y) for training, (x, y) for testing) of houses. Raises `NotFoundError` without the file."""
    with np.load(local_file(path), allow_pickle=False) as data:
        x, y = data["x"], data["y"]
    order = np.random.RandomState(seed).permutation(len(x))
    x, y = x[order], y[order]
    at = int(len(x) * (1 - test_split))
    return (x[:at], y[:at]), (x[at:], y[at:])


def fashion_mnist_data() -> Split:
    """Returns ((images, labels) for training, (images, labels) for testing) of clothes.

    Raises `NotFoundError` without the four files in ~/.keras/datasets/fashion-mnist.
    """

    def read(name: str, offset: int) -> np.ndarray:
        path = local_file(f"{name}-ubyte.gz", subfolder="datasets/fashion-mnist")
        with gzip.open(path, "rb") as file:
            return np.frombuffer(file.read(), np.uint8, offset=offset).copy()  # which the caller may change

    parts = []
    for name in ("train", "t10k"):
        labels = read(f"{name}-labels-idx1", 8)
        parts.append((read(f"{name}-images-idx3", 16).reshape(len(labels), 28, 28), labels))
    return parts[0], parts[1]


def cifar10_data() -> Split:
    """Returns ((images, labels) for training, (images, labels) for testing): uint8 [n, 32, 32, 3] and [n, 1].

    Reads the binary version, ~/.keras/datasets/cifar-10-batches-bin. Raises `NotFoundError` without it, and
    `UnimplementedError` where only the pickled version is there.
    """
    folder = _binary("cifar-10-batches-bin", "cifar-10-batches-py")
    train = [_records(folder / f"data_batch_{i}.bin", 1, 0) for i in range(1, 6)]
    x, y = (np.concatenate(part) for part in zip(*train, strict=True))
    return (x, y), _records(folder / "test_batch.bin", 1, 0)


def cifar100_data(label_mode: str = "fine") -> Split:
    """Returns the images of 100 classes; `label_mode` is "fine" or "coarse".

    Reads the binary version, ~/.keras/datasets/cifar-100-binary. Raises `NotFoundError` without it.
    """
    if label_mode not in ("fine", "coarse"):
        raise InvalidArgumentError("`label_mode` must be one of `fine`, `coarse`.")
    folder = _binary("cifar-100-binary", "cifar-100-python")
    at = 1 if label_mode == "fine" else 0
    return _records(folder / "train.bin", 2, at), _records(folder / "test.bin", 2, at)


def _binary(name: str, pickled: str) -> Path:
    base = Path.home() / ".keras" / "datasets"
    if not (base / name).exists() and (base / pickled).exists():
        raise UnimplementedError(f"{base / pickled} is pickled, which tfnb does not read; put {name} beside it")
    return local_file(name)


def _records(path: Path, labels: int, at: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the images and labels of records of `labels` bytes and 3 * 32 * 32 more."""
    rows = np.fromfile(path, np.uint8).reshape(-1, labels + 3072)
    return rows[:, labels:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), rows[:, at : at + 1]
