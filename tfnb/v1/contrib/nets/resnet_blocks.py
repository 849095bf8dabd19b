"""What the residual networks share: blocks of units, whose strides become rates where the output must stay large.

Invariant: with `output_stride` the product of the strides of the units is just that, and further strides are rates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tfnb.client.argument_types import CollectionNames
from tfnb.client.variables.initializers import variance_scaling_initializer
from tfnb.client.variables.regularizers import l2_regularizer
from tfnb.client.variables.scope import variable_scope
from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.transpose_pad_tile import PAD
from tfnb.ops.nn.activations import RELU
from tfnb.v1.contrib.framework.arg_scope import Defaults, add_arg_scope
from tfnb.v1.contrib.layers.named_outputs import collect_named_outputs
from tfnb.v1.contrib.layers.standard_layers import batch_norm, conv2d, max_pool2d
from tfnb.v1.contrib.nets.scopes import batch_norm_options, joined

__all__ = ["Block", "block", "conv2d_same", "resnet_arg_scope", "stack_blocks_dense", "subsample"]


class Block(NamedTuple):
    """A block: its scope, the function of a unit, and the arguments of each unit."""

    scope: str
    unit_fn: Callable[..., Any]
    args: Sequence[Mapping[str, Any]]


def block(scope: str, unit: Callable[..., Any], base_depth: int, num_units: int, stride: int) -> Block:
    """Returns a block of bottleneck units, the last of which has the `stride`."""
    sizes = {"depth": base_depth * 4, "depth_bottleneck": base_depth}
    return Block(scope, unit, [{**sizes, "stride": 1}] * (num_units - 1) + [{**sizes, "stride": stride}])


def subsample(inputs: Tensor, factor: int, scope: str | None = None) -> Tensor:
    """Returns every `factor`-th pixel of images (batch, height, width, channels)."""
    return inputs if factor == 1 else max_pool2d(inputs, [1, 1], stride=factor, scope=scope)


def conv2d_same(
    inputs: TensorLike, num_outputs: int, kernel_size: int, stride: int, rate: int = 1, scope: str | None = None
) -> Tensor:
    """A convolution whose padding does not depend on the size of the images, also with a stride.

    inputs: (batch, height, width, channels); the same number of zeros is added on both sides, one more behind.
    """
    options: dict[str, Any] = {"stride": stride, "rate": rate, "scope": scope}
    if stride == 1:
        return conv2d(inputs, num_outputs, kernel_size, padding="SAME", **options)
    total = (kernel_size - 1) * rate
    sides = [total // 2, total - total // 2]
    padded = PAD(inputs, [[0, 0], sides, sides, [0, 0]])
    return conv2d(padded, num_outputs, kernel_size, padding="VALID", **options)


@add_arg_scope
def stack_blocks_dense(
    net: Tensor,
    blocks: Sequence[Block],
    output_stride: float | None = None,
    outputs_collections: CollectionNames | None = None,
) -> Tensor:
    """Applies the units of all blocks to the tensor `net`; each block's output is collected.

    output_stride: how many times smaller the output is; where that is reached, strides become rates. Raises
    `InvalidArgumentError` when the strides do not reach it.
    """
    stride = rate = 1
    for one in blocks:
        with variable_scope(one.scope, "block", [net]) as opened:
            for number, unit in enumerate(one.args, 1):
                if output_stride is not None and stride > output_stride:
                    raise InvalidArgumentError(f"the output_stride {output_stride} cannot be reached")
                with variable_scope(f"unit_{number}", values=[net]):
                    if stride == output_stride:
                        net = one.unit_fn(net, rate=rate, **{**unit, "stride": 1})
                        rate *= unit.get("stride", 1)
                    else:
                        net = one.unit_fn(net, rate=1, **unit)
                        stride *= unit.get("stride", 1)
            net = collect_named_outputs(outputs_collections, opened.name, net)
    if output_stride is not None and stride != output_stride:
        raise InvalidArgumentError(f"the output_stride {output_stride} cannot be reached")
    return net


def resnet_arg_scope(
    weight_decay: float = 0.0001,
    batch_norm_decay: float = 0.997,
    batch_norm_epsilon: float = 1e-5,
    batch_norm_scale: bool = True,
) -> Defaults:
    """Returns the defaults of the layers of the residual networks, for `arg_scope`."""
    normalization = batch_norm_options(batch_norm_decay, batch_norm_epsilon, scale=batch_norm_scale)
    convolutions = {
        "weights_regularizer": l2_regularizer(weight_decay),
        "weights_initializer": variance_scaling_initializer(),
        "activation_fn": RELU,
        "normalizer_fn": batch_norm,
        "normalizer_params": normalization,
    }
    return joined(([conv2d], convolutions), ([batch_norm], normalization), ([max_pool2d], {"padding": "SAME"}))
