"""CTC costs and decoding, and convolutions whose weights differ from place to place (`tf.keras.backend`).

Invariant: labels and predictions are [batch, time, ...], the lengths [batch, 1].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfnb.ir.sparse import SparseTensor
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.v1.argument_types import TensorOrVariable
from tfnb.v1.keras.backend.settings import data_format_of, epsilon
from tfnb.v1.keras.graph_api import tf


def ctc_label_dense_to_sparse(labels: TensorLike, label_lengths: TensorLike) -> SparseTensor:
    """Returns the sparse tensor of the labels [batch, time] of which each row has the given length."""
    present = tf.sequence_mask(tf.reshape(label_lengths, [-1]), tf.shape(labels)[1])
    indices = tf.where(present)
    return tf.SparseTensor(indices, tf.gather_nd(labels, indices), tf.shape(labels, out_type=tf.int64))


def ctc_batch_cost(
    y_true: TensorLike, y_pred: TensorLike, input_length: TensorLike, label_length: TensorLike
) -> Tensor:
    """Returns the CTC cost of each element of the batch, [batch, 1], of probabilities [batch, time, classes]."""
    lengths = tf.cast(tf.reshape(input_length, [-1]), tf.int32)
    labels = ctc_label_dense_to_sparse(tf.cast(y_true, tf.int32), tf.cast(label_length, tf.int32))
    logits = tf.log(tf.transpose(y_pred, [1, 0, 2]) + epsilon())
    return tf.expand_dims(tf.nn.ctc_loss(labels, logits, lengths), 1)


def ctc_decode(
    y_pred: TensorLike, input_length: TensorLike, greedy: bool = True, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[Any], Any]:
    """Returns the most probable sequences, padded by -1, and their log probabilities."""
    logits = tf.log(tf.transpose(y_pred, [1, 0, 2]) + epsilon())
    lengths = tf.cast(input_length, tf.int32)
    if greedy:
        decoded, scores = tf.nn.ctc_greedy_decoder(logits, lengths)
    else:
        decoded, scores = tf.nn.ctc_beam_search_decoder(logits, lengths, beam_width, top_paths)
    return [tf.sparse_to_dense(s.indices, s.dense_shape, s.values, default_value=-1) for s in decoded], scores


def local_conv1d(
    inputs: TensorOrVariable,
    kernel: Any,
    kernel_size: Sequence[int],
    strides: Sequence[int],
    data_format: str | None = None,
) -> Tensor:
    """Returns a convolution of sequences with a kernel of its own at each step.

    kernel: [steps, size * channels, filters].
    """
    output_shape = (kernel.shape.as_list()[0],)
    return local_convolution(inputs, kernel, kernel_size, strides, output_shape, data_format)


def local_conv2d(
    inputs: TensorOrVariable,
    kernel: TensorOrVariable,
    kernel_size: Sequence[int],
    strides: Sequence[int],
    output_shape: Sequence[int],
    data_format: str | None = None,
) -> Tensor:
    """Returns a convolution of images with a kernel of its own at each place.

    kernel: [rows * columns, size * channels, filters]; output_shape: (rows, columns).
    """
    return local_convolution(inputs, kernel, kernel_size, strides, output_shape, data_format)


def local_convolution(
    inputs: TensorOrVariable,
    kernel: TensorOrVariable,
    size: Sequence[int],
    strides: Sequence[int],
    shape: Sequence[int],
    data_format: str | None,
) -> Tensor:
    """Returns a convolution with a kernel of its own at each place.

    kernel: [places, size * channels, filters], the places in the order of `shape`, the shape of an output's channel.
    """
    first = data_format_of(data_format) == "channels_first"
    rank = len(size)
    places: list[tuple[int, ...]] = [()]
    for n in shape:
        places = [(*p, i) for p in places for i in range(n)]
    width = kernel.shape.as_list()[1]
    patches = []
    for place in places:
        cut = tuple(slice(p * s, p * s + k) for p, s, k in zip(place, strides, size, strict=True))
        whole = slice(None)
        seen = (whole, whole, *cut) if first else (whole, *cut, whole)
        patches.append(tf.reshape(inputs[seen], [1, -1, width]))
    result = tf.matmul(tf.concat(patches, 0), kernel)
    filters = kernel.shape.as_list()[2]
    result = tf.transpose(tf.reshape(result, [*shape, -1, filters]), [rank, *range(rank), rank + 1])
    return tf.transpose(result, [0, rank + 1, *range(1, rank + 1)]) if first else result
