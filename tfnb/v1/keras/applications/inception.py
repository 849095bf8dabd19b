"""Inception V3 and Inception-ResNet V2: networks of blocks with several branches, joined by their channels.

Szegedy et al. 2015 and 2016. A branch is written as its convolutions: (filters, size), with "v" for no padding and
step 2. Invariant: layers are made in the order of Keras', in which its files of weights count them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfnb.client.argument_types import WindowSize
from tfnb.ir.tensor import Tensor
from tfnb.v1.argument_types import TensorOrVariable
from tfnb.v1.keras.applications.network import (
    Choices,
    activated,
    channels,
    convolved,
    dense_top,
    image_model,
    joined,
    normalized,
)
from tfnb.v1.keras.engine.training import Model
from tfnb.v1.keras.layers.convolution import Conv2D
from tfnb.v1.keras.layers.core import Lambda
from tfnb.v1.keras.layers.pooling import AveragePooling2D, MaxPooling2D

__all__ = ["InceptionResNetV2", "InceptionV3"]

_Branch = Sequence[tuple[Any, ...]]


def _unit(x: Tensor, filters: int, size: WindowSize, kind: str = "same", name: str | None = None) -> Tensor:
    """Returns a convolution with its normalisation and activation; `kind` is same, valid or half, with step 2."""
    step, padding = (2, "valid") if kind == "half" else (1, kind)
    x = convolved(x, filters, size, name, strides=step, padding=padding)
    x = normalized(x, name and f"{name}_bn", scale=False)
    return activated(x, name and f"{name}_ac")


def _branch(x: Tensor, units: _Branch) -> Tensor:
    for unit in units:
        x = _unit(x, *unit)
    return x


def _mixed(x: Tensor, name: str, branches: Sequence[_Branch], pooled: int | None) -> Tensor:
    """Returns the channels of all branches; the last is the mean around each pixel, or the largest of it at step 2."""
    parts = [_branch(x, units) for units in branches]
    if pooled is None:
        parts.append(MaxPooling2D(3, strides=2)(x))
    else:
        parts.append(_unit(AveragePooling2D(3, strides=1, padding="same")(x), pooled, 1))
    return joined(parts, name)


def _stem(x: Tensor) -> Tensor:
    """Returns the first layers, which both networks share."""
    x = _branch(x, ((32, 3, "half"), (32, 3, "valid"), (64, 3)))
    x = MaxPooling2D(3, strides=2)(x)
    return MaxPooling2D(3, strides=2)(_branch(x, ((80, 1, "valid"), (192, 3, "valid"))))


def _across(x: Tensor, n: int, name: str) -> Tensor:
    """Returns a block of 17 x 17 pixels, whose inner width is `n`, with convolutions of rows and of columns."""
    row, column = (1, 7), (7, 1)
    short = ((n, 1), (n, row), (192, column))
    long = ((n, 1), (n, column), (n, row), (n, column), (192, row))
    return _mixed(x, name, (((192, 1),), short, long), 192)


def _forked(x: Tensor, number: int) -> Tensor:
    """Returns a block of 8 x 8 pixels, of which two branches end in a row and a column."""
    one = _unit(x, 320, 1)
    y = _unit(x, 384, 1)
    first = joined([_unit(y, 384, (1, 3)), _unit(y, 384, (3, 1))], f"mixed9_{number}")
    y = _branch(x, ((448, 1), (384, 3)))
    second = joined([_unit(y, 384, (1, 3)), _unit(y, 384, (3, 1))])
    pooled = _unit(AveragePooling2D(3, strides=1, padding="same")(x), 192, 1)
    return joined([one, first, second, pooled], f"mixed{9 + number}")


def _v3(x: Tensor) -> Tensor:
    x = _stem(x)
    for number, pooled in enumerate((32, 64, 64)):
        branches = (((64, 1),), ((48, 1), (64, 5)), ((64, 1), (96, 3), (96, 3)))
        x = _mixed(x, f"mixed{number}", branches, pooled)
    x = _mixed(x, "mixed3", (((384, 3, "half"),), ((64, 1), (96, 3), (96, 3, "half"))), None)
    for number, width in enumerate((128, 160, 160, 192), 4):
        x = _across(x, width, f"mixed{number}")
    last = ((192, 1), (192, (1, 7)), (192, (7, 1)), (192, 3, "half"))
    x = _mixed(x, "mixed8", (((192, 1), (320, 3, "half")), last), None)
    return _forked(_forked(x, 0), 1)


def InceptionV3(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: TensorOrVariable | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """Returns the third Inception network of Szegedy et al.; see `Choices` for the arguments."""
    chosen = Choices(include_top, weights, input_tensor, input_shape, pooling, classes)
    top, file = dense_top("avg_pool", "predictions"), "inception_v3_weights_tf_dim_ordering_tf_kernels"
    return image_model("inception_v3", _v3, chosen, top, file, 299, 75)


# The branches of the residual blocks, and the share of them that is added.
_RESIDUAL: dict[str, tuple[Sequence[_Branch], float]] = {
    "block35": ((((32, 1),), ((32, 1), (32, 3)), ((32, 1), (48, 3), (64, 3))), 0.17),
    "block17": ((((192, 1),), ((128, 1), (160, (1, 7)), (192, (7, 1)))), 0.1),
    "block8": ((((192, 1),), ((192, 1), (224, (1, 3)), (256, (3, 1)))), 0.2),
}


def _scaled_sum(inputs: Sequence[Tensor], scale: float) -> Tensor:
    """Returns the first input plus `scale` times the second."""
    return inputs[0] + inputs[1] * scale


def _residual(x: Tensor, kind: str, number: int, last: bool = False) -> Tensor:
    branches, scale = _RESIDUAL[kind]
    name = f"{kind}_{number}"
    y = joined([_branch(x, units) for units in branches], f"{name}_mixed")
    y = Conv2D(channels(x), 1, padding="same", name=f"{name}_conv")(y)
    shape = tuple(x.shape.as_list()[1:])
    options: dict[str, Any] = {"output_shape": shape, "arguments": {"scale": 1.0 if last else scale}}
    x = Lambda(_scaled_sum, name=name, **options)([x, y])
    return x if last else activated(x, f"{name}_ac")


def _resnet_v2(x: Tensor) -> Tensor:
    x = _mixed(_stem(x), "mixed_5b", (((96, 1),), ((48, 1), (64, 5)), ((64, 1), (96, 3), (96, 3))), 64)
    for number in range(1, 11):
        x = _residual(x, "block35", number)
    x = _mixed(x, "mixed_6a", (((384, 3, "half"),), ((256, 1), (256, 3), (384, 3, "half"))), None)
    for number in range(1, 21):
        x = _residual(x, "block17", number)
    long = ((256, 1), (288, 3), (320, 3, "half"))
    x = _mixed(x, "mixed_7a", (((256, 1), (384, 3, "half")), ((256, 1), (288, 3, "half")), long), None)
    for number in range(1, 11):
        x = _residual(x, "block8", number, last=number == 10)
    return _unit(x, 1536, 1, name="conv_7b")


def InceptionResNetV2(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: TensorOrVariable | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """Returns the Inception network of Szegedy et al. with residual connections; see `Choices` for the arguments."""
    chosen = Choices(include_top, weights, input_tensor, input_shape, pooling, classes)
    top, file = dense_top("avg_pool", "predictions"), "inception_resnet_v2_weights_tf_dim_ordering_tf_kernels"
    return image_model("inception_resnet_v2", _resnet_v2, chosen, top, file, 299, 75)
