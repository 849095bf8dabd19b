"""Residual networks: ResNet, and ResNet V2 that normalises before it convolves.

He et al. 2015 and 2016. Invariant: weights are in the order of Keras' files.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfnb.ir.tensor import Tensor
from tfnb.v1.argument_types import TensorOrVariable
from tfnb.v1.keras.applications.network import Choices, activated, convolved, dense_top, image_model, normalized
from tfnb.v1.keras.engine.training import Model
from tfnb.v1.keras.layers.convolution import Conv2D
from tfnb.v1.keras.layers.merge import Add
from tfnb.v1.keras.layers.pooling import MaxPooling2D, ZeroPadding2D

__all__ = ["ResNet101", "ResNet101V2", "ResNet152", "ResNet152V2", "ResNet50", "ResNet50V2"]

_EPSILON = 1.001e-5


def _block(x: Tensor, filters: int, step: int, projected: bool, name: str) -> Tensor:
    """Returns a residual block: three convolutions, beside them `x`, which is `projected` when the size changes."""
    beside = x
    if projected:
        beside = Conv2D(4 * filters, 1, strides=step, name=f"{name}_0_conv")(x)
        beside = normalized(beside, f"{name}_0_bn", epsilon=_EPSILON)
    y = Conv2D(filters, 1, strides=step, name=f"{name}_1_conv")(x)
    y = activated(normalized(y, f"{name}_1_bn", epsilon=_EPSILON), f"{name}_1_relu")
    y = Conv2D(filters, 3, padding="same", name=f"{name}_2_conv")(y)
    y = activated(normalized(y, f"{name}_2_bn", epsilon=_EPSILON), f"{name}_2_relu")
    y = normalized(Conv2D(4 * filters, 1, name=f"{name}_3_conv")(y), f"{name}_3_bn", epsilon=_EPSILON)
    return activated(Add(name=f"{name}_add")([beside, y]), f"{name}_out")


def _block_v2(x: Tensor, filters: int, step: int, projected: bool, name: str) -> Tensor:
    """Returns a residual block whose first layers are the normalisation and the activation."""
    before = activated(normalized(x, f"{name}_preact_bn", epsilon=_EPSILON), f"{name}_preact_relu")
    if projected:
        beside = Conv2D(4 * filters, 1, strides=step, name=f"{name}_0_conv")(before)
    else:
        beside = MaxPooling2D(1, strides=step)(x) if step > 1 else x
    y = convolved(before, filters, 1, f"{name}_1_conv")
    y = activated(normalized(y, f"{name}_1_bn", epsilon=_EPSILON), f"{name}_1_relu")
    y = convolved(ZeroPadding2D(1, name=f"{name}_2_pad")(y), filters, 3, f"{name}_2_conv", strides=step)
    y = activated(normalized(y, f"{name}_2_bn", epsilon=_EPSILON), f"{name}_2_relu")
    return Add(name=f"{name}_out")([beside, Conv2D(4 * filters, 1, name=f"{name}_3_conv")(y)])


def _resnet(name: str, counts: tuple[int, ...], v2: bool, chosen: Choices) -> Model:
    def body(x: Tensor) -> Tensor:
        x = Conv2D(64, 7, strides=2, name="conv1_conv")(ZeroPadding2D(3, name="conv1_pad")(x))
        if not v2:
            x = activated(normalized(x, "conv1_bn", epsilon=_EPSILON), "conv1_relu")
        x = MaxPooling2D(3, strides=2, name="pool1_pool")(ZeroPadding2D(1, name="pool1_pad")(x))
        for stack, count in enumerate(counts, 2):
            filters = 64 * 2 ** (stack - 2)
            for number in range(1, count + 1):
                label = f"conv{stack}_block{number}"
                if v2:
                    step = 2 if number == count and stack < 5 else 1
                    x = _block_v2(x, filters, step, number == 1, label)
                else:
                    x = _block(x, filters, 2 if number == 1 and stack > 2 else 1, number == 1, label)
        return activated(normalized(x, "post_bn", epsilon=_EPSILON), "post_relu") if v2 else x

    top = dense_top("avg_pool", "probs")
    file = f"{name}_weights_tf_dim_ordering_tf_kernels"
    return image_model(name, body, chosen, top, file, pool_names=("avg_pool", "max_pool"))


_PARTS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}


def ResNet50(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: TensorOrVariable | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """Returns the residual network of 50 layers; see `Choices` for the arguments."""
    chosen = Choices(include_top, weights, input_tensor, input_shape, pooling, classes)
    return _resnet("resnet50", _PARTS[50], False, chosen)


def ResNet50V2(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: TensorOrVariable | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """Returns the residual network of 50 layers that normalises first; see `Choices` for the arguments."""
    chosen = Choices(include_top, weights, input_tensor, input_shape, pooling, classes)
    return _resnet("resnet50v2", _PARTS[50], True, chosen)


def ResNet101(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: TensorOrVariable | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """Returns the residual network of 101 layers; see `Choices` for the arguments."""
    chosen = Choices(include_top, weights, input_tensor, input_shape, pooling, classes)
    return _resnet("resnet101", _PARTS[101], False, chosen)


def ResNet101V2(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: TensorOrVariable | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """Returns the residual network of 101 layers that normalises first; see `Choices` for the arguments."""
    chosen = Choices(include_top, weights, input_tensor, input_shape, pooling, classes)
    return _resnet("resnet101v2", _PARTS[101], True, chosen)


def ResNet152(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: TensorOrVariable | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """Returns the residual network of 152 layers; see `Choices` for the arguments."""
    chosen = Choices(include_top, weights, input_tensor, input_shape, pooling, classes)
    return _resnet("resnet152", _PARTS[152], False, chosen)


def ResNet152V2(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: TensorOrVariable | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """Returns the residual network of 152 layers that normalises first; see `Choices` for the arguments."""
    chosen = Choices(include_top, weights, input_tensor, input_shape, pooling, classes)
    return _resnet("resnet152v2", _PARTS[152], True, chosen)
