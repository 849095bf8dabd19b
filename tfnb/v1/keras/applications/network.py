"""What all networks for images share: their input, their last layers, and weights from files.

A network is a function from the image to its last features; `image_model` makes a model of it. Invariant: names and
order of layers and weights are those of Keras 2, so that its files of weights fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tfnb.client.argument_types import WindowSize
from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor
from tfnb.v1.keras.backend.arrays import is_keras_tensor
from tfnb.v1.keras.backend.settings import image_data_format
from tfnb.v1.keras.downloads import local_file
from tfnb.v1.keras.engine.input_layer import Input
from tfnb.v1.keras.engine.training import Model
from tfnb.v1.keras.labels import get_source_inputs
from tfnb.v1.keras.layers.activations import ReLU
from tfnb.v1.keras.layers.convolution import Conv2D
from tfnb.v1.keras.layers.core import Activation, Dense
from tfnb.v1.keras.layers.merge import Concatenate
from tfnb.v1.keras.layers.normalization import BatchNormalization
from tfnb.v1.keras.layers.pooling import GlobalAveragePooling2D, GlobalMaxPooling2D

__all__ = [
    "Choices",
    "activated",
    "channels",
    "convolved",
    "dense_top",
    "image_model",
    "joined",
    "normalized",
    "padding_before",
]


@dataclass(frozen=True)
class Choices:
    """The arguments that all networks have.

    include_top: whether the last layers classify. weights: None, "imagenet" or a file. input_tensor: what the network
    is computed from instead of a new input. input_shape: of an image. pooling: "avg", "max" or None, what ends a
    network without top. classes: how many the top tells apart.
    """

    include_top: bool = True
    weights: str | None = "imagenet"
    input_tensor: Any = None
    input_shape: Sequence[int | None] | None = None
    pooling: str | None = None
    classes: int = 1000


def _first() -> bool:
    return bool(image_data_format() == "channels_first")


def channels(x: Any) -> int:
    """Returns the number of channels of images."""
    return int(x.shape.as_list()[1 if _first() else 3])


def joined(parts: Sequence[Any], name: str | None = None) -> Tensor:
    """Returns the channels of all `parts` in their order."""
    return Concatenate(axis=1 if _first() else 3, name=name)(list(parts))


def normalized(x: Tensor, name: str | None = None, **options: Any) -> Tensor:
    """Returns `x` with each channel normalised by the batch."""
    return BatchNormalization(axis=1 if _first() else 3, name=name, **options)(x)


def activated(x: Tensor, name: str | None = None, limit: float | None = None) -> Tensor:
    """Returns the positive part of `x`, at most `limit`."""
    return Activation("relu", name=name)(x) if limit is None else ReLU(limit, name=name)(x)


def convolved(x: Tensor, filters: int, size: WindowSize, name: str | None = None, **options: Any) -> Tensor:
    """Returns a convolution of `x` without bias."""
    return Conv2D(filters, size, **{"use_bias": False, "name": name, **options})(x)


def padding_before(x: Tensor, size: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Returns the zeros around images before a convolution of step 2, which then gives half their size, rounded up."""
    inner = x.shape.as_list()[2:4] if _first() else x.shape.as_list()[1:3]
    half = size // 2
    before = [half - 1 + (n or 0) % 2 for n in inner]
    return ((before[0], half), (before[1], half))


def _shape(given: Any, size: int, least: int, static: bool, weights: str | None) -> tuple[int | None, ...]:
    """Returns the shape of an image, from the one that is given and the one for which the network was made.

    Raises `InvalidArgumentError` for a shape of another rank, smaller than `least`, or not static where that is needed.
    """
    first, imagenet = _first(), weights == "imagenet"
    depth = 3 if given is None or imagenet or len(given) != 3 else given[0 if first else 2]
    usual = (depth, size, size) if first else (size, size, depth)
    if given is None:
        return usual if static else (depth, None, None) if first else (None, None, depth)
    given = tuple(given)
    if len(given) != 3:
        raise InvalidArgumentError(f"`input_shape` must be a tuple of three integers, got {given}")
    if imagenet and static and given != usual:
        raise InvalidArgumentError(
            f"With `include_top=True` and weights of imagenet, `input_shape` should be {usual}, got {given}"
        )
    inner = given[1:] if first else given[:2]
    if imagenet and given[0 if first else 2] != 3:
        raise InvalidArgumentError(f"The input must have 3 channels; got `input_shape={given}`")
    if any(n is not None and n < least for n in inner):
        raise InvalidArgumentError(f"Input size must be at least {least}x{least}; got `input_shape={given}`")
    if static and None in given:
        raise InvalidArgumentError(f"If `include_top` is True, you should specify a static `input_shape`. Got {given}")
    return given


def _checked(chosen: Choices) -> None:
    weights = chosen.weights
    if weights not in (None, "imagenet") and not Path(str(weights)).exists():
        raise InvalidArgumentError(
            "The `weights` argument should be either `None` (random initialization), `imagenet` (pre-training on "
            f"ImageNet), or the path to the weights file to be loaded; there is no file {weights}."
        )
    if weights == "imagenet" and chosen.include_top and chosen.classes != 1000:
        raise InvalidArgumentError(
            f"With `include_top=True` and weights of imagenet, `classes` should be 1000, got {chosen.classes}"
        )
    if chosen.pooling not in (None, "avg", "max"):
        raise InvalidArgumentError(f"pooling={chosen.pooling!r}; needed None, avg or max")


def dense_top(pooled: str | None, name: str) -> Callable[[Any, int], Any]:
    """Returns the last layers of most networks: the mean over the image, and a softmax of the layer `name`."""

    def top(x: Tensor, classes: int) -> Tensor:
        return Dense(classes, activation="softmax", name=name)(GlobalAveragePooling2D(name=pooled)(x))

    return top


def image_model(
    name: str,
    body: Callable[[Any], Any],
    chosen: Choices,
    top: Callable[[Any, int], Any],
    file: str,
    size: int = 224,
    least: int = 32,
    static: bool | None = None,
    notop: str = "_notop",
    pool_names: tuple[str | None, str | None] = (None, None),
) -> Model:
    """Returns the model `name` of the function `body` from images to features.

    top: from features and a number of classes to probabilities. file: the name of Keras' file of weights; those
    without top end in `notop`. size, least: the usual and the smallest height and width. static: whether the shape of
    images must be known, by default with the top. Raises `NotFoundError` when the file of ImageNet's weights is not in
    ~/.keras/models, since nothing is downloaded, and `InvalidArgumentError` for arguments that do not fit.
    """
    _checked(chosen)
    path: Any = chosen.weights
    if chosen.weights == "imagenet":
        stem = file if chosen.include_top else file + notop
        path = local_file(f"{stem}.h5", f"the weights {stem}.h5 of Keras, or leave them out by weights=None,", "models")
    static = chosen.include_top if static is None else static
    shape = _shape(chosen.input_shape, size, least, static, chosen.weights)
    given = chosen.input_tensor
    if given is None:
        image = Input(shape=shape)
    else:
        image = given if is_keras_tensor(given) else Input(tensor=given, shape=shape)
    x = body(image)
    if chosen.include_top:
        x = top(x, chosen.classes)
    elif chosen.pooling is not None:
        pool, number = (GlobalAveragePooling2D, 0) if chosen.pooling == "avg" else (GlobalMaxPooling2D, 1)
        x = pool(name=pool_names[number])(x)
    model = Model(image if given is None else get_source_inputs(image), x, name=name)
    if path is not None:
        model.load_weights(str(path))
    return model
