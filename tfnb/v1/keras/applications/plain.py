"""VGG, DenseNet and Xception: networks of one path.

Simonyan and Zisserman 2014; Huang et al. 2016; Chollet 2016. Invariant: weights are in the order of Keras' files.
"""

from __future__ import annotations

from collections.abc import Sequence

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
from tfnb.v1.keras.layers.convolution import Conv2D, SeparableConv2D
from tfnb.v1.keras.layers.core import Dense, Flatten
from tfnb.v1.keras.layers.merge import add
from tfnb.v1.keras.layers.pooling import AveragePooling2D, MaxPooling2D, ZeroPadding2D

__all__ = ["VGG16", "VGG19", "DenseNet121", "DenseNet169", "DenseNet201", "Xception"]

_SUFFIX = "_weights_tf_dim_ordering_tf_kernels"


def _vgg(name: str, counts: tuple[int, ...], chosen: Choices) -> Model:
    def body(x: Tensor) -> Tensor:
        for block, (count, filters) in enumerate(zip(counts, (64, 128, 256, 512, 512), strict=True), 1):
            for number in range(1, count + 1):
                label = f"block{block}_conv{number}"
                x = Conv2D(filters, 3, activation="relu", padding="same", name=label)(x)
            x = MaxPooling2D(2, strides=2, name=f"block{block}_pool")(x)
        return x

    def top(x: Tensor, classes: int) -> Tensor:
        x = Flatten(name="flatten")(x)
        for label in ("fc1", "fc2"):
            x = Dense(4096, activation="relu", name=label)(x)
        return Dense(classes, activation="softmax", name="predictions")(x)

    return image_model(name, body, chosen, top, name + _SUFFIX)


def VGG16(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: TensorOrVariable | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """Returns the model of 16 layers of Simonyan and Zisserman; see `Choices` for the arguments."""
    chosen = Choices(include_top, weights, input_tensor, input_shape, pooling, classes)
    return _vgg("vgg16", (2, 2, 3, 3, 3), chosen)


def VGG19(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: TensorOrVariable | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """Returns the model of 19 layers of Simonyan and Zisserman; see `Choices` for the arguments."""
    chosen = Choices(include_top, weights, input_tensor, input_shape, pooling, classes)
    return _vgg("vgg19", (2, 2, 4, 4, 4), chosen)


def _dense_layer(x: Tensor, name: str) -> Tensor:
    """Returns `x` and 32 new channels that are computed from all of them."""
    y = activated(normalized(x, f"{name}_0_bn", epsilon=1.001e-5), f"{name}_0_relu")
    y = convolved(y, 128, 1, f"{name}_1_conv")
    y = activated(normalized(y, f"{name}_1_bn", epsilon=1.001e-5), f"{name}_1_relu")
    return joined([x, convolved(y, 32, 3, f"{name}_2_conv", padding="same")], f"{name}_concat")


def _densenet(name: str, counts: tuple[int, ...], chosen: Choices) -> Model:
    def body(x: Tensor) -> Tensor:
        x = convolved(ZeroPadding2D(3)(x), 64, 7, "conv1/conv", strides=2)
        x = activated(normalized(x, "conv1/bn", epsilon=1.001e-5), "conv1/relu")
        x = MaxPooling2D(3, strides=2, name="pool1")(ZeroPadding2D(1)(x))
        for block, count in enumerate(counts, 2):
            if block > 2:
                pool = f"pool{block - 1}"
                x = activated(normalized(x, f"{pool}_bn", epsilon=1.001e-5), f"{pool}_relu")
                x = convolved(x, channels(x) // 2, 1, f"{pool}_conv")
                x = AveragePooling2D(2, strides=2, name=f"{pool}_pool")(x)
            for number in range(1, count + 1):
                x = _dense_layer(x, f"conv{block}_block{number}")
        return activated(normalized(x, "bn", epsilon=1.001e-5), "relu")

    names = ("avg_pool", "max_pool")
    return image_model(name, body, chosen, dense_top("avg_pool", "fc1000"), name + _SUFFIX, pool_names=names)


def DenseNet121(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: TensorOrVariable | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """Returns the densely connected network of 121 layers; see `Choices` for the arguments."""
    chosen = Choices(include_top, weights, input_tensor, input_shape, pooling, classes)
    return _densenet("densenet121", (6, 12, 24, 16), chosen)


def DenseNet169(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: TensorOrVariable | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """Returns the densely connected network of 169 layers; see `Choices` for the arguments."""
    chosen = Choices(include_top, weights, input_tensor, input_shape, pooling, classes)
    return _densenet("densenet169", (6, 12, 32, 32), chosen)


def DenseNet201(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: TensorOrVariable | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """Returns the densely connected network of 201 layers; see `Choices` for the arguments."""
    chosen = Choices(include_top, weights, input_tensor, input_shape, pooling, classes)
    return _densenet("densenet201", (6, 12, 48, 32), chosen)


def _separable(x: Tensor, filters: int, name: str) -> Tensor:
    y = SeparableConv2D(filters, 3, padding="same", use_bias=False, name=name)(x)
    return normalized(y, f"{name}_bn")


def _shrunk(x: Tensor, block: int, widths: tuple[int, int]) -> Tensor:
    """Returns a block of Xception that halves images, with a convolution beside it."""
    beside = normalized(convolved(x, widths[1], 1, strides=2, padding="same"))
    for number, width in enumerate(widths, 1):
        label = f"block{block}_sepconv{number}"
        if block > 2 or number > 1:
            x = activated(x, f"{label}_act")
        x = _separable(x, width, label)
    x = MaxPooling2D(3, strides=2, padding="same", name=f"block{block}_pool")(x)
    return add([x, beside])


def _xception_body(x: Tensor) -> Tensor:
    for number, (filters, step) in enumerate(((32, 2), (64, 1)), 1):
        label = f"block1_conv{number}"
        x = activated(normalized(convolved(x, filters, 3, label, strides=step), f"{label}_bn"), f"{label}_act")
    for block, width in ((2, 128), (3, 256), (4, 728)):
        x = _shrunk(x, block, (width, width))
    for block in range(5, 13):
        y = x
        for number in range(1, 4):
            label = f"block{block}_sepconv{number}"
            y = _separable(activated(y, f"{label}_act"), 728, label)
        x = add([y, x])
    x = _shrunk(x, 13, (728, 1024))
    for number, width in ((1, 1536), (2, 2048)):
        label = f"block14_sepconv{number}"
        x = activated(_separable(x, width, label), f"{label}_act")
    return x


def Xception(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: TensorOrVariable | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """Returns Chollet's network of separable convolutions; see `Choices` for the arguments."""
    chosen = Choices(include_top, weights, input_tensor, input_shape, pooling, classes)
    top = dense_top("avg_pool", "predictions")
    return image_model("xception", _xception_body, chosen, top, "xception" + _SUFFIX, 299, 71)
