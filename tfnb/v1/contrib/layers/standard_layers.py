"""`tf.contrib.layers`: the layers of 0.x and early 1.x programs, built of the same parts as `tf.layers`.

Invariant: names are TensorFlow's (`fully_connected/weights`, `Conv/biases`), and the activation is ReLU unless another
is given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any

from tfnb.client.argument_types import (
    CollectionNames,
    InitializerLike,
    Regularizer,
    ScalarLike,
    VariableCollections,
)
from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.graph.default_graph import name_scope
from tfnb.client.layers.base import Layer
from tfnb.client.layers.conv_layers import Conv2DTranspose
from tfnb.client.layers.dense_layers import flatten as flatten_layer
from tfnb.client.layers.norm_layers import BatchNormalization
from tfnb.client.layers.norm_layers import dropout as dropout_layer
from tfnb.client.variables.initializers import Ones, Zeros, glorot_uniform
from tfnb.client.variables.scope import Reuse, ScopeLike, get_variable, variable_scope
from tfnb.errors import InvalidArgumentError, ShapeError, refuse_given
from tfnb.ir.default import graph_of
from tfnb.ir.tensor import GraphLike, Tensor, TensorLike
from tfnb.ops.array.shape_ops import IDENTITY
from tfnb.ops.conv_pool.conv_functions import convolution as convolution_op
from tfnb.ops.conv_pool.depthwise import depthwise_conv2d as depthwise_op
from tfnb.ops.conv_pool.depthwise import separable_conv2d as separable_op
from tfnb.ops.conv_pool.pool_functions import avg_pool, max_pool
from tfnb.ops.linalg.matmul import matmul
from tfnb.ops.linalg.tensordot import tensordot
from tfnb.ops.nn.activations import RELU
from tfnb.ops.nn.bias_dropout_moments import bias_add
from tfnb.suggestions import bound_arguments
from tfnb.types import DTypeLike, Shape, ShapeLike
from tfnb.v1.argument_types import WindowLike
from tfnb.v1.contrib.framework.arg_scope import add_arg_scope
from tfnb.v1.contrib.layers.named_outputs import collect_named_outputs, n_positive_integers

__all__ = ["API", "conv2d", "finished", "fully_connected", "model_variable"]


def model_variable(
    name: str,
    shape: ShapeLike,
    dtype: DTypeLike,
    initializer: InitializerLike | None,
    regularizer: Callable[[Tensor], Any] | None,
    trainable: bool,
    collections: VariableCollections | None,
) -> Any:
    """Returns a variable in MODEL_VARIABLES and in `collections`: names, or a dict of names by the variable's name."""
    keys = [GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES, *_more_collections(collections, name)]
    return get_variable(name, shape, dtype, initializer, regularizer, trainable, keys)


def _more_collections(collections: VariableCollections | None, name: str) -> list[str]:
    """Returns the collections of the variable `name`, from one name, a list, or a dict by the variables' names."""
    names = collections.get(name, ()) if isinstance(collections, Mapping) else (collections or ())
    return [names] if isinstance(names, str) else list(names)


def finished(y: Tensor, channels: int, options: Mapping[str, Any], alias: str, data_format: str = "NHWC") -> Tensor:
    """Applies the normaliser or the biases, then the activation, and collects the output under `alias`."""
    if options["normalizer_fn"] is not None:
        y = options["normalizer_fn"](y, **(options["normalizer_params"] or {}))
    elif options["biases_initializer"] is not None:
        biases = model_variable(
            "biases",
            [channels],
            y.dtype,
            options["biases_initializer"],
            options["biases_regularizer"],
            options["trainable"],
            options["variables_collections"],
        )
        y = bias_add(y, biases, data_format="NCHW" if data_format.startswith("NC") else "NHWC")
    if options["activation_fn"] is not None:
        y = options["activation_fn"](y)
    return collect_named_outputs(options["outputs_collections"], alias, y)


