"""NASNet: a network whose cells were found by a search.

Zoph et al. 2017. A cell combines its input `h` and that of the cell before, `p`. Invariant: weights are in the order of
Keras' files, and the names of layers are theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
    padding_before,
)
from tfnb.v1.keras.backend.settings import image_data_format
from tfnb.v1.keras.engine.training import Model
from tfnb.v1.keras.layers.convolution import SeparableConv2D
from tfnb.v1.keras.layers.merge import add
from tfnb.v1.keras.layers.pooling import AveragePooling2D, Cropping2D, MaxPooling2D, ZeroPadding2D

__all__ = ["NASNetLarge", "NASNetMobile"]

_NORMAL = {"momentum": 0.9997, "epsilon": 1e-3}
_HE = "he_normal"


def _twice(x: Tensor, filters: int, size: int, label: str, step: int = 1) -> Tensor:
    """Returns two separable convolutions of `x`, the first of them with a step."""
    x = activated(x)
    for number in (1, 2):
        if step == 2 and number == 1:
            x = ZeroPadding2D(padding_before(x, size), name=f"separable_conv_1_pad_{label}")(x)
        x = SeparableConv2D(
            filters,
            size,
            strides=step if number == 1 else 1,
            padding="valid" if step == 2 and number == 1 else "same",
            use_bias=False,
            kernel_initializer=_HE,
            name=f"separable_conv_{number}_{label}",
        )(x)
        x = normalized(x, f"separable_conv_{number}_bn_{label}", **_NORMAL)
        x = activated(x) if number == 1 else x
    return x


def _rows(x: Tensor) -> int | None:
    return x.shape.as_list()[2 if image_data_format() == "channels_first" else 1]


def _fitted(p: Tensor | None, like: Tensor, filters: int, label: str) -> Tensor:
    """Returns the input of the cell before with the height of `like` and the given number of channels."""
    if p is None:
        return like
    options = {"padding": "same", "kernel_initializer": _HE}
    if _rows(p) != _rows(like):
        p = activated(p, f"adjust_relu_1_{label}")
        first = AveragePooling2D(1, strides=2, name=f"adjust_avg_pool_1_{label}")(p)
        first = convolved(first, filters // 2, 1, f"adjust_conv_1_{label}", **options)
        moved = Cropping2D(((1, 0), (1, 0)))(ZeroPadding2D(((0, 1), (0, 1)))(p))
        second = AveragePooling2D(1, strides=2, name=f"adjust_avg_pool_2_{label}")(moved)
        second = convolved(second, filters // 2, 1, f"adjust_conv_2_{label}", **options)
        return normalized(joined([first, second]), f"adjust_bn_{label}", **_NORMAL)
    if channels(p) != filters:
        p = convolved(activated(p), filters, 1, f"adjust_conv_projection_{label}", **options)
        p = normalized(p, f"adjust_bn_{label}", **_NORMAL)
    return p


def _begun(x: Tensor, p: Tensor | None, filters: int, kind: str, label: str) -> tuple[Any, Any]:
    """Returns the two inputs of a cell with `filters` channels."""
    p = _fitted(p, x, filters, label)
    h = convolved(activated(x), filters, 1, f"{kind}_conv_1_{label}", padding="same", kernel_initializer=_HE)
    return normalized(h, f"{kind}_bn_1_{label}", **_NORMAL), p


def _mean(x: Tensor, name: str) -> Tensor:
    return AveragePooling2D(3, strides=1, padding="same", name=name)(x)


def _normal(x: Tensor, p: Tensor | None, filters: int, label: str) -> tuple[Any, Any]:
    """Returns the output of a cell that keeps the size, and its input for the cell after."""
    h, p = _begun(x, p, filters, "normal", label)

    def named(part: str) -> str:
        return f"normal_{part}_{label}"

    left, right = _twice(h, filters, 5, named("left1")), _twice(p, filters, 3, named("right1"))
    sums = [add([left, right], name=named("add_1"))]
    left, right = _twice(p, filters, 5, named("left2")), _twice(p, filters, 3, named("right2"))
    sums.append(add([left, right], name=named("add_2")))
    sums.append(add([_mean(h, named("left3")), p], name=named("add_3")))
    sums.append(add([_mean(p, named("left4")), _mean(p, named("right4"))], name=named("add_4")))
    sums.append(add([_twice(h, filters, 3, named("left5")), h], name=named("add_5")))
    return joined([p, *sums], named("concat")), x


def _reduction(x: Tensor, p: Tensor | None, filters: int, label: str) -> tuple[Any, Any]:
    """Returns the output of a cell that halves images, and its input for the cell after."""
    h, p = _begun(x, p, filters, "reduction", label)

    def named(part: str) -> str:
        return f"reduction_{part}_{label}"

    padded = ZeroPadding2D(padding_before(h, 3), name=named("pad_1"))(h)
    left, right = _twice(h, filters, 5, named("left1"), 2), _twice(p, filters, 7, named("right1"), 2)
    first = add([left, right], name=named("add_1"))
    pooled = MaxPooling2D(3, strides=2, name=named("left2"))(padded)
    second = add([pooled, _twice(p, filters, 7, named("right2"), 2)], name=named("add_2"))
    pooled = AveragePooling2D(3, strides=2, name=named("left3"))(padded)
    third = add([pooled, _twice(p, filters, 5, named("right3"), 2)], name=named("add3"))
    fourth = add([second, _mean(first, named("left4"))])
    last = _twice(first, filters, 3, named("left4"))
    last = add([last, MaxPooling2D(3, strides=2, name=named("right5"))(padded)], name=named("add4"))
    return joined([second, third, fourth, last], named("concat")), x


def _nasnet(width: int, count: int, stem: int, skips: bool, chosen: Choices, file: str, size: int) -> Model:
    """Returns the network whose last cells have `width` channels, with `count` cells between two reductions."""
    filters = width // 24

    def body(x: Tensor) -> Tensor:
        x = convolved(x, stem, 3, "stem_conv1", strides=2, kernel_initializer=_HE)
        x = normalized(x, "stem_bn1", **_NORMAL)
        x, p = _reduction(x, None, filters // 4, "stem_1")
        x, p = _reduction(x, p, filters // 2, "stem_2")
        for part in range(3):
            n = filters * 2**part
            if part:
                x, reduced = _reduction(x, p, n, f"reduce_{part * count}")
                p = p if skips else reduced
            for i in range(count):
                x, p = _normal(x, p, n, str(part * count + i + (1 if part else 0)))
        return activated(x)

    return image_model("NASNet", body, chosen, dense_top(None, "predictions"), file, size, notop="_no_top")


def NASNetMobile(
    input_shape: Sequence[int | None] | None = None,
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: TensorOrVariable | None = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """Returns the smaller NASNet, for images of 224 x 224; see `Choices` for the arguments."""
    chosen = Choices(include_top, weights, input_tensor, input_shape, pooling, classes)
    return _nasnet(1056, 4, 32, False, chosen, "nasnet_mobile", 224)


def NASNetLarge(
    input_shape: Sequence[int | None] | None = None,
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: TensorOrVariable | None = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """Returns the larger NASNet, for images of 331 x 331; see `Choices` for the arguments."""
    chosen = Choices(include_top, weights, input_tensor, input_shape, pooling, classes)
    return _nasnet(4032, 6, 96, True, chosen, "nasnet_large", 331)
