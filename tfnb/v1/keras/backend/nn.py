"""Activations, cross entropies, convolutions, pooling and conditions of `tf.keras.backend`.

Invariant: probabilities given to a cross entropy are clipped by `epsilon()`; logits are used as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfnb.client.argument_types import WindowSize
from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.v1.argument_types import TensorOrVariable
from tfnb.v1.keras.argument_types import TrainingFlag
from tfnb.v1.keras.backend.elementwise import normalized
from tfnb.v1.keras.backend.settings import data_format_of, epsilon, learning_phase
from tfnb.v1.keras.graph_api import tf


def relu(x: Any, alpha: float = 0.0, max_value: float | None = None, threshold: float = 0) -> Tensor:
    """Returns x where it is at least `threshold`, alpha * (x - threshold) below, and at most `max_value`."""
    if alpha == 0.0 and threshold == 0 and max_value is None:
        return tf.nn.relu(x)
    if alpha == 0.0 and threshold == 0 and max_value == 6:
        return tf.nn.relu6(x)
    below = tf.nn.relu(threshold - x) if alpha != 0.0 else None
    y = x * tf.cast(x > threshold, x.dtype.base_dtype) if threshold != 0 else tf.nn.relu(x)
    if max_value is not None:
        y = tf.clip_by_value(y, 0.0, float(max_value))
    return y if below is None else y - alpha * below


def elu(x: Any, alpha: float = 1.0) -> Tensor:
    """Returns x where it is positive, and alpha * (exp(x) - 1) elsewhere."""
    y = tf.nn.elu(x)
    return y if alpha == 1 else tf.where(x > 0, y, alpha * y)


def softmax(x: TensorLike, axis: int = -1) -> Tensor:
    """Returns the softmax along `axis`."""
    return tf.nn.softmax(x, axis=axis)


def softplus(x: TensorLike) -> Tensor:
    """Returns log(1 + exp(x))."""
    return tf.nn.softplus(x)


def softsign(x: TensorLike) -> Tensor:
    """Returns x / (1 + abs(x))."""
    return tf.nn.softsign(x)


def sigmoid(x: TensorLike) -> Tensor:
    """Returns 1 / (1 + exp(-x))."""
    return tf.sigmoid(x)


def hard_sigmoid(x: Any) -> Tensor:
    """Returns 0.2 x + 0.5, limited to [0, 1]."""
    return tf.clip_by_value(0.2 * x + 0.5, 0.0, 1.0)


def tanh(x: TensorLike) -> Tensor:
    """Returns the hyperbolic tangent."""
    return tf.tanh(x)


def dropout(x: TensorLike, level: float, noise_shape: TensorLike | None = None, seed: int | None = None) -> Tensor:
    """Returns x with a share `level` of the elements set to 0, and the others divided by 1 - level."""
    return tf.nn.dropout(x, rate=level, noise_shape=noise_shape, seed=seed)


def in_top_k(predictions: TensorLike, targets: TensorLike, k: int) -> Tensor:
    """Returns whether each target is among the `k` largest predictions of its row."""
    return tf.nn.in_top_k(predictions, targets, k)


def bias_add(x: Any, bias: TensorOrVariable, data_format: str | None = None) -> Tensor:
    """Returns x plus the bias of each channel, or plus a bias of the shape of one element of the batch."""
    first = data_format_of(data_format) == "channels_first"
    if bias.shape.ndims == 1:
        if not first:
            return tf.nn.bias_add(x, bias)
        return x + tf.reshape(bias, [1, -1, *[1] * (x.shape.ndims - 2)])
    sizes = bias.shape.as_list()
    return x + tf.reshape(bias, [1, sizes[-1], *sizes[:-1]] if first else [1, *sizes])


def batch_normalization(
    x: Any,
    mean: Any,
    var: Any,
    beta: TensorOrVariable | None,
    gamma: TensorOrVariable | None,
    axis: int = -1,
    epsilon: float = 1e-3,
) -> Tensor:
    """Returns gamma * (x - mean) / sqrt(var + epsilon) + beta; statistics of one dimension are those of `axis`."""
    rank = x.shape.ndims
    if axis % rank != rank - 1:
        shape = [1] * rank
        shape[axis % rank] = -1
        mean, var, beta, gamma = (
            tf.reshape(v, shape) if v is not None and v.shape.ndims == 1 else v for v in (mean, var, beta, gamma)
        )
    return tf.nn.batch_normalization(x, mean, var, beta, gamma, epsilon)


def normalize_batch_in_training(
    x: TensorOrVariable,
    gamma: TensorOrVariable | None,
    beta: TensorOrVariable | None,
    reduction_axes: Sequence[int],
    epsilon: float = 1e-3,
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns x normalised by its mean and variance over `reduction_axes`, the mean and the variance."""
    mean, var = tf.nn.moments(x, list(reduction_axes))
    shape = [1 if i in reduction_axes else n or -1 for i, n in enumerate(x.shape.as_list())]
    parts = [None if v is None else tf.reshape(v, shape) for v in (mean, var, beta, gamma)]
    return tf.nn.batch_normalization(x, *parts, epsilon), mean, var


