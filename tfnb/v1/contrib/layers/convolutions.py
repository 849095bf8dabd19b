"""Convolutions of `tf.contrib.layers` that not every program uses: in each channel alone, and transposed over volumes.

Invariant: the variables are "weights" and "biases" of the layer's scope, as those of `conv2d`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from tfnb.client.argument_types import CollectionNames, InitializerLike, Regularizer, VariableCollections
from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.layers.conv_layers import Conv3DTranspose
from tfnb.client.variables.initializers import Zeros, glorot_uniform
from tfnb.client.variables.scope import ScopeLike, get_variable, variable_scope
from tfnb.client.variables.variable_store import Reuse
from tfnb.errors import InvalidArgumentError
from tfnb.ir.default import graph_of
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.tile_reverse_mirror import TILE
from tfnb.ops.conv_pool.depthwise import depthwise_conv2d
from tfnb.ops.linalg.matmul import matmul
from tfnb.ops.linalg.tensordot import tensordot
from tfnb.ops.nn.activations import ELU, RELU
from tfnb.ops.nn.bias_dropout_moments import bias_add as bias_add_op
from tfnb.v1.argument_types import WindowLike
from tfnb.v1.contrib.framework.arg_scope import add_arg_scope
from tfnb.v1.contrib.layers.named_outputs import (
    channel_dimension,
    last_dimension,
    n_positive_integers,
    two_element_tuple,
)
from tfnb.v1.contrib.layers.standard_layers import finished, fully_connected, model_variable

__all__ = ["convolution2d_in_plane", "convolution3d_transpose", "legacy_fully_connected"]


@add_arg_scope
def convolution2d_in_plane(
    inputs: TensorLike,
    kernel_size: WindowLike,
    stride: WindowLike = 1,
    padding: str = "SAME",
    activation_fn: Callable[[Any], Any] | None = RELU,
    normalizer_fn: Callable[..., Any] | None = None,
    normalizer_params: Mapping[str, Any] | None = None,
    weights_initializer: InitializerLike | None = None,
    weights_regularizer: Regularizer | None = None,
    biases_initializer: InitializerLike | None = Zeros,
    biases_regularizer: Regularizer | None = None,
    reuse: Reuse | None = None,
    variables_collections: VariableCollections | None = None,
    outputs_collections: CollectionNames | None = None,
    trainable: bool = True,
    scope: ScopeLike | None = None,
) -> Tensor:
    """Computes activation(convolution + biases) with one kernel of `kernel_size` for all channels, each by itself.

    inputs: (batch, height, width, channels). A `normalizer_fn` replaces the biases. Raises `ShapeError` when the number
    of channels is not known.
    """
    options = {
        "activation_fn": activation_fn,
        "normalizer_fn": normalizer_fn,
        "normalizer_params": normalizer_params,
        "biases_initializer": biases_initializer,
        "biases_regularizer": biases_regularizer,
        "trainable": trainable,
        "variables_collections": variables_collections,
        "outputs_collections": outputs_collections,
    }
    x = graph_of([inputs]).to_tensor(inputs)
    channels = last_dimension(x.shape, 4)
    with variable_scope(scope, "ConvInPlane", [x], reuse=reuse) as opened:
        weights = model_variable(
            "weights",
            [*two_element_tuple(kernel_size), 1, 1],
            x.dtype,
            weights_initializer or glorot_uniform(),
            weights_regularizer,
            trainable,
            variables_collections,
        )
        kernels = TILE(weights, [1, 1, channels, 1])
        y = depthwise_conv2d(x, kernels, [1, *two_element_tuple(stride), 1], padding)
        return finished(y, channels, options, opened.name)


@add_arg_scope
def convolution3d_transpose(
    inputs: TensorLike,
    num_outputs: int,
    kernel_size: WindowLike,
    stride: WindowLike = 1,
    padding: str = "SAME",
    data_format: str = "NDHWC",
    activation_fn: Callable[[Any], Any] | None = RELU,
    normalizer_fn: Callable[..., Any] | None = None,
    normalizer_params: Mapping[str, Any] | None = None,
    weights_initializer: InitializerLike | None = None,
    weights_regularizer: Regularizer | None = None,
    biases_initializer: InitializerLike | None = Zeros,
    biases_regularizer: Regularizer | None = None,
    reuse: Reuse | None = None,
    variables_collections: VariableCollections | None = None,
    outputs_collections: CollectionNames | None = None,
    trainable: bool = True,
    scope: ScopeLike | None = None,
) -> Tensor:
    """Computes activation(transposed convolution + biases) of volumes (batch, depth, height, width, channels).

    `num_outputs` is the number of output channels; with `data_format` "NCDHW" the channels come second. A
    `normalizer_fn` replaces the biases. Raises `InvalidArgumentError` for another data_format, `ShapeError` when the
    number of channels is not known.
    """
    options = {
        "activation_fn": activation_fn,
        "normalizer_fn": normalizer_fn,
        "normalizer_params": normalizer_params,
        "biases_initializer": biases_initializer,
        "biases_regularizer": biases_regularizer,
        "trainable": trainable,
        "variables_collections": variables_collections,
        "outputs_collections": outputs_collections,
    }
    if data_format not in ("NDHWC", "NCDHW"):
        raise InvalidArgumentError(f"conv3d_transpose: data_format must be NDHWC or NCDHW, got {data_format!r}")
    x = graph_of([inputs]).to_tensor(inputs)
    layout = "channels_first" if data_format == "NCDHW" else "channels_last"
    sizes = (n_positive_integers(3, kernel_size), n_positive_integers(3, stride))
    layer = Conv3DTranspose(num_outputs, *sizes, padding, layout, use_bias=False)
    with variable_scope(scope, "Conv3d_transpose", [x], reuse=reuse) as opened:
        layer.kernel = model_variable(
            "weights",
            [*sizes[0], num_outputs, channel_dimension(x.shape, layout, 5)],
            x.dtype,
            weights_initializer or glorot_uniform(),
            weights_regularizer,
            trainable,
            variables_collections,
        )
        layer.bias = None
        return finished(layer.call(x), num_outputs, options, opened.name, data_format)


def legacy_fully_connected(
    x: TensorLike,
    num_output_units: int,
    activation_fn: Callable[[Any], Any] | None = None,
    weight_init: InitializerLike | None = None,
    bias_init: InitializerLike | None = Zeros,
    name: ScopeLike | None = None,
    weight_collections: Sequence[str] | None = (GraphKeys.WEIGHTS,),
    bias_collections: Sequence[str] | None = (GraphKeys.BIASES,),
    output_collections: Sequence[str] | None = (GraphKeys.ACTIVATIONS,),
    trainable: bool = True,
    weight_regularizer: Regularizer | None = None,
    bias_regularizer: Regularizer | None = None,
) -> Tensor:
    """Computes activation(x @ weights + bias), of `num_output_units` columns, as the first programs of 0.x called it.

    The activation is also in the collection ACTIVATIONS. Raises `ShapeError` when the last dimension of `x` is not
    known, or its rank is below 2.
    """
    with variable_scope(name, "fully_connected", [x]):
        t = graph_of([x]).to_tensor(x)
        columns = last_dimension(t.shape, 2)
        places = [
            [*dict.fromkeys([*(c or ()), GraphKeys.GLOBAL_VARIABLES])] for c in (weight_collections, bias_collections)
        ]
        weights = get_variable(
            "weights",
            [columns, num_output_units],
            t.dtype,
            weight_init or glorot_uniform(),
            weight_regularizer,
            trainable,
            places[0],
        )
        rank = len(t.shape)
        y = matmul(t, weights) if rank == 2 else tensordot(t, weights, [[rank - 1], [0]])
        if bias_init is not None:
            bias = get_variable("bias", [num_output_units], t.dtype, bias_init, bias_regularizer, trainable, places[1])
            y = bias_add_op(y, bias)
        y = y if activation_fn is None else activation_fn(y)
        y.graph.add_to_collections([*dict.fromkeys([*(output_collections or ()), GraphKeys.ACTIVATIONS])], y)
        return y


legacy_linear = partial(legacy_fully_connected, activation_fn=None)
legacy_relu = partial(legacy_fully_connected, activation_fn=RELU)
elu = partial(fully_connected, activation_fn=ELU)
