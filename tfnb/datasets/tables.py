"""Tables of numbers with a target in each row (`tf.contrib.learn.datasets`): Fisher's irises, and CSV files.

The irises are R. A. Fisher's measurements of 1936 (https://archive.ics.uci.edu/dataset/53/iris): four lengths in
centimetres and the number of the species. Invariant: nothing is downloaded.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from tfnb.errors import InvalidArgumentError, NotFoundError

__all__ = [
    "Dataset",
    "Datasets",
    "load_boston",
    "load_csv_with_header",
    "load_csv_without_header",
    "load_dataset",
    "load_iris",
    "make_dataset",
]


class Dataset(NamedTuple):
    """The rows of a table: features, and the target of each."""

    data: Any
    target: Any


class Datasets(NamedTuple):
    """A table in parts for training, validation and test."""

    train: Any
    validation: Any
    test: Any


def _split(
    rows: Iterable[list[str]], target_dtype: DTypeLike, features_dtype: DTypeLike, target_column: int
) -> Dataset:
    data, target = [], []
    for row in rows:
        values = list(row)
        target.append(values.pop(target_column))
        data.append(values)
    try:
        return Dataset(np.asarray(data, dtype=features_dtype), np.asarray(target).astype(target_dtype))
    except ValueError as e:
        raise InvalidArgumentError(f"the table has a row that is no numbers: {e}") from None


def _rows(filename: str | os.PathLike[str]) -> list[list[str]]:
    if not os.path.isfile(filename):
        raise NotFoundError(f"there is no file {os.fspath(filename)!r}")
    with open(filename, encoding="utf-8", newline="") as file:
        return [row for row in csv.reader(file) if row]


def load_csv_with_header(
    filename: str | os.PathLike[str], target_dtype: DTypeLike, features_dtype: DTypeLike, target_column: int = -1
) -> Dataset:
    """Returns the rows of a CSV file whose first line has the numbers of rows and features.

    target_dtype, features_dtype: NumPy dtypes. target_column: which column is the target. Raises `NotFoundError`
    without the file, `InvalidArgumentError` for rows that are no numbers.
    """
    return _split(_rows(filename)[1:], target_dtype, features_dtype, target_column)


def load_csv_without_header(
    filename: str | os.PathLike[str], target_dtype: DTypeLike, features_dtype: DTypeLike, target_column: int = -1
) -> Dataset:
    """Returns the rows of a CSV file without a header; see `load_csv_with_header`."""
    return _split(_rows(filename), target_dtype, features_dtype, target_column)


def load_iris(data_path: str | None = None) -> Dataset:
    """Returns 150 irises: 4 lengths (float64) and the species (0, 1 or 2) of each; or a file `data_path` like that."""
    path = data_path if data_path is not None else Path(__file__).parent / "iris.csv"
    return load_csv_with_header(path, int, float)


def load_boston(data_path: str | None = None) -> Dataset:
    """Returns a CSV file of the prices of houses in Boston, `data_path`, whose last column is the price.

    Raises `InvalidArgumentError` without a path: the package has not these data, which have ethical problems.
    """
    if data_path is None:
        raise InvalidArgumentError(
            "load_boston: these data are not part of the package; give the path of a CSV file with a header"
        )
    return load_csv_with_header(data_path, float, float)


def load_dataset(name: str, size: str = "small", test_with_fake_data: bool = False) -> Dataset:
    """Returns the table `name`, "iris"; others are not part of the package.

    size, test_with_fake_data: of the table "dbpedia", refused. Raises `InvalidArgumentError` for another name.
    """
    if name != "iris":
        raise InvalidArgumentError(
            f"Name of dataset is not found: {name} (size {size}, fake: {test_with_fake_data}); the package has 'iris'"
        )
    return load_iris()


def make_dataset(
    name: str, n_samples: int = 100, noise: float | None = None, seed: int = 42, **kwargs: float
) -> Dataset:
    """Returns `n_samples` points of the plane in two or more classes: "circles" or "spirals".

    noise: the standard deviation of normal noise, None for none. seed: of the noise and the order. kwargs: n_classes of
    both, factor of circles (the ratio of radii) and n_loops of spirals. Raises `InvalidArgumentError` for other names.
    """
    allowed = {"circles": {"factor", "n_classes"}, "spirals": {"n_loops", "n_classes"}}
    if name not in allowed or set(kwargs) - allowed[name]:
        raise InvalidArgumentError(f"Requested dataset not found or with other arguments: {name}, {sorted(kwargs)}")
    rng = np.random.default_rng(seed)
    classes = int(kwargs.get("n_classes", 2))
    target = np.arange(n_samples) % classes
    along = np.linspace(0, 1, n_samples, endpoint=False)
    if name == "circles":
        radius, angle = float(kwargs.get("factor", 0.8)) ** target, 2 * np.pi * along
    else:
        radius, angle = along, 2 * np.pi * (along * float(kwargs.get("n_loops", 2)) + target / classes)
    data = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)
    if noise is not None:
        data = data + rng.normal(scale=noise, size=data.shape)
    order = rng.permutation(n_samples)
    return Dataset(data[order], target[order])