def categorical_crossentropy(
    target: TensorLike, output: TensorOrVariable, from_logits: bool = False, axis: int = -1
) -> Tensor:
    """Returns the cross entropies of probabilities, or logits, along `axis`."""
    target = tf.cast(target, output.dtype.base_dtype)
    if from_logits:
        return tf.nn.softmax_cross_entropy_with_logits_v2(labels=target, logits=output, axis=axis)
    return -tf.reduce_sum(target * tf.log(normalized(output, axis)), axis)


def sparse_categorical_crossentropy(
    target: TensorLike, output: Any, from_logits: bool = False, axis: int = -1
) -> Tensor:
    """Returns the cross entropies of probabilities, or logits, along `axis`, where `target` has class numbers."""
    if not from_logits:
        low = tf.constant(epsilon(), output.dtype.base_dtype)
        output = tf.log(tf.clip_by_value(output, low, 1.0 - low))
    rank = output.shape.ndims
    if rank is not None and axis % rank != rank - 1:
        axis %= rank
        output = tf.transpose(output, [i for i in range(rank) if i != axis] + [axis])
    labels = tf.cast(target, tf.int64)
    if rank is not None and labels.shape.ndims in (None, rank):
        width = tf.shape(output)[-1]
        result = tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=tf.reshape(labels, [-1]), logits=tf.reshape(output, tf.stack([-1, width]))
        )
        return tf.reshape(result, tf.shape(output)[:-1])
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=output)


def binary_crossentropy(target: TensorLike, output: TensorOrVariable, from_logits: bool = False) -> Tensor:
    """Returns the cross entropy of each probability, or logit."""
    target = tf.cast(target, output.dtype.base_dtype)
    if from_logits:
        return tf.nn.sigmoid_cross_entropy_with_logits(labels=target, logits=output)
    small = tf.constant(epsilon(), output.dtype.base_dtype)
    p = tf.clip_by_value(output, small, 1.0 - small)
    return -(target * tf.log(p + small) + (1 - target) * tf.log(1 - p + small))


_LAYOUTS = {
    1: {"channels_last": "NWC", "channels_first": "NCW"},
    2: {"channels_last": "NHWC", "channels_first": "NCHW"},
    3: {"channels_last": "NDHWC", "channels_first": "NCDHW"},
}


def layout_of(data_format: str | None, rank: int) -> str:
    """Returns the operations' name of a layout for `rank` spatial dimensions."""
    return _LAYOUTS[rank][data_format_of(data_format)]


