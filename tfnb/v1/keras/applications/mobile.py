"""MobileNet and MobileNetV2: networks of depthwise convolutions for phones.

Howard et al. 2017; Sandler et al. 2018. Invariant: weights are in the order of Keras' files.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor
from tfnb.v1.argument_types import TensorOrVariable
from tfnb.v1.keras.applications.network import (
    Choices,
    activated,
    channels,
    convolved,
    dense_top,
    image_model,
    normalized,
    padding_before,
)
from tfnb.v1.keras.backend.settings import image_data_format
from tfnb.v1.keras.engine.training import Model
from tfnb.v1.keras.layers.convolution import Conv2D, DepthwiseConv2D
from tfnb.v1.keras.layers.core import Activation, Dropout, Reshape
from tfnb.v1.keras.layers.merge import Add
from tfnb.v1.keras.layers.pooling import GlobalAveragePooling2D, ZeroPadding2D

__all__ = ["MobileNet", "MobileNetV2"]

_ALPHAS = {0.25: "2_5", 0.5: "5_0", 0.75: "7_5", 1.0: "1_0"}
# The width and the step of each block of MobileNet.
_BLOCKS = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *(((512, 1),) * 5), (1024, 2), (1024, 1))
# How often a block of MobileNetV2 stands there: its width, and the step of the first.
_BLOCKS_V2 = ((24, 2, 2), (32, 3, 2), (64, 4, 2), (96, 3, 1), (160, 3, 2), (320, 1, 1))


def _rows(input_shape: Sequence[int | None] | None, sizes: tuple[int, ...]) -> int:
    """Returns the usual height: that of the given square shape if there are weights for it, otherwise 224."""
    if input_shape is None:
        return 224
    inner = input_shape[1:] if image_data_format() == "channels_first" else input_shape[:2]
    return int(inner[0]) if inner[0] == inner[1] and inner[0] in sizes else 224


def _with_weights(weights: str | None, alpha: float, depth_multiplier: int, alphas: tuple[float, ...]) -> None:
    if weights != "imagenet":
        return
    if depth_multiplier != 1:
        raise InvalidArgumentError(f"With weights of imagenet, depth_multiplier must be 1, got {depth_multiplier}")
    if alpha not in alphas:
        raise InvalidArgumentError(f"With weights of imagenet, alpha can be one of {alphas}, got {alpha}")


def _height(input_shape: Sequence[int | None] | None, rows: int, static: bool) -> int | None:
    if input_shape is None:
        return rows if static else None
    return input_shape[1 if image_data_format() == "channels_first" else 0]


def MobileNet(
    input_shape: Sequence[int | None] | None = None,
    alpha: float = 1.0,
    depth_multiplier: int = 1,
    dropout: float = 1e-3,
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: TensorOrVariable | None = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """Returns MobileNet, of which each layer has `alpha` times the channels; see `Choices` for the other arguments.

    depth_multiplier: the channels that a depthwise convolution makes of one. dropout: before the last layer. Raises
    `InvalidArgumentError` when there are no weights of ImageNet for these sizes.
    """
    _with_weights(weights, alpha, depth_multiplier, tuple(_ALPHAS))
    chosen = Choices(include_top, weights, input_tensor, input_shape, pooling, classes)
    rows = _rows(input_shape, (128, 160, 192, 224))

    def body(x: Tensor) -> Tensor:
        x = ZeroPadding2D(((0, 1), (0, 1)), name="conv1_pad")(x)
        x = convolved(x, int(32 * alpha), 3, "conv1", strides=2)
        x = activated(normalized(x, "conv1_bn"), "conv1_relu", 6.0)
        for number, (width, step) in enumerate(_BLOCKS, 1):
            if step == 2:
                x = ZeroPadding2D(((0, 1), (0, 1)), name=f"conv_pad_{number}")(x)
            x = DepthwiseConv2D(
                3,
                strides=step,
                padding="same" if step == 1 else "valid",
                depth_multiplier=depth_multiplier,
                use_bias=False,
                name=f"conv_dw_{number}",
            )(x)
            x = activated(normalized(x, f"conv_dw_{number}_bn"), f"conv_dw_{number}_relu", 6.0)
            x = convolved(x, int(width * alpha), 1, f"conv_pw_{number}", padding="same")
            x = activated(normalized(x, f"conv_pw_{number}_bn"), f"conv_pw_{number}_relu", 6.0)
        return x

    def top(x: Tensor, classes: int) -> Tensor:
        n = int(1024 * alpha)
        shape = (n, 1, 1) if image_data_format() == "channels_first" else (1, 1, n)
        x = Dropout(dropout, name="dropout")(Reshape(shape, name="reshape_1")(GlobalAveragePooling2D()(x)))
        x = Conv2D(classes, 1, padding="same", name="conv_preds")(x)
        return Activation("softmax", name="act_softmax")(Reshape((classes,), name="reshape_2")(x))

    name = f"mobilenet_{alpha:0.2f}_{_height(input_shape, rows, include_top)}"
    file = f"mobilenet_{_ALPHAS.get(alpha)}_{rows}_tf"
    return image_model(name, body, chosen, top, file, rows, notop="_no_top")


def _divisible(width: float) -> int:
    """Returns the nearest multiple of 8 that is at most a tenth smaller than `width`."""
    near = max(8, int(width + 4) // 8 * 8)
    return near + 8 if near < 0.9 * width else near


def _inverted(x: Tensor, name: str, width: int, step: int, expansion: int) -> Tensor:
    """Returns a block that widens images, convolves each channel and narrows them to `width`."""
    options = {"epsilon": 1e-3, "momentum": 0.999}
    before, y = channels(x), x
    if expansion > 1:
        y = convolved(y, expansion * before, 1, f"{name}expand", padding="same")
        y = activated(normalized(y, f"{name}expand_BN", **options), f"{name}expand_relu", 6.0)
    if step == 2:
        y = ZeroPadding2D(padding_before(y, 3), name=f"{name}pad")(y)
    padding = "same" if step == 1 else "valid"
    y = DepthwiseConv2D(3, strides=step, use_bias=False, padding=padding, name=f"{name}depthwise")(y)
    y = activated(normalized(y, f"{name}depthwise_BN", **options), f"{name}depthwise_relu", 6.0)
    y = normalized(convolved(y, width, 1, f"{name}project", padding="same"), f"{name}project_BN", **options)
    return Add(name=f"{name}add")([x, y]) if before == width and step == 1 else y


def MobileNetV2(
    input_shape: Sequence[int | None] | None = None,
    alpha: float = 1.0,
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: TensorOrVariable | None = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """Returns MobileNetV2, of which each layer has `alpha` times the channels; see `Choices` for the other arguments.

    Raises `InvalidArgumentError` when there are no weights of ImageNet for this `alpha`.
    """
    _with_weights(weights, alpha, 1, (0.35, 0.5, 0.75, 1.0, 1.3, 1.4))
    chosen = Choices(include_top, weights, input_tensor, input_shape, pooling, classes)
    rows = _rows(input_shape, (96, 128, 160, 192, 224))
    options = {"epsilon": 1e-3, "momentum": 0.999}

    def body(x: Tensor) -> Tensor:
        x = ZeroPadding2D(padding_before(x, 3), name="Conv1_pad")(x)
        x = convolved(x, _divisible(32 * alpha), 3, "Conv1", strides=2)
        x = activated(normalized(x, "bn_Conv1", **options), "Conv1_relu", 6.0)
        x = _inverted(x, "expanded_conv_", _divisible(int(16 * alpha)), 1, 1)
        number = 1
        for width, count, first_step in _BLOCKS_V2:
            for i in range(count):
                x = _inverted(x, f"block_{number}_", _divisible(int(width * alpha)), first_step if i == 0 else 1, 6)
                number += 1
        x = convolved(x, _divisible(1280 * alpha) if alpha > 1.0 else 1280, 1, "Conv_1")
        return activated(normalized(x, "Conv_1_bn", **options), "out_relu", 6.0)

    name = f"mobilenetv2_{alpha:0.2f}_{_height(input_shape, rows, include_top)}"
    file = f"mobilenet_v2_weights_tf_dim_ordering_tf_kernels_{alpha}_{rows}"
    return image_model(name, body, chosen, dense_top(None, "Logits"), file, rows, notop="_no_top")
