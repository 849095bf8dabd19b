"""Residual networks v1 (He et al. 2015) and v2, whose units normalise before they convolve (He et al. 2016).

Invariant: the names of variables are those of slim's checkpoints, "resnet_v1_50/block1/unit_1/bottleneck_v1/conv1".
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from tfnb.client.argument_types import CollectionNames
from tfnb.client.variables.scope import Reuse, ScopeLike, variable_scope
from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.math.reduce_functions import reduce_mean
from tfnb.ops.nn.activations import RELU
from tfnb.v1.contrib.framework.arg_scope import add_arg_scope, arg_scope
from tfnb.v1.contrib.layers.named_outputs import collect_named_outputs, convert_collection_to_dict, last_dimension
from tfnb.v1.contrib.layers.stacks import softmax
from tfnb.v1.contrib.layers.standard_layers import batch_norm, conv2d, max_pool2d
from tfnb.v1.contrib.nets.resnet_blocks import Block, block, conv2d_same, stack_blocks_dense, subsample

__all__ = ["bottleneck_v1", "bottleneck_v2", "resnet_v1", "resnet_v2"]


@add_arg_scope
def bottleneck_v1(
    inputs: Tensor,
    depth: int,
    depth_bottleneck: int,
    stride: int,
    rate: int = 1,
    outputs_collections: CollectionNames | None = None,
    scope: ScopeLike | None = None,
) -> Tensor:
    """A unit of v1: relu(shortcut + convolutions 1x1, 3x3, 1x1), a tensor (batch, height, width, depth)."""
    with variable_scope(scope, "bottleneck_v1", [inputs]) as opened:
        if depth == last_dimension(inputs.shape, 4):
            shortcut = subsample(inputs, stride, "shortcut")
        else:
            shortcut = conv2d(inputs, depth, [1, 1], stride=stride, activation_fn=None, scope="shortcut")
        residual = conv2d(inputs, depth_bottleneck, [1, 1], stride=1, scope="conv1")
        residual = conv2d_same(residual, depth_bottleneck, 3, stride, rate=rate, scope="conv2")
        residual = conv2d(residual, depth, [1, 1], stride=1, activation_fn=None, scope="conv3")
        return collect_named_outputs(outputs_collections, opened.name, RELU(shortcut + residual))


@add_arg_scope
def bottleneck_v2(
    inputs: Tensor,
    depth: int,
    depth_bottleneck: int,
    stride: int,
    rate: int = 1,
    outputs_collections: CollectionNames | None = None,
    scope: ScopeLike | None = None,
) -> Tensor:
    """A unit of v2: shortcut + convolutions 1x1, 3x3, 1x1 of the normalised inputs, (batch, height, width, depth)."""
    plain = {"normalizer_fn": None, "activation_fn": None}
    with variable_scope(scope, "bottleneck_v2", [inputs]) as opened:
        active = batch_norm(inputs, activation_fn=RELU, scope="preact")
        if depth == last_dimension(inputs.shape, 4):
            shortcut = subsample(inputs, stride, "shortcut")
        else:
            shortcut = conv2d(active, depth, [1, 1], stride=stride, scope="shortcut", **plain)
        residual = conv2d(active, depth_bottleneck, [1, 1], stride=1, scope="conv1")
        residual = conv2d_same(residual, depth_bottleneck, 3, stride, rate=rate, scope="conv2")
        residual = conv2d(residual, depth, [1, 1], stride=1, scope="conv3", **plain)
        return collect_named_outputs(outputs_collections, opened.name, shortcut + residual)


def _network(name: str, unit: Callable[..., Any], late: bool) -> Callable[..., Any]:
    """Returns the function of a residual network of any blocks; `late` is that of v2."""

    def network(
        inputs: TensorLike,
        blocks: Sequence[Block],
        num_classes: int | None = None,
        is_training: bool | Tensor = True,
        global_pool: bool = True,
        output_stride: int | None = None,
        include_root_block: bool = True,
        reuse: Reuse | None = None,
        scope: ScopeLike | None = None,
    ) -> tuple[Any, OrderedDict[str, Any]]:
        if output_stride is not None and include_root_block and output_stride % 4:
            raise InvalidArgumentError(f"output_stride must be a multiple of 4, got {output_stride}")
        with variable_scope(scope, name, [inputs], reuse=reuse) as opened:
            collection = opened.original_name_scope + "_end_points"
            with (
                arg_scope([conv2d, unit, stack_blocks_dense], outputs_collections=collection),
                arg_scope([batch_norm], is_training=is_training),
            ):
                net, remaining = inputs, output_stride
                if include_root_block:
                    remaining = None if output_stride is None else output_stride // 4
                    net = _root(net, late)
                net = stack_blocks_dense(net, blocks, remaining)
                if late:
                    net = batch_norm(net, activation_fn=RELU, scope="postnorm")
                if global_pool:
                    net = reduce_mean(net, [1, 2], True, "pool5")
                if num_classes is not None:
                    net = conv2d(net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope="logits")
                points = convert_collection_to_dict(collection)
                if num_classes is not None:
                    points["predictions"] = softmax(net, scope="predictions")
                return net, points

    network.__name__ = network.__qualname__ = name
    network.__doc__ = f"""A network {name} of these blocks: (logits or features, end points by name).

    inputs: images (batch, height, width, channels). output_stride: how many times smaller the features are than the
    images, a multiple of 4; without `global_pool` they keep their place. Raises `InvalidArgumentError` for another
    output_stride."""
    return network


def _root(net: TensorLike, late: bool) -> Tensor:
    plain = {"activation_fn": None, "normalizer_fn": None} if late else {}
    with arg_scope([conv2d], **plain):
        net = conv2d_same(net, 64, 7, stride=2, scope="conv1")
    return max_pool2d(net, [3, 3], stride=2, scope="pool1")


resnet_v1 = _network("resnet_v1", bottleneck_v1, late=False)
resnet_v2 = _network("resnet_v2", bottleneck_v2, late=True)


def resnet_v1_block(scope: str, base_depth: int, num_units: int, stride: int) -> Block:
    """Returns a block of `num_units` units of v1 with 4 `base_depth` channels; the last unit has the `stride`."""
    return block(scope, bottleneck_v1, base_depth, num_units, stride)


def resnet_v2_block(scope: str, base_depth: int, num_units: int, stride: int) -> Block:
    """Returns a block of `num_units` units of v2 with 4 `base_depth` channels; the last unit has the `stride`."""
    return block(scope, bottleneck_v2, base_depth, num_units, stride)


def _of_depth(version: int, layers: int, counts: tuple[int, int, int, int]) -> Callable[..., Any]:
    """Returns the function of the network with this number of layers, whose blocks have `counts` units."""
    name = f"resnet_v{version}_{layers}"
    network, unit = (resnet_v1, bottleneck_v1) if version == 1 else (resnet_v2, bottleneck_v2)

    def build(
        inputs: TensorLike,
        num_classes: int | None = None,
        is_training: bool | Tensor = True,
        global_pool: bool = True,
        output_stride: int | None = None,
        reuse: Reuse | None = None,
        scope: Any = name,
    ) -> tuple[Any, OrderedDict[str, Any]]:
        blocks = [block(f"block{i + 1}", unit, 64 * 2**i, n, 2 if i < 3 else 1) for i, n in enumerate(counts)]
        return network(inputs, blocks, num_classes, is_training, global_pool, output_stride, True, reuse, scope)

    build.__name__ = build.__qualname__ = name
    build.__doc__ = f"""The residual network v{version} with {layers} layers: (logits or features, end points by name).

    inputs: images (batch, height, width, channels), 224 x 224 by default. Without `num_classes` there are no logits,
    and without `global_pool` the result keeps its place; `output_stride` is as of `resnet_v{version}`."""
    build.default_image_size = network.default_image_size = 224  # type: ignore[attr-defined]
    return build


_COUNTS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3), 200: (3, 24, 36, 3)}
resnet_v1_50, resnet_v1_101, resnet_v1_152, resnet_v1_200 = (_of_depth(1, n, c) for n, c in _COUNTS.items())
resnet_v2_50, resnet_v2_101, resnet_v2_152, resnet_v2_200 = (_of_depth(2, n, c) for n, c in _COUNTS.items())