def padding_of(padding: str) -> str:
    """Returns "SAME" or "VALID". Raises `InvalidArgumentError` for another padding."""
    if padding.lower() not in ("same", "valid"):
        raise InvalidArgumentError(f"Invalid padding: {padding}; needed same or valid")
    return padding.upper()


def window(value: int | Sequence[int], rank: int, name: str = "value") -> tuple[int, ...]:
    """Returns `rank` positive integers from one or several. Raises `InvalidArgumentError` for others."""
    sizes = (value,) * rank if isinstance(value, int) else tuple(int(v) for v in value)
    if len(sizes) != rank:
        raise InvalidArgumentError(f"The `{name}` argument must be a tuple of {rank} integers. Received: {value}")
    return sizes


def convolution(
    x: TensorOrVariable,
    kernel: Any,
    strides: WindowSize,
    padding: str,
    data_format: str | None,
    dilation_rate: WindowSize,
    rank: int,
) -> Tensor:
    """Returns a convolution in `rank` dimensions; "causal" padding is for sequences only."""
    dilation = window(dilation_rate, rank)
    if padding == "causal":
        left = dilation[0] * (kernel.shape.as_list()[0] - 1)
        last = data_format_of(data_format) == "channels_last"
        x = tf.pad(x, [[0, 0], [left, 0], [0, 0]] if last else [[0, 0], [0, 0], [left, 0]])
        padding = "valid"
    return tf.nn.convolution(
        x,
        kernel,
        padding_of(padding),
        strides=window(strides, rank),
        dilation_rate=dilation,
        data_format=layout_of(data_format, rank),
    )


def conv1d(
    x: TensorOrVariable,
    kernel: TensorOrVariable,
    strides: int = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: int = 1,
) -> Tensor:
    """Returns the convolution of sequences; padding is "same", "valid" or "causal"."""
    return convolution(x, kernel, strides, padding, data_format, dilation_rate, 1)


def conv2d(
    x: TensorOrVariable,
    kernel: TensorOrVariable,
    strides: WindowSize = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: WindowSize = (1, 1),
) -> Tensor:
    """Returns the convolution of images."""
    return convolution(x, kernel, strides, padding, data_format, dilation_rate, 2)


