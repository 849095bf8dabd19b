"""`ImageDataGenerator`: how images are changed at random and standardised before training.

Invariant: random numbers are drawn in Keras' order, so that a seed gives the changes that it gives there.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from tfnb.errors import InvalidArgumentError
from tfnb.v1.keras.backend.settings import data_format_of, floatx
from tfnb.v1.keras.preprocessing.image_batches import DataFrameIterator, DirectoryIterator, NumpyArrayIterator
from tfnb.v1.keras.preprocessing.images import apply_affine_transform, apply_brightness_shift, apply_channel_shift

__all__ = ["ImageDataGenerator"]


class ImageDataGenerator:
    """Changes images at random: batches come from `flow`, `flow_from_directory` and `flow_from_dataframe`.

    featurewise_*: by the mean and deviation of the data that `fit` was given, samplewise_*: by those of each image.
    rotation_range, shear_range: degrees. width_shift_range, height_shift_range: shares, pixels, or a list of them.
    zoom_range: a number z for 1 - z .. 1 + z, or a pair. brightness_range: a pair of factors. fill_mode, cval: what is
    outside. rescale: a factor. validation_split: the share of the subset "validation". Raises `InvalidArgumentError`
    for ranges that are none.
    """

    def __init__(
        self,
        featurewise_center: bool = False,
        samplewise_center: bool = False,
        featurewise_std_normalization: bool = False,
        samplewise_std_normalization: bool = False,
        zca_whitening: bool = False,
        zca_epsilon: float = 1e-6,
        rotation_range: float = 0,
        width_shift_range: float | Sequence[float] = 0.0,
        height_shift_range: float | Sequence[float] = 0.0,
        brightness_range: tuple[float, float] | list[float] | None = None,
        shear_range: float = 0.0,
        zoom_range: Any = 0.0,
        channel_shift_range: float = 0.0,
        fill_mode: str = "nearest",
        cval: float = 0.0,
        horizontal_flip: bool = False,
        vertical_flip: bool = False,
        rescale: float | None = None,
        preprocessing_function: Callable[[Any], Any] | None = None,
        data_format: str | None = None,
        validation_split: float = 0.0,
        dtype: npt.DTypeLike | None = None,
        interpolation_order: int = 1,
    ) -> None:
        self.featurewise_center = featurewise_center or zca_whitening or featurewise_std_normalization
        self.samplewise_center = samplewise_center or samplewise_std_normalization
        self.featurewise_std_normalization = featurewise_std_normalization and not zca_whitening
        self.samplewise_std_normalization = samplewise_std_normalization
        self.zca_whitening, self.zca_epsilon = zca_whitening, zca_epsilon
        self.rotation_range, self.shear_range = rotation_range, shear_range
        self.channel_shift_range = channel_shift_range
        self.width_shift_range, self.height_shift_range = width_shift_range, height_shift_range
        self.fill_mode, self.cval, self.interpolation_order = fill_mode, cval, interpolation_order
        self.horizontal_flip, self.vertical_flip = horizontal_flip, vertical_flip
        self.rescale, self.preprocessing_function = rescale, preprocessing_function
        self.dtype, self.data_format = dtype or floatx(), data_format_of(data_format)
        first = self.data_format == "channels_first"
        self.channel_axis, self.row_axis, self.col_axis = (1, 2, 3) if first else (3, 1, 2)
        if validation_split and not 0 < validation_split < 1:
            raise InvalidArgumentError(f"`validation_split` must be between 0 and 1. Received: {validation_split}")
        self.validation_split = validation_split
        single = isinstance(zoom_range, (int, float))
        self.zoom_range = [1 - zoom_range, 1 + zoom_range] if single else list(zoom_range)
        if len(self.zoom_range) != 2 or (brightness_range is not None and len(brightness_range) != 2):
            raise InvalidArgumentError(
                f"zoom_range and brightness_range should be pairs of floats, got {zoom_range} and {brightness_range}"
            )
        self.brightness_range = brightness_range
        self.mean: Any = None
        self.std: Any = None
        self.whitening: Any = None

    # batches

    def flow(
        self,
        x: Any,
        y: ArrayLike | None = None,
        batch_size: int = 32,
        shuffle: bool = True,
        sample_weight: ArrayLike | None = None,
        seed: int | None = None,
        save_to_dir: str | None = None,
        save_prefix: str = "",
        save_format: str = "png",
        subset: str | None = None,
    ) -> NumpyArrayIterator:
        """Returns the batches of an array of images; see `NumpyArrayIterator`."""
        return NumpyArrayIterator(
            x,
            y,
            self,
            batch_size,
            shuffle,
            sample_weight,
            seed,
            self.data_format,
            save_to_dir,
            save_prefix,
            save_format,
            subset,
            self.dtype,
        )

    def flow_from_directory(self, directory: str | Path, *args: Any, **kwargs: Any) -> DirectoryIterator:
        """Returns the batches of the images in a folder of folders; see `DirectoryIterator` for the arguments.

        They are target_size, color_mode, classes, class_mode, batch_size, shuffle, seed, save_to_dir, save_prefix,
        save_format, follow_links, subset and interpolation.
        """
        names = "target_size color_mode classes class_mode batch_size shuffle seed save_to_dir save_prefix save_format"
        given = dict(zip([*names.split(), "follow_links", "subset", "interpolation"], args, strict=False))
        return DirectoryIterator(directory, self, **{**given, **kwargs}, data_format=self.data_format, dtype=self.dtype)

    def flow_from_dataframe(
        self, dataframe: Any, directory: str | Path | None = None, **kwargs: Any
    ) -> DataFrameIterator:
        """Returns the batches of the images that a table of pandas names; see `DataFrameIterator`."""
        mode = kwargs.get("class_mode", "categorical")
        kwargs["class_mode"] = "raw" if mode == "other" else mode
        return DataFrameIterator(dataframe, directory, self, data_format=self.data_format, dtype=self.dtype, **kwargs)

    # one image

    def changed(self, x: np.ndarray) -> np.ndarray:
        """Returns one image, changed at random and standardised."""
        return self.standardize(self.apply_transform(x, self.get_random_transform(x.shape)))

    def standardize(self, x: np.ndarray) -> np.ndarray:
        """Returns one image, scaled and standardised; it may be changed in place.

        Without the statistics of `fit` it warns, and leaves out what needs them.
        """
        if self.preprocessing_function:
            x = self.preprocessing_function(x)
        if self.rescale:
            x *= self.rescale
        if self.samplewise_center:
            x -= np.mean(x, keepdims=True)
        if self.samplewise_std_normalization:
            x /= np.std(x, keepdims=True) + 1e-6
        if self.featurewise_center and self._is_fitted(self.mean):
            x -= self.mean
        if self.featurewise_std_normalization and self._is_fitted(self.std):
            x /= self.std + 1e-6
        if self.zca_whitening and self._is_fitted(self.whitening):
            x = (x.reshape(-1, int(np.prod(x.shape[-3:]))) @ self.whitening).reshape(x.shape)
        return x

    def _is_fitted(self, value: object) -> bool:
        if value is None:
            warnings.warn(
                "This ImageDataGenerator standardises by the data set, but it hasn't been fit on any training data. "
                "Fit it first by calling `.fit(numpy_data)`.",
                stacklevel=4,
            )
        return value is not None

    def _drawn_shift(self, given: Any, size: int) -> float:
        """Returns a number of pixels from a share, a number of pixels, or a list of them."""
        if not np.any(given):
            return 0
        if np.ndim(given) or isinstance(given, (int, np.integer)):
            shift = np.random.choice(given)
            shift = shift * np.random.choice([-1, 1])
        else:
            shift = np.random.uniform(-given, given)
        return float(shift * size if np.max(given) < 1 else shift)

    def get_random_transform(self, img_shape: Sequence[int], seed: int | None = None) -> dict[str, Any]:
        """Returns random arguments of `apply_transform` for an image of a shape."""
        if seed is not None:
            np.random.seed(seed)

        def around(limit: float) -> float:
            return np.random.uniform(-limit, limit) if limit else 0

        drawn: dict[str, Any] = {"theta": around(self.rotation_range)}
        drawn["tx"] = self._drawn_shift(self.height_shift_range, img_shape[self.row_axis - 1])
        drawn["ty"] = self._drawn_shift(self.width_shift_range, img_shape[self.col_axis - 1])
        drawn["shear"] = around(self.shear_range)
        low, high = self.zoom_range
        drawn["zx"], drawn["zy"] = (1, 1) if low == high == 1 else np.random.uniform(low, high, 2)
        drawn["flip_horizontal"] = (np.random.random() < 0.5) * self.horizontal_flip
        drawn["flip_vertical"] = (np.random.random() < 0.5) * self.vertical_flip
        drawn["channel_shift_intensity"] = around(self.channel_shift_range) if self.channel_shift_range else None
        drawn["brightness"] = None if self.brightness_range is None else np.random.uniform(*self.brightness_range)
        return drawn

    def apply_transform(self, x: np.ndarray, transform_parameters: Mapping[str, Any]) -> np.ndarray:
        """Returns one image, changed by the keys theta, tx, ty, shear, zx, zy, flip_horizontal, flip_vertical,
        channel_shift_intensity and brightness, as far as they are given."""
        get = transform_parameters.get
        rows, columns, channel = self.row_axis - 1, self.col_axis - 1, self.channel_axis - 1
        how = (get("theta", 0), get("tx", 0), get("ty", 0), get("shear", 0), get("zx", 1), get("zy", 1))
        where = (rows, columns, channel, self.fill_mode, self.cval, self.interpolation_order)
        x = apply_affine_transform(x, *how, *where)
        if get("channel_shift_intensity") is not None:
            x = apply_channel_shift(x, transform_parameters["channel_shift_intensity"], channel)
        if get("flip_horizontal", False):
            x = np.flip(x, columns)
        if get("flip_vertical", False):
            x = np.flip(x, rows)
        if get("brightness") is not None:
            x = apply_brightness_shift(x, transform_parameters["brightness"])
        return x

    def random_transform(self, x: np.ndarray, seed: int | None = None) -> np.ndarray:
        """Returns one image, changed at random."""
        return self.apply_transform(x, self.get_random_transform(x.shape, seed))

    def fit(self, x: ArrayLike, augment: bool = False, rounds: int = 1, seed: int | None = None) -> None:
        """Computes the statistics of images [images, ...] by which `standardize` works.

        augment: of `rounds` times the images, changed at random. Raises `InvalidArgumentError` for another rank.
        """
        x = np.array(x, self.dtype)
        if x.ndim != 4:
            raise InvalidArgumentError(f"Input to `.fit()` should have rank 4. Got array with shape: {x.shape}")
        if seed is not None:
            np.random.seed(seed)
        if self.rescale:
            x *= self.rescale
        if augment:
            x = np.stack([self.random_transform(image) for _ in range(rounds) for image in x])
        axes = (0, self.row_axis, self.col_axis)
        if self.featurewise_center:
            self.mean = np.mean(x, axis=axes, keepdims=True)[0]
            x -= self.mean
        if self.featurewise_std_normalization:
            self.std = np.std(x, axis=axes, keepdims=True)[0]
            x /= self.std + 1e-6
        if self.zca_whitening:
            u, s, _ = np.linalg.svd(x.reshape(len(x), -1).T, full_matrices=False)
            self.whitening = (u * (np.sqrt(len(x)) / (s + self.zca_epsilon))) @ u.T
