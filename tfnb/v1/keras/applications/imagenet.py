"""What goes into networks that were trained on ImageNet, and what their predictions mean.

Three ways of scaling pixels are in use: "tf" to -1 .. 1, "torch" by the mean and deviation of the data set, and
"caffe", blue first, minus the mean. Invariant: an array of integers is not changed, one of floats is overwritten, as in
Keras.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.v1.keras.backend.settings import data_format_of, floatx
from tfnb.v1.keras.downloads import local_file
from tfnb.v1.keras.graph_api import tf

__all__ = ["decode_predictions", "preprocess_input", "scaled", "standardized"]

_BLUE_FIRST_MEAN = (103.939, 116.779, 123.68)
_MEAN, _DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
_CLASSES = "imagenet_class_index.json"
_ADDRESS = f"https://storage.googleapis.com/download.tensorflow.org/data/{_CLASSES}"


def preprocess_input(x: Any, data_format: str | None = None, mode: str = "caffe", **kwargs: Any) -> Tensor | np.ndarray:
    """Returns images [..., height, width, 3] of 0 .. 255 as a network expects them, of the same shape.

    x: an array or a tensor with red first; an array of floats is overwritten. mode: "caffe", "tf" or "torch".
    Raises `InvalidArgumentError` for another mode or format.
    """
    _none(kwargs, "preprocess_input")
    if mode not in ("caffe", "tf", "torch"):
        raise InvalidArgumentError(f"preprocess_input: the mode {mode!r}; needed caffe, tf or torch")
    first = data_format_of(data_format) == "channels_first"
    array = isinstance(x, np.ndarray)
    if array and x.dtype.kind != "f":
        x = x.astype(floatx())
    if not array:
        x = tf.convert_to_tensor(x)
        x = x if x.dtype.is_floating else tf.cast(x, floatx())
    if mode == "tf":
        return _changed(x, x / 127.5 - 1.0)
    if mode == "torch":
        return _changed(x, (x / 255.0 - _of_channels(x, _MEAN, first)) / _of_channels(x, _DEVIATION, first))
    reverse = x[..., ::-1, :, :] if first else x[..., ::-1]
    return _changed(x, reverse - _of_channels(x, _BLUE_FIRST_MEAN, first))


def _of_channels(x: Tensor | np.ndarray, values: tuple[float, ...], first: bool) -> np.ndarray:
    """Returns a value for each channel, of a shape and dtype that fit the images."""
    dtype = x.dtype if isinstance(x, np.ndarray) else x.dtype.as_numpy_dtype
    array = np.asarray(values, dtype)
    return array[:, None, None] if first else array


def _changed(x: Tensor | np.ndarray, result: Tensor | np.ndarray) -> Tensor | np.ndarray:
    if isinstance(x, np.ndarray):
        x[...] = result
        return x
    return result


def scaled(x: TensorLike, data_format: str | None = None, **kwargs: Any) -> Tensor | np.ndarray:
    """Returns images of 0 .. 255 as -1 .. 1; see `imagenet_utils.preprocess_input` with the mode "tf"."""
    return preprocess_input(x, data_format, "tf", **kwargs)


def standardized(x: TensorLike, data_format: str | None = None, **kwargs: Any) -> Tensor | np.ndarray:
    """Returns images by the mean and deviation of ImageNet; see `imagenet_utils.preprocess_input`, mode "torch"."""
    return preprocess_input(x, data_format, "torch", **kwargs)


def decode_predictions(preds: ArrayLike, top: int = 5, **kwargs: Any) -> list[list[tuple[str, str, float]]]:
    """Returns for each row of `preds` [rows, 1000] its `top` classes: (WordNet's number, name, probability).

    The names are those of the file imagenet_class_index.json in ~/.keras/models. Raises `NotFoundError` when it is not
    there, since nothing is downloaded, and `InvalidArgumentError` for another shape.
    """
    _none(kwargs, "decode_predictions")
    preds = np.asarray(preds)
    if preds.ndim != 2 or preds.shape[1] != 1000:
        raise InvalidArgumentError(
            "`decode_predictions` expects a batch of predictions (i.e. a 2D array of shape (samples, 1000)). "
            f"Found array with shape: {preds.shape}"
        )
    names = json.loads(local_file(_CLASSES, _ADDRESS, "models").read_text(encoding="utf-8"))
    best = np.argsort(preds, 1)[:, ::-1][:, :top]
    return [[(*names[str(i)], row[i]) for i in numbers] for row, numbers in zip(preds, best, strict=True)]


def _none(kwargs: dict[str, Any], where: str) -> None:
    if kwargs:
        raise TypeError(f"{where}: unknown arguments {sorted(kwargs)}")