def conv3d(
    x: TensorOrVariable,
    kernel: TensorOrVariable,
    strides: WindowSize = (1, 1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: WindowSize = (1, 1, 1),
) -> Tensor:
    """Returns the convolution of volumes."""
    return convolution(x, kernel, strides, padding, data_format, dilation_rate, 3)


def conv2d_transpose(
    x: TensorOrVariable,
    kernel: TensorOrVariable,
    output_shape: TensorLike,
    strides: WindowSize = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: WindowSize = (1, 1),
) -> Tensor:
    """Returns the transposed convolution of images, of the given shape; None is the batch's size."""
    if window(dilation_rate, 2) != (1, 1):
        raise InvalidArgumentError("conv2d_transpose: dilation_rate must be 1; tf.nn.atrous_conv2d_transpose dilates")
    return transposed(x, kernel, output_shape, strides, padding, data_format, 2)


def transposed(
    x: TensorOrVariable,
    kernel: TensorOrVariable,
    output_shape: TensorLike,
    strides: WindowSize,
    padding: str,
    data_format: str | None,
    rank: int,
) -> Tensor:
    """Returns the transposed convolution in 2 or 3 dimensions."""
    first = data_format_of(data_format) == "channels_first"
    steps = window(strides, rank)
    if isinstance(output_shape, (list, tuple)):
        batch = output_shape[0]
        output_shape = tf.stack([tf.shape(x)[0] if batch is None else batch, *output_shape[1:]])
    function = tf.nn.conv2d_transpose if rank == 2 else tf.nn.conv3d_transpose
    return function(
        x,
        kernel,
        output_shape,
        [1, 1, *steps] if first else [1, *steps, 1],
        padding=padding_of(padding),
        data_format=layout_of(data_format, rank),
    )


def depthwise_conv2d(
    x: TensorOrVariable,
    depthwise_kernel: TensorOrVariable,
    strides: WindowSize = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: WindowSize = (1, 1),
) -> Tensor:
    """Returns the convolution of each channel of images by kernels of its own."""
    first = data_format_of(data_format) == "channels_first"
    steps = window(strides, 2)
    return tf.nn.depthwise_conv2d(
        x,
        depthwise_kernel,
        [1, 1, *steps] if first else [1, *steps, 1],
        padding_of(padding),
        rate=window(dilation_rate, 2),
        data_format=layout_of(data_format, 2),
    )


def separable_conv2d(
    x: TensorOrVariable,
    depthwise_kernel: TensorOrVariable,
    pointwise_kernel: TensorOrVariable,
    strides: WindowSize = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: WindowSize = (1, 1),
) -> Tensor:
    """Returns the convolution of each channel, mixed by a convolution of size 1."""
    y = depthwise_conv2d(x, depthwise_kernel, strides, padding, data_format, dilation_rate)
    return conv2d(y, pointwise_kernel, data_format=data_format)


def pool(
    x: TensorOrVariable,
    pool_size: WindowSize,
    strides: WindowSize,
    padding: str,
    data_format: str | None,
    pool_mode: str,
    rank: int,
) -> Tensor:
    """Returns the "max" or "avg" of each window in `rank` dimensions."""
    if pool_mode not in ("max", "avg"):
        raise InvalidArgumentError(f"Invalid pooling mode: {pool_mode}; needed max or avg")
    return tf.nn.pool(
        x,
        window(pool_size, rank),
        pool_mode.upper(),
        padding_of(padding),
        strides=window(strides, rank),
        data_format=layout_of(data_format, rank),
    )


def pool2d(
    x: TensorOrVariable,
    pool_size: WindowSize,
    strides: WindowSize = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    pool_mode: str = "max",
) -> Tensor:
    """Returns the "max" or "avg" of each window of images."""
    return pool(x, pool_size, strides, padding, data_format, pool_mode, 2)


def pool3d(
    x: TensorOrVariable,
    pool_size: WindowSize,
    strides: WindowSize = (1, 1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    pool_mode: str = "max",
) -> Tensor:
    """Returns the "max" or "avg" of each window of volumes."""
    return pool(x, pool_size, strides, padding, data_format, pool_mode, 3)


def switch(
    condition: TensorLike,
    then_expression: Any,
    else_expression: Any,
) -> Any:
    """Returns one of two values by a scalar condition, or element by element by a condition of more dimensions.

    The values may be functions without parameters.
    """
    condition = tf.cast(condition, tf.bool)
    then = then_expression if callable(then_expression) else lambda: tf.identity(then_expression)
    other = else_expression if callable(else_expression) else lambda: tf.identity(else_expression)
    if condition.shape.ndims == 0:
        return tf.cond(condition, then, other)
    yes, no = then(), other()
    missing = yes.shape.ndims - condition.shape.ndims
    for _ in range(missing):
        condition = tf.expand_dims(condition, -1)
    return tf.where(tf.logical_and(condition, tf.ones_like(yes, dtype=tf.bool)), yes, no)


def in_train_phase(
    x: TensorLike | Callable[[], Any], alt: TensorLike | Callable[[], Any], training: TrainingFlag | None = None
) -> Any:
    """Returns x in training and `alt` in testing; both may be functions without parameters."""
    training = learning_phase() if training is None else training
    if not hasattr(training, "graph"):
        chosen = x if training else alt
        return chosen() if callable(chosen) else chosen
    return switch(training, x, alt)


def in_test_phase(
    x: TensorLike | Callable[[], Any], alt: TensorLike | Callable[[], Any], training: TrainingFlag | None = None
) -> Any:
    """Returns x in testing and `alt` in training."""
    return in_train_phase(alt, x, training)