@add_arg_scope
def fully_connected(
    inputs: TensorLike,
    num_outputs: int,
    activation_fn: Callable[[Any], Any] | None = RELU,
    normalizer_fn: Callable[..., Any] | None = None,
    normalizer_params: Mapping[str, Any] | None = None,
    weights_initializer: InitializerLike | None = None,
    weights_regularizer: Regularizer | None = None,
    biases_initializer: InitializerLike | None = Zeros,
    biases_regularizer: Regularizer | None = None,
    reuse: Reuse | None = None,
    variables_collections: VariableCollections | None = None,
    outputs_collections: Sequence[str] | str | None = None,
    trainable: bool = True,
    scope: ScopeLike | None = None,
) -> Tensor:
    """Computes activation(inputs @ weights + biases), of `num_outputs` columns, over the last dimension of the inputs.

    A `normalizer_fn` replaces the biases. Raises `ShapeError` when the size of the last dimension is not known.
    """
    options = dict(locals())
    x = graph_of([inputs]).to_tensor(inputs)
    n = x.shape.sizes[-1] if x.shape.sizes else None
    if n is None:
        raise ShapeError(f"fully_connected: the last dimension of the inputs must be known, got shape {x.shape}")
    with variable_scope(scope, "fully_connected", [x], reuse=reuse) as opened:
        weights = model_variable(
            "weights",
            [n, num_outputs],
            x.dtype,
            weights_initializer or glorot_uniform(),
            weights_regularizer,
            trainable,
            variables_collections,
        )
        rank = len(x.shape)
        y = matmul(x, weights) if rank == 2 else tensordot(x, weights, [[rank - 1], [0]])
        return finished(y, num_outputs, options, opened.name)


_LAYOUTS: Mapping[int, tuple[str, str]] = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}


@add_arg_scope
def convolution(
    inputs: TensorLike,
    num_outputs: int,
    kernel_size: WindowLike,
    stride: WindowLike = 1,
    padding: str = "SAME",
    data_format: str | None = None,
    rate: WindowLike = 1,
    activation_fn: Callable[[Any], Any] | None = RELU,
    normalizer_fn: Callable[..., Any] | None = None,
    normalizer_params: Mapping[str, Any] | None = None,
    weights_initializer: InitializerLike | None = None,
    weights_regularizer: Regularizer | None = None,
    biases_initializer: InitializerLike | None = Zeros,
    biases_regularizer: Regularizer | None = None,
    reuse: Reuse | None = None,
    variables_collections: VariableCollections | None = None,
    outputs_collections: Sequence[str] | str | None = None,
    trainable: bool = True,
    scope: ScopeLike | None = None,
    conv_dims: int | None = None,
) -> Tensor:
    """Computes activation(convolution(inputs, weights) + biases) over one to three axes between batch and channels.

    `num_outputs` is the number of output channels; with `data_format` "NCW", "NCHW" or "NCDHW" the channels come
    second. A `normalizer_fn` replaces the biases. Raises `ShapeError` when the number of channels is not known, or
    there are not `conv_dims` axes, and `InvalidArgumentError` for another `data_format`.
    """
    options = dict(locals())
    x = graph_of([inputs]).to_tensor(inputs)
    axes = (x.shape.ndims or 0) - 2
    if axes not in _LAYOUTS or conv_dims not in (None, axes):
        raise ShapeError(f"convolution over {conv_dims or '1 to 3'} axes: got inputs of shape {x.shape}")
    layout = data_format or _LAYOUTS[axes][0]
    if layout not in _LAYOUTS[axes]:
        raise InvalidArgumentError(
            f"convolution: data_format must be {' or '.join(_LAYOUTS[axes])} here, got {data_format!r}"
        )
    channels = x.shape.as_list()[1 if layout.startswith("NC") else -1]
    if channels is None:
        raise ShapeError(
            f"convolution, shape {x.shape}: The channel dimension of the inputs should be defined. Found `None`."
        )
    kernel, steps, rates = (n_positive_integers(axes, v) for v in (kernel_size, stride, rate))
    with variable_scope(scope, "Conv", [x], reuse=reuse) as opened:
        weights = model_variable(
            "weights",
            [*kernel, channels, num_outputs],
            x.dtype,
            weights_initializer or glorot_uniform(),
            weights_regularizer,
            trainable,
            variables_collections,
        )
        y = convolution_op(x, weights, padding, steps, rates, data_format=layout)
        return finished(y, num_outputs, options, opened.name, layout)


