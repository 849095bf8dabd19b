"""Batches of images from arrays, folders and tables of files, changed at random by an `ImageDataGenerator`.

Invariant: the order of images and their changes come from NumPy's global generator, as in Keras, so that a seed repeats
them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator as Items
from collections.abc import Sequence as Listed
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from tfnb.errors import InvalidArgumentError
from tfnb.v1.keras.backend.settings import data_format_of, floatx
from tfnb.v1.keras.data_sequences import Sequence
from tfnb.v1.keras.preprocessing.images import array_to_img, img_to_array, load_img

__all__ = ["DataFrameIterator", "DirectoryIterator", "Iterator", "NumpyArrayIterator"]

_ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif")
_CHANNELS = {"grayscale": 1, "rgb": 3, "rgba": 4}


class Iterator(Sequence):
    """The base of batches of `n` images: subclasses define `_get_batches_of_transformed_samples`.

    It is a sequence of the batches of an epoch, and an iterator that has no end.
    """

    white_list_formats = tuple(ending[1:] for ending in _ENDINGS)

    def __init__(self, n: int, batch_size: int, shuffle: bool, seed: int | None) -> None:
        self.n, self.batch_size, self.shuffle, self.seed = n, batch_size, shuffle, seed
        self.batch_index = self.total_batches_seen = 0
        self.index_array: np.ndarray | None = None
        self.lock = threading.Lock()
        self.index_generator = self._numbers()

    def _order(self) -> np.ndarray:
        return np.random.permutation(self.n) if self.shuffle else np.arange(self.n)

    def _seeded(self) -> None:
        if self.seed is not None:
            np.random.seed(self.seed + self.total_batches_seen)
        self.total_batches_seen += 1

    def __getitem__(self, index: int) -> Any:
        """Returns the batch of a number. Raises `InvalidArgumentError` for one after the last."""
        if index >= len(self):
            raise InvalidArgumentError(f"Asked to retrieve element {index}, but the Sequence has length {len(self)}")
        self._seeded()
        if self.index_array is None:
            self.index_array = self._order()
        numbers = self.index_array[self.batch_size * index : self.batch_size * (index + 1)]
        return self._get_batches_of_transformed_samples(numbers)

    def __len__(self) -> int:
        return -(-self.n // self.batch_size)

    def on_epoch_end(self) -> None:
        """Begins an epoch with a new order."""
        self.index_array = self._order()

    def reset(self) -> None:
        """Makes the iterator begin an epoch."""
        self.batch_index = 0

    def _numbers(self) -> Items[np.ndarray]:
        """Yields the numbers of the images of each batch, epoch after epoch."""
        self.reset()
        while True:
            self._seeded()
            if self.batch_index == 0 or self.index_array is None:
                self.index_array = self._order()
            start = self.batch_index * self.batch_size
            self.batch_index = self.batch_index + 1 if self.n > start + self.batch_size else 0
            yield self.index_array[start : start + self.batch_size]

    def __iter__(self) -> Items[Any]:
        return self

    def __next__(self) -> Any:
        with self.lock:
            numbers = next(self.index_generator)
        return self._get_batches_of_transformed_samples(numbers)

    next = __next__

    def _get_batches_of_transformed_samples(self, index_array: np.ndarray) -> Any:
        """Returns the batch of the images of these numbers. Subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} does not define its batches")


def _part(count: int, generator: Any, subset: str | None) -> slice:
    """Returns which of `count` images belong to a subset; the first ones are for validation."""
    if subset is None:
        return slice(0, count)
    if subset not in ("training", "validation"):
        raise InvalidArgumentError(f'Invalid subset name: {subset!r}; expected "training" or "validation"')
    at = int(count * generator.validation_split)
    return slice(0, at) if subset == "validation" else slice(at, count)


class _Saving:
    """Where changed images are written to be looked at."""

    def __init__(self, folder: Any, prefix: str, kind: str, data_format: str) -> None:
        self.folder, self.prefix, self.kind, self.data_format = folder, prefix, kind, data_format

    def write(self, images: np.ndarray, numbers: np.ndarray) -> None:
        """Writes each image under a name with its number and a random one."""
        for image, number in zip(images, numbers, strict=True) if self.folder else ():
            name = f"{self.prefix}_{number}_{np.random.randint(10_000_000)}.{self.kind}"
            array_to_img(image, self.data_format).save(Path(self.folder) / name)


