"""Inception v1 (Szegedy et al. 2014), v2 (Ioffe and Szegedy 2015) and v3 (Szegedy et al. 2015).

Invariant: the names of variables are those of slim's checkpoints; the end points go by the names of the stages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tfnb.client.argument_types import CollectionNames
from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.variables.scope import Reuse, ScopeLike, variable_scope
from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.shape_ops import squeeze
from tfnb.v1.contrib.framework.arg_scope import Defaults, arg_scope
from tfnb.v1.contrib.layers.stacks import softmax
from tfnb.v1.contrib.layers.standard_layers import (
    avg_pool2d,
    batch_norm,
    conv2d,
    dropout,
    fully_connected,
    max_pool2d,
    separable_convolution2d,
)
from tfnb.v1.contrib.nets.inception_blocks import build, finish, reduced_kernel, stages_of
from tfnb.v1.contrib.nets.scopes import batch_norm_options, normal, normalized_scope

__all__ = ["inception_v1", "inception_v2", "inception_v3"]

_V1 = stages_of("""
Conv2d_1a_7x7: 64@7x7/2
MaxPool_2a_3x3: max3/2
Conv2d_2b_1x1: 64@1x1
Conv2d_2c_3x3: 192@3x3
MaxPool_3a_3x3: max3/2
Mixed_3b: 64@1x1 | 96@1x1 128@3x3 | 16@1x1 32@3x3 | max3 32@1x1
Mixed_3c: 128@1x1 | 128@1x1 192@3x3 | 32@1x1 96@3x3 | max3 64@1x1
MaxPool_4a_3x3: max3/2
Mixed_4b: 192@1x1 | 96@1x1 208@3x3 | 16@1x1 48@3x3 | max3 64@1x1
Mixed_4c: 160@1x1 | 112@1x1 224@3x3 | 24@1x1 64@3x3 | max3 64@1x1
Mixed_4d: 128@1x1 | 128@1x1 256@3x3 | 24@1x1 64@3x3 | max3 64@1x1
Mixed_4e: 112@1x1 | 144@1x1 288@3x3 | 32@1x1 64@3x3 | max3 64@1x1
Mixed_4f: 256@1x1 | 160@1x1 320@3x3 | 32@1x1 128@3x3 | max3 128@1x1
MaxPool_5a_2x2: max2/2
Mixed_5b: 256@1x1 | 160@1x1 320@3x3 | 32@1x1 128@3x3=Conv2d_0a_3x3 | max3 128@1x1
Mixed_5c: 384@1x1 | 192@1x1 384@3x3 | 48@1x1 128@3x3 | max3 128@1x1
""")
_V2 = stages_of("""
Conv2d_1a_7x7: 64@7x7/2
MaxPool_2a_3x3: max3/2
Conv2d_2b_1x1: 64@1x1~0.1
Conv2d_2c_3x3: 192@3x3
MaxPool_3a_3x3: max3/2
Mixed_3b: 64@1x1 | 64@1x1~0.09 64@3x3 | 64@1x1~0.09 96@3x3 96@3x3 | avg3 32@1x1~0.1
Mixed_3c: 64@1x1 | 64@1x1~0.09 96@3x3 | 64@1x1~0.09 96@3x3 96@3x3 | avg3 64@1x1~0.1
Mixed_4a: 128@1x1~0.09 160@3x3/2 | 64@1x1~0.09 96@3x3 96@3x3/2 | max3/2
Mixed_4b: 224@1x1 | 64@1x1~0.09 96@3x3 | 96@1x1~0.09 128@3x3 128@3x3 | avg3 128@1x1~0.1
Mixed_4c: 192@1x1 | 96@1x1~0.09 128@3x3 | 96@1x1~0.09 128@3x3 128@3x3 | avg3 128@1x1~0.1
Mixed_4d: 160@1x1 | 128@1x1~0.09 160@3x3 | 128@1x1~0.09 160@3x3 160@3x3 | avg3 96@1x1~0.1
Mixed_4e: 96@1x1 | 128@1x1~0.09 192@3x3 | 160@1x1~0.09 192@3x3 192@3x3 | avg3 96@1x1~0.1
Mixed_5a: 128@1x1~0.09 192@3x3/2 | 192@1x1~0.09 256@3x3 256@3x3/2 | max3/2
Mixed_5b: 352@1x1 | 192@1x1~0.09 320@3x3 | 160@1x1~0.09 224@3x3 224@3x3 | avg3 128@1x1~0.1
Mixed_5c: 352@1x1 | 192@1x1~0.09 320@3x3 | 192@1x1~0.09 224@3x3 224@3x3 | max3 128@1x1~0.1
""")
_V3_SPLIT = """
320@1x1 | 384@1x1 384@1x3{0}+384@3x1{1} | 448@1x1 384@3x3 384@1x3+384@3x1 | avg3 192@1x1
"""
_V3_WIDE = "192@1x1 | {0}@1x1 {0}@1x7 192@7x1 | {0}@1x1 {0}@7x1 {0}@1x7 {0}@7x1 192@1x7 | avg3 192@1x1"
_V3 = stages_of(f"""
Conv2d_1a_3x3: 32@3x3/2V
Conv2d_2a_3x3: 32@3x3V
Conv2d_2b_3x3: 64@3x3
MaxPool_3a_3x3: max3/2V
Conv2d_3b_1x1: 80@1x1V
Conv2d_4a_3x3: 192@3x3V
MaxPool_5a_3x3: max3/2V
Mixed_5b: 64@1x1 | 48@1x1 64@5x5 | 64@1x1 96@3x3 96@3x3 | avg3 32@1x1
Mixed_5c: 64@1x1 | 48@1x1=Conv2d_0b_1x1 64@5x5=Conv_1_0c_5x5 | 64@1x1 96@3x3 96@3x3 | avg3 64@1x1
Mixed_5d: 64@1x1 | 48@1x1 64@5x5 | 64@1x1 96@3x3 96@3x3 | avg3 64@1x1
Mixed_6a: 384@3x3/2V=Conv2d_1a_1x1 | 64@1x1 96@3x3 96@3x3/2V=Conv2d_1a_1x1 | max3/2V
Mixed_6b: {_V3_WIDE.format(128)}
Mixed_6c Mixed_6d: {_V3_WIDE.format(160)}
Mixed_6e: {_V3_WIDE.format(192)}
Mixed_7a: 192@1x1 320@3x3/2V | 192@1x1 192@1x7 192@7x1 192@3x3/2V | max3/2V
Mixed_7b: {_V3_SPLIT.format("", "=Conv2d_0b_3x1").strip()}
Mixed_7c: {_V3_SPLIT.format("", "").strip()}
""")
_BASE = """The network without its logits, up to the stage `final_endpoint`: (output, outputs of the stages by name).

    inputs: images (batch, height, width, channels). Raises `InvalidArgumentError` for an unknown end point."""


def _depth(multiplier: float, least: int) -> Callable[[int], int]:
    if multiplier <= 0:
        raise InvalidArgumentError(f"depth_multiplier must be positive, got {multiplier}")
    return lambda channels: max(int(channels * multiplier), least)


def inception_v1_base(
    inputs: TensorLike, final_endpoint: str = "Mixed_5c", scope: ScopeLike | None = "InceptionV1"
) -> tuple[Any, dict[str, Any]]:
    end_points: dict[str, Any] = {}
    with (
        variable_scope(scope, "InceptionV1", [inputs]),
        arg_scope([conv2d, fully_connected], weights_initializer=normal(0.01)),
        arg_scope([conv2d, max_pool2d], stride=1, padding="SAME"),
    ):
        return build(inputs, _V1, final_endpoint, int, end_points), end_points


def inception_v1(
    inputs: TensorLike,
    num_classes: int = 1000,
    is_training: bool | Tensor = True,
    dropout_keep_prob: float = 0.8,
    prediction_fn: Callable[..., Any] = softmax,
    spatial_squeeze: bool = True,
    reuse: Reuse | None = None,
    scope: ScopeLike | None = "InceptionV1",
) -> tuple[Any, dict[str, Any]]:
    """Returns the logits of the network Inception v1 (GoogLeNet), and the end points by name.

    inputs: images (batch, height, width, channels), 224 x 224 by default.
    """
    with (
        variable_scope(scope, "InceptionV1", [inputs], reuse=reuse) as opened,
        arg_scope([batch_norm, dropout], is_training=is_training),
    ):
        net, points = inception_v1_base(inputs, scope=opened)
        names = ("MaxPool_0a_7x7", "Dropout_0b", "Conv2d_0c_1x1")
        logits = finish(net, points, num_classes, dropout_keep_prob, names, spatial_squeeze, prediction_fn, [7, 7])
    del points["PreLogits"]
    return logits, points


def inception_v2_base(
    inputs: TensorLike,
    final_endpoint: str = "Mixed_5c",
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    scope: ScopeLike | None = None,
) -> tuple[Any, dict[str, Any]]:
    depth = _depth(depth_multiplier, min_depth)
    end_points: dict[str, Any] = {}
    multiplier = min(depth(64) // 3, 8)

    def first(net: Tensor) -> Tensor:
        options = {"depth_multiplier": multiplier, "stride": 2, "weights_initializer": normal(1.0)}
        return separable_convolution2d(net, depth(64), [7, 7], scope="Conv2d_1a_7x7", **options)

    with (
        variable_scope(scope, "InceptionV2", [inputs]),
        arg_scope([conv2d, max_pool2d, avg_pool2d, separable_convolution2d], stride=1, padding="SAME"),
    ):
        return build(inputs, _V2, final_endpoint, depth, end_points, {"Conv2d_1a_7x7": first}), end_points


def inception_v2(
    inputs: TensorLike,
    num_classes: int = 1000,
    is_training: bool | Tensor = True,
    dropout_keep_prob: float = 0.8,
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    prediction_fn: Callable[..., Any] = softmax,
    spatial_squeeze: bool = True,
    reuse: Reuse | None = None,
    scope: ScopeLike | None = "InceptionV2",
) -> tuple[Any, dict[str, Any]]:
    """Returns the logits of the network Inception v2, and the end points by name.

    inputs: images (batch, height, width, channels), 224 x 224 by default. Each layer has `depth_multiplier` times the
    channels, at least `min_depth`.
    """
    with (
        variable_scope(scope, "InceptionV2", [inputs], reuse=reuse) as opened,
        arg_scope([batch_norm, dropout], is_training=is_training),
    ):
        net, points = inception_v2_base(inputs, scope=opened, min_depth=min_depth, depth_multiplier=depth_multiplier)
        size = reduced_kernel(net, [7, 7])
        names = (f"AvgPool_1a_{size[0]}x{size[1]}", "Dropout_1b", "Conv2d_1c_1x1")
        logits = finish(net, points, num_classes, dropout_keep_prob, names, spatial_squeeze, prediction_fn, size)
    del points["PreLogits"]
    return logits, points


def inception_v3_base(
    inputs: TensorLike,
    final_endpoint: str = "Mixed_7c",
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    scope: ScopeLike | None = None,
) -> tuple[Any, dict[str, Any]]:
    depth = _depth(depth_multiplier, min_depth)
    end_points: dict[str, Any] = {}
    with (
        variable_scope(scope, "InceptionV3", [inputs]),
        arg_scope([conv2d, max_pool2d, avg_pool2d], stride=1, padding="SAME"),
    ):
        return build(inputs, _V3, final_endpoint, depth, end_points), end_points


def inception_v3(
    inputs: TensorLike,
    num_classes: int = 1000,
    is_training: bool | Tensor = True,
    dropout_keep_prob: float = 0.8,
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    prediction_fn: Callable[..., Any] = softmax,
    spatial_squeeze: bool = True,
    reuse: Reuse | None = None,
    scope: ScopeLike | None = "InceptionV3",
) -> tuple[Any, dict[str, Any]]:
    """Returns the logits of the network Inception v3, and the end points by name, "AuxLogits" among them.

    inputs: images (batch, height, width, channels), 299 x 299 by default. Each layer has `depth_multiplier` times the
    channels, at least `min_depth`.
    """
    depth = _depth(depth_multiplier, min_depth)
    with (
        variable_scope(scope, "InceptionV3", [inputs], reuse=reuse) as opened,
        arg_scope([batch_norm, dropout], is_training=is_training),
    ):
        net, points = inception_v3_base(inputs, scope=opened, min_depth=min_depth, depth_multiplier=depth_multiplier)
        with variable_scope("AuxLogits"):
            points["AuxLogits"] = _side_logits(points["Mixed_6e"], depth, num_classes, spatial_squeeze)
        size = reduced_kernel(net, [8, 8])
        names = (f"AvgPool_1a_{size[0]}x{size[1]}", "Dropout_1b", "Conv2d_1c_1x1")
        logits = finish(net, points, num_classes, dropout_keep_prob, names, spatial_squeeze, prediction_fn, size)
    return logits, points


def _side_logits(net: Tensor, depth: Callable[[int], int], num_classes: int, spatial_squeeze: bool) -> Tensor:
    """Returns the logits of v3's second head, which stands in the middle of the network."""
    net = avg_pool2d(net, [5, 5], stride=3, padding="VALID", scope="AvgPool_1a_5x5")
    net = conv2d(net, depth(128), [1, 1], scope="Conv2d_1b_1x1")
    size = reduced_kernel(net, [5, 5])
    first, last = normal(0.01), normal(0.001)
    name = f"Conv2d_2a_{size[0]}x{size[1]}"
    net = conv2d(net, depth(768), size, weights_initializer=first, padding="VALID", scope=name)
    net = conv2d(
        net,
        num_classes,
        [1, 1],
        activation_fn=None,
        normalizer_fn=None,
        weights_initializer=last,
        scope="Conv2d_2b_1x1",
    )
    return squeeze(net, [1, 2], name="SpatialSqueeze") if spatial_squeeze else net


