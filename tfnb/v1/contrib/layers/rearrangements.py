"""Layers of `tf.contrib.layers` that rearrange or pick values, and pooling over other axes than two.

Invariant: outputs are collected under the names of their scopes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfnb.client.argument_types import CollectionNames, InitializerLike, Regularizer, VariableCollections
from tfnb.client.graph.default_graph import name_scope
from tfnb.client.variables.initializers import Constant, Ones, Zeros
from tfnb.client.variables.scope import ScopeLike, variable_scope
from tfnb.client.variables.variable_store import Reuse
from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.default import graph_of
from tfnb.ir.sparse import SparseTensor
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import concat
from tfnb.ops.array.constants import LIN_SPACE, convert_to_tensor
from tfnb.ops.array.gather_nd import GATHER_ND
from tfnb.ops.array.shape_ops import IDENTITY, RESHAPE, shape, shape_of
from tfnb.ops.array.transpose_pad_tile import transpose
from tfnb.ops.array.where_partition import meshgrid, where
from tfnb.ops.conv_pool.pool_functions import avg_pool3d as avg_pool3d_op
from tfnb.ops.conv_pool.pool_functions import max_pool3d as max_pool3d_op
from tfnb.ops.conv_pool.space_windows import pool as pool_op
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import NOT_EQUAL
from tfnb.ops.math.reduce_functions import reduce_max, reduce_sum
from tfnb.ops.nn.bias_dropout_moments import bias_add as bias_add_op
from tfnb.ops.nn.losses import softmax as softmax_op
from tfnb.types import int64
from tfnb.v1.argument_types import WindowLike
from tfnb.v1.contrib.framework.arg_scope import add_arg_scope
from tfnb.v1.contrib.layers.named_outputs import channel_dimension, collect_named_outputs, n_positive_integers
from tfnb.v1.contrib.layers.standard_layers import model_variable
from tfnb.v1.python_internals.behaviour_switches import custom_gradient

__all__ = ["bias_add", "maxout", "pool", "spatial_softmax"]


def _pool3d(name: str, default: str, function: Callable[..., Any], what: str) -> Callable[..., Any]:
    def call(
        inputs: TensorLike,
        kernel_size: WindowLike,
        stride: WindowLike = 2,
        padding: str = "VALID",
        data_format: str = "NDHWC",
        outputs_collections: CollectionNames | None = None,
        scope: str | None = None,
    ) -> Tensor:
        if data_format not in ("NDHWC", "NCDHW"):
            raise InvalidArgumentError(f"{name}: data_format must be NDHWC or NCDHW, got {data_format!r}")
        sizes = [list(n_positive_integers(3, v)) for v in (kernel_size, stride)]
        window, steps = ([1, *v, 1] if data_format == "NDHWC" else [1, 1, *v] for v in sizes)
        with name_scope(scope, default, [inputs]) as named:
            y = function(inputs, window, steps, padding, data_format)
        return collect_named_outputs(outputs_collections, named, y)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"""Returns the {what} of each window of `kernel_size` points of volumes (batch, ..., channels).

    With `data_format` "NCDHW" the channels come second. Raises `InvalidArgumentError` for another data_format."""
    return add_arg_scope(call)


max_pool3d = _pool3d("max_pool3d", "MaxPool3D", max_pool3d_op, "maximum")
avg_pool3d = _pool3d("avg_pool3d", "AvgPool3D", avg_pool3d_op, "mean")


@add_arg_scope
def pool(
    inputs: TensorLike,
    kernel_size: WindowLike,
    pooling_type: str,
    padding: str = "VALID",
    data_format: str | None = None,
    dilation_rate: WindowLike = 1,
    stride: WindowLike = 1,
    outputs_collections: CollectionNames | None = None,
    scope: str | None = None,
) -> Tensor:
    """Pooling over all axes between batch and channels; pooling_type: "MAX" or "AVG". See `tf.nn.pool`.

    Raises `ShapeError` for inputs of unknown rank, or of one below 3.
    """
    x = graph_of([inputs]).to_tensor(inputs)
    axes = (x.shape.ndims or 0) - 2
    if axes < 1:
        raise ShapeError(f"pool: inputs must have a known rank of at least 3, got shape {x.shape}")
    window, rates, steps = (list(n_positive_integers(axes, v)) for v in (kernel_size, dilation_rate, stride))
    with name_scope(scope, f"{pooling_type.lower()}_pool", [x]) as named:
        y = pool_op(x, window, pooling_type, padding, rates, steps, data_format=data_format)
    return collect_named_outputs(outputs_collections, named, y)


@add_arg_scope
def bias_add(
    inputs: TensorLike,
    activation_fn: Callable[[Any], Any] | None = None,
    initializer: InitializerLike | None = Zeros,
    regularizer: Regularizer | None = None,
    reuse: Reuse | None = None,
    variables_collections: VariableCollections | None = None,
    outputs_collections: CollectionNames | None = None,
    trainable: bool = True,
    data_format: str = "NHWC",
    scope: ScopeLike | None = None,
) -> Tensor:
    """Computes activation(inputs + biases), with one bias for each channel of the inputs.

    Raises `InvalidArgumentError` for a data_format other than "NHWC" and, with images, "NCHW", and `ShapeError` when
    the number of channels is not known.
    """
    x = graph_of([inputs]).to_tensor(inputs)
    if data_format not in ("NHWC", "NCHW") or (data_format == "NCHW" and x.shape.ndims != 4):
        raise InvalidArgumentError(f"bias_add: data_format is NHWC, or NCHW of rank 4, got {data_format!r}, {x.shape}")
    channels = channel_dimension(x.shape, "channels_first" if data_format == "NCHW" else "channels_last")
    with variable_scope(scope, "BiasAdd", [x], reuse=reuse) as opened:
        rest = (regularizer, trainable, variables_collections)
        y = bias_add_op(x, model_variable("biases", [channels], x.dtype, initializer, *rest), data_format=data_format)
        y = y if activation_fn is None else activation_fn(y)
        return collect_named_outputs(outputs_collections, opened.name, y)


@add_arg_scope
def maxout(inputs: TensorLike, num_units: int, axis: int = -1, scope: ScopeLike | None = None) -> Tensor:
    """Returns the largest of each group of channels along `axis`, which then has `num_units` (Goodfellow et al. 2013).

    Raises `InvalidArgumentError` when the channels do not divide into so many groups, `ShapeError` when their number
    is not known.
    """
    with variable_scope(scope, "MaxOut", [inputs]):
        x = graph_of([inputs]).to_tensor(inputs)
        dims = x.shape.as_list()
        channels = dims[axis]
        if channels is None:
            raise ShapeError(f"maxout: axis {axis} of the inputs must be known, got shape {x.shape}")
        if channels % num_units:
            raise InvalidArgumentError(f"maxout: {channels} channels are no multiple of {num_units} units")
        size = channels // num_units
        dims[axis] = num_units
        known = [shape_of(x)[i] if d is None else d for i, d in enumerate(dims)]
        y = reduce_max(RESHAPE(x, convert_to_tensor([*known, size])), -1)
        y.set_shape(dims)
        return y


@add_arg_scope
def spatial_softmax(
    features: TensorLike,
    temperature: float | None = None,
    name: str | None = None,
    variables_collections: VariableCollections | None = None,
    trainable: bool = True,
    data_format: str = "NHWC",
) -> Tensor:
    """Returns the expected place of each channel's activation: (batch, 2 channels), coordinates from -1 to 1.

    features: (batch, height, width, channels), or channels second for "NCHW"; their softmax, divided by the variable
    `temperature`, is the distribution over the pixels. Raises `ShapeError` when the number of channels is not known.
    """
    with variable_scope(name, "spatial_softmax"):
        x = graph_of([features]).to_tensor(features)
        if data_format not in ("NHWC", "NCHW"):
            raise InvalidArgumentError(f"spatial_softmax: data_format must be NHWC or NCHW, got {data_format!r}")
        channels = channel_dimension(x.shape, "channels_first" if data_format == "NCHW" else "channels_last", 4)
        x = transpose(x, [0, 3, 1, 2]) if data_format == "NHWC" else x
        height, width = shape_of(x)[2], shape_of(x)[3]
        x_places, y_places = meshgrid(LIN_SPACE(-1.0, 1.0, height), LIN_SPACE(-1.0, 1.0, width), indexing="ij")
        initial = Ones() if temperature is None else Constant(temperature)
        more = variables_collections if trainable else None
        divisor = model_variable("temperature", [], "float32", initial, None, trainable, more)
        weights = softmax_op(RESHAPE(x, [-1, height * width]) / divisor)
        sums = [reduce_sum(RESHAPE(places, [-1]) * weights, 1, True) for places in (x_places, y_places)]
        result = RESHAPE(concat(sums, 1), [-1, channels * 2])
        result.set_shape([None, channels * 2])
        return result


@add_arg_scope
def dense_to_sparse(
    tensor: TensorLike,
    eos_token: int = 0,
    outputs_collections: CollectionNames | None = None,
    scope: ScopeLike | None = None,
) -> SparseTensor:
    """Returns the elements of `tensor` that are not `eos_token` as a sparse tensor of the same shape."""
    with variable_scope(scope, "dense_to_sparse", [tensor]):
        x = graph_of([tensor]).to_tensor(tensor)
        places = where(NOT_EQUAL(x, convert_to_tensor(eos_token, x.dtype)))
        result = SparseTensor(places, GATHER_ND(x, places), shape(x, out_type=int64))
        if outputs_collections:
            x.graph.add_to_collections(outputs_collections, result)
        return result


@add_arg_scope
def images_to_sequence(
    inputs: TensorLike,
    data_format: str = "NHWC",
    outputs_collections: CollectionNames | None = None,
    scope: str | None = None,
) -> Tensor:
    """Returns the columns of images (batch, height, width, depth) as a sequence (width, batch * height, depth)."""
    if data_format not in ("NHWC", "NCHW"):
        raise InvalidArgumentError(f"images_to_sequence: data_format must be NHWC or NCHW, got {data_format!r}")
    with name_scope(scope, "ImagesToSequence", [inputs]) as named:
        x = graph_of([inputs]).to_tensor(inputs)
        x = transpose(x, [0, 2, 3, 1]) if data_format == "NCHW" else x
        _, _, width, depth = x.shape.as_list()
        rows = convert_to_tensor([width, shape_of(x)[0] * shape_of(x)[1], depth])
        y = RESHAPE(transpose(x, [2, 0, 1, 3]), rows)
        y.set_shape([width, None, depth])
    return collect_named_outputs(outputs_collections, named, y)


@add_arg_scope
def sequence_to_images(
    inputs: TensorLike,
    height: int,
    output_data_format: str = "channels_last",
    outputs_collections: CollectionNames | None = None,
    scope: str | None = None,
) -> Tensor:
    """Returns a sequence (width, batch * height, depth) as images; the inverse of `images_to_sequence`."""
    with name_scope(scope, "SequenceToImages", [inputs]) as named:
        x = graph_of([inputs]).to_tensor(inputs)
        width, rows, depth = x.shape.as_list()
        parts = RESHAPE(x, [width, -1 if rows is None else rows // height, height, depth])
        y = transpose(parts, [1, 3, 2, 0] if output_data_format == "channels_first" else [1, 2, 0, 3])
    return collect_named_outputs(outputs_collections, named, y)


def scale_gradient(inputs: TensorLike, gradient_multiplier: TensorLike) -> Tensor:
    """Returns the tensor `inputs`; gradients that pass through it are multiplied by `gradient_multiplier`."""
    factor = convert_to_tensor(gradient_multiplier)

    def function(x: Tensor) -> tuple[Any, Callable[[Any], Any]]:
        return IDENTITY(x), lambda dy: dy * cast(factor, dy.dtype)

    return custom_gradient(function)(inputs)