class NumpyArrayIterator(Iterator):
    """Batches of the images of an array [images, ...]; see `ImageDataGenerator.flow`.

    x: the images, or a pair of them and further arrays that are only picked. Raises `InvalidArgumentError` for another
    rank or different lengths.
    """

    def __init__(
        self,
        x: Any,
        y: ArrayLike | None,
        image_data_generator: Any,
        batch_size: int = 32,
        shuffle: bool = False,
        sample_weight: ArrayLike | None = None,
        seed: int | None = None,
        data_format: str | None = None,
        save_to_dir: str | None = None,
        save_prefix: str = "",
        save_format: str = "png",
        subset: str | None = None,
        dtype: npt.DTypeLike | None = None,
    ) -> None:
        further: list[Any] = []
        if isinstance(x, (tuple, list)):
            x, more = x
            further = list(more) if isinstance(more, list) else [more]
        columns = [*further, y, sample_weight]
        lengths = {len(v) for v in (x, *columns) if v is not None}
        if len(lengths) > 1:
            raise InvalidArgumentError(f"`x`, `y` and `sample_weight` should have the same length. Found: {lengths}")
        part = _part(len(x), image_data_generator, subset)
        self.dtype, self.data_format = dtype or floatx(), data_format_of(data_format)
        self.x = np.asarray(x, self.dtype)[part]
        if self.x.ndim != 4:
            raise InvalidArgumentError(f"Input data in `NumpyArrayIterator` should have rank 4, got {self.x.shape}")
        *self.x_misc, self.y, self.sample_weight = [None if v is None else np.asarray(v)[part] for v in columns]
        self.image_data_generator = image_data_generator
        self._saving = _Saving(save_to_dir, save_prefix, save_format, self.data_format)
        super().__init__(len(self.x), batch_size, shuffle, seed)

    def _get_batches_of_transformed_samples(self, index_array: np.ndarray) -> Any:
        batch = np.zeros((len(index_array), *self.x.shape[1:]), self.dtype)
        for i, number in enumerate(index_array):
            batch[i] = self.image_data_generator.changed(self.x[number].astype(self.dtype))
        self._saving.write(batch, index_array)
        images: Any = [batch, *(v[index_array] for v in self.x_misc if v is not None)] if self.x_misc else batch
        rest = [v[index_array] for v in (self.y, self.sample_weight) if v is not None]
        return (images, *rest) if self.y is not None else images


class _FromFiles(Iterator):
    """Batches of files of images, with the labels of `class_mode`."""

    class_indices: dict[Any, int]

    def _start(
        self,
        files: Listed[str],
        labels: Any,
        generator: Any,
        target_size: Listed[int],
        color_mode: str,
        class_mode: str | None,
        interpolation: str,
        data_format: str | None,
        dtype: npt.DTypeLike | None,
    ) -> None:
        if color_mode not in _CHANNELS:
            raise InvalidArgumentError(f'Invalid color mode: {color_mode!r}; expected "rgb", "rgba", or "grayscale"')
        self.target_size, self.color_mode, self.class_mode = tuple(target_size), color_mode, class_mode
        self.interpolation, self.dtype = interpolation, dtype or floatx()
        self.data_format, self.image_data_generator = data_format_of(data_format), generator
        n = _CHANNELS[color_mode]
        first = self.data_format == "channels_first"
        self.image_shape = (n, *self.target_size) if first else (*self.target_size, n)
        self.filepaths, self.labels = list(files), labels
        self.sample_weight: np.ndarray | None = None
        self.samples = len(self.filepaths)
        self._saving = _Saving(None, "", "png", self.data_format)

    def _get_batches_of_transformed_samples(self, index_array: np.ndarray) -> Any:
        batch = np.zeros((len(index_array), *self.image_shape), self.dtype)
        for i, number in enumerate(index_array):
            picture = load_img(
                self.filepaths[number],
                color_mode=self.color_mode,
                target_size=self.target_size,
                interpolation=self.interpolation,
            )
            x = img_to_array(picture, self.data_format, self.dtype)
            batch[i] = x if self.image_data_generator is None else self.image_data_generator.changed(x)
        self._saving.write(batch, index_array)
        if self.class_mode is None:
            return batch
        weights = () if self.sample_weight is None else (self.sample_weight[index_array],)
        return (batch, self._targets(batch, index_array), *weights)

    def _targets(self, batch: np.ndarray, numbers: np.ndarray) -> np.ndarray | list[Any]:
        if self.class_mode == "input":
            return batch.copy()
        if self.class_mode == "multi_output":
            return [column[numbers] for column in self.labels]
        if self.class_mode != "categorical":
            picked = [self.labels[i] for i in numbers]
            return np.asarray(picked) if self.class_mode == "raw" else np.asarray(picked, self.dtype)
        result = np.zeros((len(numbers), len(self.class_indices)), self.dtype)
        for row, number in enumerate(numbers):
            result[row, self.labels[number]] = 1
        return result


def _files_below(folder: str, follow_links: bool) -> list[str]:
    """Returns the paths of all images below a folder, in the order of their names."""
    found = []
    for place, _, names in sorted(os.walk(folder, followlinks=follow_links)):
        found += [os.path.join(place, name) for name in sorted(names) if name.lower().endswith(_ENDINGS)]
    return found


