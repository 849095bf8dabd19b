"""The handwritten digits of TensorFlow's first tutorials, which `input_data.read_data_sets` returns.

The package contains 8,500 training and 1,500 test digits of the MNIST database (source and licence: README.md in this
folder). Invariant: reading needs no network; a folder of the user is used if it contains the files.
"""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import DTypeLike

from tfnb.datasets.batches import DataSet, Datasets, dense_to_one_hot
from tfnb.datasets.idx import read_idx
from tfnb.errors import DataLossError, InvalidArgumentError, NotFoundError

__all__ = ["FILES", "VALIDATION_SIZE", "read_data_sets"]

FILES = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)
CLASSES = 10
_SOURCES = ("yann.lecun.com", "cvdf-datasets/mnist")  # where the digits are published
VALIDATION_SIZE = 500  # of the 8,500 in the package, which leaves 8,000 for training
FULL_VALIDATION_SIZE = 5000  # what TensorFlow reserves of the 60,000 of the full database


def read_data_sets(
    train_dir: str | Path | None = None,
    fake_data: bool = False,
    one_hot: bool = False,
    dtype: DTypeLike = np.float32,
    reshape: bool = True,
    validation_size: int | None = None,
    seed: int | None = None,
    source_url: str | None = None,
) -> Datasets:
    """Reads the digits and divides them into `train`, `validation` and `test`.

    If `train_dir` contains the four files of the MNIST database, they are read. If it is not given or contains none of
    them, where TensorFlow would download them, the digits of the package are returned. The first `validation_size`
    training digits become `validation`: by default 5000 of a folder with more than 5000, as in TensorFlow, else 500.

    Images are `float32 [n, 784]` from 0 to 1; or `[n, 28, 28, 1]` without `reshape`; or bytes with `dtype=tf.uint8`.
    Labels are `uint8 [n]`, or `float64 [n, 10]` with `one_hot`. `seed` makes shuffling repeatable.

    Raises `InvalidArgumentError` for an impossible `validation_size`, and for a `source_url` of other data if
    `train_dir` does not contain the files, since nothing is downloaded. Raises `NotFoundError` for a folder with only
    some of the files, and `DataLossError` for damaged ones.
    """
    if fake_data:
        no_images = np.zeros((0,), np.uint8)
        parts = [DataSet(no_images, no_images, True, one_hot, dtype, seed=seed) for _ in range(3)]
        return Datasets(*parts)
    folder = _folder(train_dir)
    _refuse_other_data(folder, source_url)
    images, labels = _read_pair(folder, FILES[0], FILES[1], one_hot)
    test_images, test_labels = _read_pair(folder, FILES[2], FILES[3], one_hot)
    if validation_size is None:
        full = folder != _folder(None) and len(images) > FULL_VALIDATION_SIZE
        validation_size = FULL_VALIDATION_SIZE if full else VALIDATION_SIZE
    if not 0 <= validation_size <= len(images):
        raise InvalidArgumentError(
            f"validation_size must lie between 0 and the {len(images)} training digits, not {validation_size}"
        )

    def part(images: np.ndarray, labels: np.ndarray) -> DataSet:
        return DataSet(images, labels, dtype=dtype, one_hot=one_hot, reshape=reshape, seed=seed)

    return Datasets(
        train=part(images[validation_size:], labels[validation_size:]),
        validation=part(images[:validation_size], labels[:validation_size]),
        test=part(test_images, test_labels),
    )


def load_mnist(train_dir: str = "MNIST-data") -> Datasets:
    """Returns `read_data_sets(train_dir)`: the digits in `train_dir`, or else those of the package.

    It has the errors of `read_data_sets`.
    """
    return read_data_sets(train_dir)


def load_data(path: object = None) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Returns ((train images, train labels), (test images, test labels)), as `tf.keras.datasets.mnist.load_data` does.

    Images are uint8 [n, 28, 28], labels uint8 [n]. They are the digits of the package, fewer than the 60,000 of the
    full data. `path`, the name under which Keras stores its download, is not used.
    """
    folder = _folder(None)
    pairs = [_read_pair(folder, FILES[k], FILES[k + 1], False) for k in (0, 2)]
    (x, y), (x_test, y_test) = ((images[..., 0], labels) for images, labels in pairs)
    return (x, y), (x_test, y_test)


def maybe_download(filename: str, work_directory: str | Path | None = None, source_url: str | None = None) -> str:
    """Returns the path of an MNIST file in `work_directory` or, if that lacks it, in the package; nothing is
    downloaded.

    Raises `InvalidArgumentError` for a `source_url` of other data where `work_directory` does not hold the file.
    """
    local_file = None if work_directory is None else Path(work_directory) / filename
    file = local_file if local_file is not None and local_file.is_file() else Path(__file__).parent / filename
    _refuse_other_data(file.parent, source_url)
    if filename not in FILES or not file.is_file():
        raise NotFoundError(f"no MNIST file is called {filename!r}; they are {', '.join(FILES)}")
    return str(file)


def extract_images(f: str | Path | BinaryIO) -> np.ndarray:
    """Returns the images of an IDX file as uint8 [n, 28, 28, 1]; `f` is its path, or an open file with a `name`."""
    return read_idx(_path(f), 3)[..., np.newaxis]


def extract_labels(f: str | Path | BinaryIO, one_hot: bool = False, num_classes: int = CLASSES) -> np.ndarray:
    """Returns the labels of an IDX file as uint8 [n], or one-hot as float64 [n, num_classes]. `f` is as in
    `extract_images`.
    """
    labels = read_idx(_path(f), 1)
    return dense_to_one_hot(labels, num_classes) if one_hot else labels


def _path(file: str | Path | BinaryIO) -> str | Path:
    return file if isinstance(file, str | Path) else file.name


def _folder(train_dir: str | Path | None) -> Path:
    packaged_folder = Path(__file__).parent
    if train_dir is None:
        return packaged_folder
    folder = Path(train_dir)
    missing_files = [name for name in FILES if not (folder / name).is_file()]
    if len(missing_files) == len(FILES):
        return packaged_folder
    if missing_files:
        raise NotFoundError(f"{folder} lacks {', '.join(missing_files)}, but holds other MNIST files")
    return folder


def _refuse_other_data(folder: Path, source_url: str | None) -> None:
    """Raises `InvalidArgumentError` if the digits of the package would replace other data in this format."""
    is_known_source = source_url is None or any(known_source in source_url for known_source in _SOURCES)
    if folder == Path(__file__).parent and not is_known_source:
        raise InvalidArgumentError(
            f"source_url={source_url!r} is not that of the digits, and nothing is downloaded: put the files "
            f"{', '.join(FILES)} into a folder and give it as train_dir"
        )


def _read_pair(folder: Path, image_name: str, label_name: str, one_hot: bool) -> tuple[np.ndarray, np.ndarray]:
    images, labels = read_idx(folder / image_name, 3), read_idx(folder / label_name, 1)
    if len(images) != len(labels):
        raise DataLossError(
            f"{folder / image_name} holds {len(images)} images, {folder / label_name} {len(labels)} labels"
        )
    if labels.size and labels.max() >= CLASSES:
        at = int(np.argmax(labels >= CLASSES))
        raise DataLossError(f"{folder / label_name}: label {at} is {labels[at]}, but there are {CLASSES} digits")
    return images[..., np.newaxis], dense_to_one_hot(labels, CLASSES) if one_hot else labels