def _of_rank(name: str, axes: int) -> Callable[..., Any]:
    """Returns `convolution` over this number of axes, a function of its own for `arg_scope`."""

    def call(*args: object, **kwargs: object) -> Tensor:
        bound = bound_arguments(form, name, args, kwargs)
        return convolution(**bound, conv_dims=axes)

    form = signature(convolution)
    form = form.replace(parameters=[p for p in form.parameters.values() if p.name != "conv_dims"])
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Does what `convolution` does, for inputs with {axes} axes between batch and channels."
    call.__signature__ = form  # type: ignore[attr-defined]
    return add_arg_scope(call)


conv1d, conv2d, conv3d = _of_rank("convolution1d", 1), _of_rank("convolution2d", 2), _of_rank("convolution3d", 3)


@add_arg_scope
def convolution2d_transpose(
    inputs: TensorLike,
    num_outputs: int,
    kernel_size: WindowLike,
    stride: WindowLike = 1,
    padding: str = "SAME",
    data_format: str | None = None,
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
    """Computes activation(transposed convolution + biases) for inputs (batch, height, width, channels).

    `num_outputs` is the number of output channels; with `data_format` "NCHW" the channels come second. A
    `normalizer_fn` replaces the biases. Raises `ShapeError` when the number of channels is not known.
    """
    options = dict(locals())
    x = graph_of([inputs]).to_tensor(inputs)
    layer = Conv2DTranspose(
        num_outputs,
        tuple(_two(kernel_size)),
        tuple(_two(stride)),
        padding,
        _layout(data_format),
        use_bias=False,
        kernel_initializer=weights_initializer or glorot_uniform(),
    )
    channels = x.shape.with_rank(4).as_list()[1 if data_format == "NCHW" else 3]
    if channels is None:
        raise ShapeError(
            f"conv2d_transpose, shape {x.shape}: The channel dimension of the inputs should be defined. Found `None`."
        )
    with variable_scope(scope, "Conv2d_transpose", [x], reuse=reuse) as opened:
        layer.kernel = model_variable(
            "weights",
            [*_two(kernel_size), num_outputs, channels],
            x.dtype,
            layer.kernel_initializer,
            weights_regularizer,
            trainable,
            variables_collections,
        )
        layer.bias = None
        return finished(layer.call(x), num_outputs, options, opened.name, data_format or "NHWC")


@add_arg_scope
def separable_convolution2d(
    inputs: TensorLike,
    num_outputs: int | None,
    kernel_size: WindowLike,
    depth_multiplier: int = 1,
    stride: WindowLike = 1,
    padding: str = "SAME",
    data_format: str | None = None,
    rate: WindowLike = 1,
    activation_fn: Callable[[Any], Any] | None = RELU,
    normalizer_fn: Callable[..., Any] | None = None,
    normalizer_params: Mapping[str, Any] | None = None,
    weights_initializer: InitializerLike | None = None,
    pointwise_initializer: InitializerLike | None = None,
    weights_regularizer: Regularizer | None = None,
    biases_initializer: InitializerLike | None = Zeros,
    biases_regularizer: Regularizer | None = None,
    reuse: Reuse | None = None,
    variables_collections: VariableCollections | None = None,
    outputs_collections: CollectionNames | None = None,
    trainable: bool = True,
    scope: ScopeLike | None = None,
) -> Tensor:
    """Computes activation(separable convolution + biases) for inputs (batch, height, width, channels).

    Each channel is convolved with `depth_multiplier` kernels of `kernel_size`; a 1 x 1 convolution then makes
    `num_outputs` channels, or is left out where that is None. Raises `ShapeError` when the number of channels is not
    known.
    """
    options = dict(locals())
    x = graph_of([inputs]).to_tensor(inputs)
    layout = data_format or "NHWC"
    channels = x.shape.with_rank(4).as_list()[1 if layout == "NCHW" else 3]
    if channels is None:
        raise ShapeError(
            f"separable_conv2d, shape {x.shape}: The channel dimension of the inputs should be defined. Found `None`."
        )
    first = weights_initializer or glorot_uniform()
    n_channels = channels * depth_multiplier
    rest = (weights_regularizer, trainable, variables_collections)
    with variable_scope(scope, "SeparableConv2d", [x], reuse=reuse) as opened:
        taps = model_variable(
            "depthwise_weights", [*_two(kernel_size), channels, depth_multiplier], x.dtype, first, *rest
        )
        conv_options = (_window(stride, layout), padding, _two(rate), None, layout)
        if num_outputs is None:
            return finished(depthwise_op(x, taps, *conv_options), n_channels, options, opened.name, layout)
        pointwise_kernel = model_variable(
            "pointwise_weights", [1, 1, n_channels, num_outputs], x.dtype, pointwise_initializer or first, *rest
        )
        y = separable_op(x, taps, pointwise_kernel, *conv_options)
        return finished(y, num_outputs, options, opened.name, layout)


def _two(value: Any) -> list[int]:
    return [int(v) for v in value] if isinstance(value, (list, tuple, Shape)) else [int(value)] * 2


def _window(value: WindowLike, layout: str) -> list[int]:
    return [1, *_two(value), 1] if layout == "NHWC" else [1, 1, *_two(value)]


@add_arg_scope
def batch_norm(
    inputs: TensorLike,
    decay: float = 0.999,
    center: bool = True,
    scale: bool = False,
    epsilon: float = 0.001,
    activation_fn: Callable[[Any], Any] | None = None,
    param_initializers: Mapping[str, InitializerLike] | None = None,
    param_regularizers: Mapping[str, Regularizer] | None = None,
    updates_collections: CollectionNames | None = GraphKeys.UPDATE_OPS,
    is_training: TensorLike = True,
    reuse: Reuse | None = None,
    variables_collections: VariableCollections | None = None,
    outputs_collections: CollectionNames | None = None,
    trainable: bool = True,
    batch_weights: object = None,
    fused: bool | None = None,
    data_format: str = "NHWC",
    zero_debias_moving_mean: bool = False,
    scope: ScopeLike | None = None,
    renorm: bool = False,
    renorm_clipping: Mapping[str, Any] | None = None,
    renorm_decay: float = 0.99,
    adjustment: Callable[[Tensor], tuple[Any, Any]] | None = None,
) -> Tensor:
    """Normalises each channel of `inputs` over the batch; see `tf.layers.batch_normalization`.

    With `updates_collections=None` the moving statistics are updated before the result is available. Unless `fused`
    is False, the moving variance of vectors and images is that of n - 1 degrees of freedom. Raises
    `InvalidArgumentError` for `batch_weights` and `zero_debias_moving_mean`.
    """
    refuse_given(
        "batch_norm",
        "leave it out",
        batch_weights=batch_weights,
        zero_debias_moving_mean=zero_debias_moving_mean,
    )
    if data_format not in ("NHWC", "NCHW"):
        raise InvalidArgumentError(f"batch_norm: data_format must be NHWC or NCHW, got {data_format!r}")
    x = graph_of([inputs]).to_tensor(inputs)
    # TensorFlow has these as functions that make beta first, while the layer of all others makes gamma first.
    is_fused_vector = fused is not False and not renorm and adjustment is None and x.shape.ndims == 2
    layer = BatchNormalization(
        -1 if data_format == "NHWC" else 1,
        decay,
        epsilon,
        center,
        scale,
        trainable=trainable,
        updates_collection=updates_collections,
        renorm=renorm,
        renorm_clipping=renorm_clipping,
        renorm_momentum=renorm_decay,
        adjustment=adjustment,
        fused=fused,
        fused_ranks=(2, 4),
        beta_first=is_fused_vector or updates_collections != GraphKeys.UPDATE_OPS,
        **_normalization_options(param_initializers or {}, param_regularizers or {}),
    )
    with variable_scope(scope, "BatchNorm", [x], reuse=reuse) as layer_scope:
        layer.use_scope(layer_scope)
        y = layer(x, training=is_training)
        if updates_collections is None:
            with x.graph.control_dependencies(layer.updates):
                y = IDENTITY(y)
        if activation_fn is not None:
            y = activation_fn(y)
    _collect_variables(x.graph, layer, variables_collections)
    return collect_named_outputs(outputs_collections, layer_scope.name, y)


def _normalization_options(
    initializers: Mapping[str, InitializerLike], regularizers: Mapping[str, Regularizer]
) -> dict[str, Any]:
    """Returns the options of `BatchNormalization` for those of `batch_norm`, which have the names of the variables."""
    return {
        "beta_initializer": initializers.get("beta", Zeros()),
        "gamma_initializer": initializers.get("gamma", Ones()),
        "moving_mean_initializer": initializers.get("moving_mean"),
        "moving_variance_initializer": initializers.get("moving_variance"),
        "beta_regularizer": regularizers.get("beta"),
        "gamma_regularizer": regularizers.get("gamma"),
    }


def _collect_variables(graph: GraphLike, layer: Layer, collections: VariableCollections | None) -> None:
    """Adds the variables of a layer to MODEL_VARIABLES and `collections` of the graph, those that are not in them."""
    for variable in layer.variables:
        more = _more_collections(collections, variable.op.name.rpartition("/")[2])
        for key in (GraphKeys.MODEL_VARIABLES, *more):
            if variable not in graph.get_collection(key):
                graph.add_to_collection(key, variable)


@add_arg_scope
def max_pool2d(
    inputs: TensorLike,
    kernel_size: WindowLike,
    stride: WindowLike = 2,
    padding: str = "VALID",
    data_format: str | None = None,
    outputs_collections: Sequence[str] | str | None = None,
    scope: str | None = None,
) -> Tensor:
    """Computes the maximum of each window of `kernel_size` pixels of inputs (batch, height, width, channels)."""
    with name_scope(scope, "MaxPool2D", [inputs]) as named:
        layout = data_format or "NHWC"
        y = max_pool(inputs, _window(kernel_size, layout), _window(stride, layout), padding, layout)
    return collect_named_outputs(outputs_collections, named, y)


@add_arg_scope
def avg_pool2d(
    inputs: TensorLike,
    kernel_size: WindowLike,
    stride: WindowLike = 2,
    padding: str = "VALID",
    data_format: str | None = None,
    outputs_collections: Sequence[str] | str | None = None,
    scope: str | None = None,
) -> Tensor:
    """Computes the mean of each window of `kernel_size` pixels of inputs (batch, height, width, channels)."""
    with name_scope(scope, "AvgPool2D", [inputs]) as named:
        layout = data_format or "NHWC"
        y = avg_pool(inputs, _window(kernel_size, layout), _window(stride, layout), padding, layout)
    return collect_named_outputs(outputs_collections, named, y)


def _layout(data_format: str | None) -> str:
    return "channels_first" if data_format == "NCHW" else "channels_last"


@add_arg_scope
def dropout(
    inputs: TensorLike,
    keep_prob: ScalarLike = 0.5,
    noise_shape: TensorLike | None = None,
    is_training: TensorLike = True,
    outputs_collections: CollectionNames | None = None,
    scope: str | None = None,
    seed: int | None = None,
) -> Tensor:
    """Keeps each element with probability `keep_prob` while `is_training`, and divides it by `keep_prob`."""
    with variable_scope(scope, "Dropout", [inputs]) as opened:
        y = dropout_layer(inputs, 1 - keep_prob, noise_shape, seed, is_training)
    return collect_named_outputs(outputs_collections, opened.name, y)


@add_arg_scope
def flatten(
    inputs: TensorLike, outputs_collections: Sequence[str] | str | None = None, scope: str | None = None
) -> Tensor:
    """Joins all dimensions of `inputs` but the first into one."""
    with name_scope(scope, "Flatten", [inputs]) as named:
        return collect_named_outputs(outputs_collections, named, flatten_layer(inputs))


_FUNCTIONS: dict[str, Any] = {
    "fully_connected": fully_connected,
    "convolution": convolution,
    "conv1d": conv1d,
    "convolution1d": conv1d,
    "conv2d": conv2d,
    "conv3d": conv3d,
    "convolution3d": conv3d,
    "convolution2d": conv2d,
    "batch_norm": batch_norm,
    "conv2d_transpose": convolution2d_transpose,
    "convolution2d_transpose": convolution2d_transpose,
    "separable_conv2d": separable_convolution2d,
    "separable_convolution2d": separable_convolution2d,
    "max_pool2d": max_pool2d,
    "avg_pool2d": avg_pool2d,
    "dropout": dropout,
    "flatten": flatten,
}
API: dict[str, Any] = {f"contrib.layers.{name}": function for name, function in _FUNCTIONS.items()}