class DirectoryIterator(_FromFiles):
    """Batches of the images in the folders of a folder, one for each class; see `flow_from_directory`.

    Raises `InvalidArgumentError` for an unknown class mode.
    """

    def __init__(
        self,
        directory: str | Path,
        image_data_generator: Any,
        target_size: Listed[int] = (256, 256),
        color_mode: str = "rgb",
        classes: Listed[str] | None = None,
        class_mode: str | None = "categorical",
        batch_size: int = 32,
        shuffle: bool = True,
        seed: int | None = None,
        data_format: str | None = None,
        save_to_dir: str | None = None,
        save_prefix: str = "",
        save_format: str = "png",
        follow_links: bool = False,
        subset: str | None = None,
        interpolation: str = "nearest",
        dtype: npt.DTypeLike | None = None,
    ) -> None:
        if class_mode not in ("categorical", "binary", "sparse", "input", None):
            raise InvalidArgumentError(
                f"Invalid class_mode: {class_mode!r}; needed categorical, binary, sparse or input"
            )
        self.directory = str(directory)
        names = list(classes or sorted(e.name for e in os.scandir(self.directory) if e.is_dir()))
        self.class_indices = {name: i for i, name in enumerate(names)}
        self.num_classes = len(names)
        files, numbers = [], []
        for name, number in self.class_indices.items():
            found = _files_below(os.path.join(self.directory, name), follow_links)
            found = found[_part(len(found), image_data_generator, subset)]
            files += found
            numbers += [number] * len(found)
        self.classes = np.asarray(numbers, "int32")
        generator = image_data_generator
        self._start(
            files, self.classes, generator, target_size, color_mode, class_mode, interpolation, data_format, dtype
        )
        self.filenames = [os.path.relpath(path, self.directory) for path in files]
        self._saving = _Saving(save_to_dir, save_prefix, save_format, self.data_format)
        print(f"Found {self.samples} images belonging to {self.num_classes} classes.")
        Iterator.__init__(self, self.samples, batch_size, shuffle, seed)


class DataFrameIterator(_FromFiles):
    """Batches of the images that a column of a table of pandas names; see `flow_from_dataframe`.

    Raises `InvalidArgumentError` for an unknown class mode.
    """

    def __init__(
        self,
        dataframe: Any,
        directory: str | Path | None = None,
        image_data_generator: Any = None,
        x_col: str = "filename",
        y_col: str | Listed[str] = "class",
        weight_col: str | None = None,
        target_size: Listed[int] = (256, 256),
        color_mode: str = "rgb",
        classes: Listed[str] | None = None,
        class_mode: str | None = "categorical",
        batch_size: int = 32,
        shuffle: bool = True,
        seed: int | None = None,
        data_format: str | None = "channels_last",
        save_to_dir: str | None = None,
        save_prefix: str = "",
        save_format: str = "png",
        subset: str | None = None,
        interpolation: str = "nearest",
        dtype: npt.DTypeLike = "float32",
        validate_filenames: bool = True,
    ) -> None:
        if class_mode not in ("categorical", "binary", "sparse", "input", "raw", "multi_output", None):
            raise InvalidArgumentError(f"Invalid class_mode: {class_mode!r}")
        table = dataframe
        paths = [os.path.join(str(directory or ""), name) for name in table[x_col]]
        kept = [not validate_filenames or (p.lower().endswith(_ENDINGS) and os.path.isfile(p)) for p in paths]
        by_class = class_mode in ("categorical", "binary", "sparse")
        if by_class:
            words = [list(v) if isinstance(v, (list, tuple)) else [v] for v in table[y_col]]
            names = list(classes or sorted({word for row in words for word in row}))
            self.class_indices = {name: i for i, name in enumerate(names)}
            rows = [[self.class_indices[w] for w in row if w in self.class_indices] for row in words]
            kept = [ok and bool(row) for ok, row in zip(kept, rows, strict=True)]
        chosen = np.flatnonzero(kept)
        chosen = chosen[_part(len(chosen), image_data_generator, subset)]
        labels: Any = None
        if by_class:
            labels = [rows[i] if class_mode == "categorical" else rows[i][0] for i in chosen]
            self.classes = labels
        elif class_mode == "raw":
            labels = table[y_col].values[chosen]
        elif class_mode == "multi_output":
            labels = [np.asarray(table[name].tolist())[chosen] for name in y_col]
        files, generator = [paths[i] for i in chosen], image_data_generator
        self._start(files, labels, generator, target_size, color_mode, class_mode, interpolation, data_format, dtype)
        self.filenames = [table[x_col].tolist()[i] for i in chosen]
        self.sample_weight = None if weight_col is None else np.asarray(table[weight_col])[chosen]
        self._saving = _Saving(save_to_dir, save_prefix, save_format, self.data_format)
        Iterator.__init__(self, self.samples, batch_size, shuffle, seed)