def inception_v1_arg_scope(
    weight_decay: float = 0.00004, use_batch_norm: bool = True, batch_norm_var_collection: str = "moving_vars"
) -> Defaults:
    """Returns the defaults of the layers of Inception v1, for `arg_scope`."""
    options = batch_norm_options(0.9997, 0.001, batch_norm_var_collection)
    return normalized_scope(weight_decay, options, batch_norm if use_batch_norm else None)


def inception_v2_arg_scope(weight_decay: float = 0.00004, batch_norm_var_collection: str = "moving_vars") -> Defaults:
    """Returns the defaults of the layers of Inception v2, for `arg_scope`."""
    return normalized_scope(weight_decay, batch_norm_options(0.9997, 0.001, batch_norm_var_collection))


def inception_v3_arg_scope(
    weight_decay: float = 0.00004,
    batch_norm_var_collection: str = "moving_vars",
    batch_norm_decay: float = 0.9997,
    batch_norm_epsilon: float = 0.001,
    updates_collections: CollectionNames | None = GraphKeys.UPDATE_OPS,
    use_fused_batchnorm: bool = True,
) -> Defaults:
    """Returns the defaults of the layers of Inception v3, for `arg_scope`."""
    options = batch_norm_options(batch_norm_decay, batch_norm_epsilon, batch_norm_var_collection)
    options |= {"updates_collections": updates_collections, "fused": use_fused_batchnorm}
    return normalized_scope(weight_decay, options)


_SIZES: Mapping[Any, int] = {inception_v1: 224, inception_v2: 224, inception_v3: 299}
for _network, _size in _SIZES.items():
    _network.default_image_size = _size
for _base in (inception_v1_base, inception_v2_base, inception_v3_base):
    _base.__doc__ = _BASE
