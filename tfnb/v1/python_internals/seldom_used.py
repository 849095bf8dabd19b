"""Seldom used functions of late 1.x on sparse tensors, labels, losses, pixels, sounds and compressed texts.

Invariant: each is an operation of the catalogue under its public name, or a composition of a few.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfnb.client.platform.tf_logging import error
from tfnb.errors import DTypeError, InvalidArgumentError
from tfnb.ir.default import get_default_graph, graph_of
from tfnb.ir.sparse import SparseTensor, SparseTensorValue
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.batch_functions import gather_nd
from tfnb.ops.array.concat import concat
from tfnb.ops.array.constants import zeros
from tfnb.ops.array.shape_ops import shape as sizes_of
from tfnb.ops.array.where_partition import sequence_mask, where
from tfnb.ops.conv_pool.pool_functions import avg_pool, avg_pool3d, max_pool, max_pool3d
from tfnb.ops.image.volume_patches_scaling import EXTRACT_VOLUME_PATCHES
from tfnb.ops.io.compressed_sound_json import DECODE_COMPRESSED, DECODE_WAV, ENCODE_WAV
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import GREATER
from tfnb.ops.math.reduce_functions import reduce_sum
from tfnb.ops.nn.ctc import ctc_loss
from tfnb.ops.nn.quantize_dequantize import QUANTIZE_AND_DEQUANTIZE, QUANTIZED_CONCAT
from tfnb.ops.sparse.cross import DEFAULT_HASH_KEY, SPARSE_CROSS
from tfnb.types import DTypeLike, as_dtype, float32, int32, int64, string

__all__ = [
    "avg_pool_v2",
    "compute_average_loss",
    "cross",
    "cross_hashed",
    "ctc_loss_v2",
    "decode_compressed",
    "decode_wav",
    "encode_wav",
    "expand_dims",
    "extract_volume_patches",
    "get_logger",
    "max_pool_v2",
    "must_run_on_cpu",
    "quantize_and_dequantize",
    "quantized_concat",
    "scale_regularization_loss",
    "sparse_eye",
    "task_level_status_message",
]

# ---- sparse tensors ------------------------------------------------------------------------------------------------


def cross(inputs: Sequence[Any], name: str | None = None) -> SparseTensor:
    """Returns each combination of the values of several features of an example, joined by "_X_".

    inputs: matrices of strings or integers, sparse or dense, with one row for each example. Raises `DTypeError` for
    other dtypes. A step raises `InvalidArgumentError` for different numbers of rows.
    """
    return _crossed(inputs, name or "cross", False, 0, DEFAULT_HASH_KEY)


def cross_hashed(
    inputs: Sequence[Any], num_buckets: int = 0, hash_key: int | None = None, name: str | None = None
) -> SparseTensor:
    """Returns each combination of the values of several features of an example, as a hash value.

    inputs: as of `cross`. num_buckets: the hash values are below it, unless it is 0. hash_key: the hash of no value,
    from which the others are computed.
    """
    return _crossed(inputs, name or "cross", True, num_buckets, DEFAULT_HASH_KEY if hash_key is None else hash_key)


def _crossed(inputs: Sequence[Any], name: str, hashed: bool, buckets: int, key: int) -> SparseTensor:
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise DTypeError("sparse.cross: inputs must be a list of tensors")
    graph = graph_of(list(inputs))
    with graph.as_default(), graph.name_scope(name):
        columns = [x if isinstance(x, SparseTensor) else graph.to_tensor(x) for x in inputs]
        if not all(c.dtype is string or c.dtype.is_integer for c in columns):
            raise DTypeError(f"All inputs must be strings or integers, got {[c.dtype.name for c in columns]}")
        sparse = [c for c in columns if isinstance(c, SparseTensor)]
        dense = [c if c.dtype is string else cast(c, int64) for c in columns if not isinstance(c, SparseTensor)]
        at, values, shape = SPARSE_CROSS(
            [c.indices for c in sparse],
            [c.values if c.dtype is string else cast(c.values, int64) for c in sparse],
            [c.dense_shape for c in sparse],
            dense,
            hashed_output=hashed,
            num_buckets=buckets,
            out_type=int64 if hashed else string,
            internal_type=string if any(c.dtype is string for c in columns) else int64,
            hash_key=key,
        )
    return SparseTensor(at, values, shape)


def expand_dims(
    sp_input: SparseTensor | SparseTensorValue, axis: int | None = None, name: str | None = None
) -> SparseTensor:
    """Returns a sparse tensor with an additional dimension of size 1 before the dimension `axis`, by default the last.

    Raises `InvalidArgumentError` for an axis out of range.
    """
    given = SparseTensor.from_value(sp_input)
    rank = given.shape.ndims
    place = -1 if axis is None else axis
    if rank is None or not -rank - 1 <= place <= rank:
        raise InvalidArgumentError(f"sparse.expand_dims: axis {axis} of a tensor of rank {rank}")
    place += rank + 1 if place < 0 else 0
    graph = given.indices.graph
    with graph.as_default(), graph.name_scope(name or "expand_dims"):
        column = zeros(concat([sizes_of(given.values), np.array([1], np.int32)], 0), dtype=int64)
        indices = concat([given.indices[:, :place], column, given.indices[:, place:]], 1)
        one = np.array([1], np.int64)
        shape = concat([given.dense_shape[:place], one, given.dense_shape[place:]], 0)
    return SparseTensor(indices, given.values, shape)


def sparse_eye(
    num_rows: int, num_columns: int | None = None, dtype: DTypeLike = float32, name: str | None = None
) -> SparseTensor:
    """Returns a sparse matrix of `num_rows` rows and `num_columns` columns (by default as many) with ones on its
    diagonal.
    """
    columns = num_rows if num_columns is None else num_columns
    with get_default_graph().name_scope(name or "eye"):
        count = min(num_rows, columns)
        numbers = np.arange(count, dtype=np.int64)
        values = np.ones(count, as_dtype(dtype).np)
        return SparseTensor(np.stack([numbers, numbers], 1), values, np.array([num_rows, columns], np.int64))


# ---- neural networks ------------------------------------------------------------------------------------------------


def _of_rank(flat: Callable[..., Tensor], volume: Callable[..., Tensor], what: str) -> Callable[..., Tensor]:
    def pool(
        input: TensorLike,
        ksize: int | Sequence[int],
        strides: int | Sequence[int],
        padding: str,
        data_format: str | None = None,
        name: str | None = None,
    ) -> Tensor:
        x = graph_of([input]).to_tensor(input)
        if x.shape.ndims == 5:
            return volume(input=x, ksize=ksize, strides=strides, padding=padding, data_format=data_format, name=name)
        if x.shape.ndims != 4:
            raise InvalidArgumentError(f"{what}: needed images or volumes with batch and channels, got {x.shape}")
        return flat(input=x, ksize=ksize, strides=strides, padding=padding, data_format=data_format, name=name)

    pool.__name__ = pool.__qualname__ = what
    pool.__doc__ = f"""Returns `tf.nn.{flat.__name__}` of images, or `tf.nn.{volume.__name__}` of volumes.

    input: of rank 4 or 5, with batch and channels. ksize, strides, padding, data_format: as of these functions.
    Raises `InvalidArgumentError` for another rank."""
    return pool


avg_pool_v2 = _of_rank(avg_pool, avg_pool3d, "avg_pool_v2")
max_pool_v2 = _of_rank(max_pool, max_pool3d, "max_pool_v2")


def ctc_loss_v2(
    labels: TensorLike | SparseTensor,
    logits: TensorLike,
    label_length: Any,
    logit_length: TensorLike,
    logits_time_major: bool = True,
    unique: object = None,
    blank_index: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns the loss of connectionist temporal classification, one number per sequence.

    labels: an int32 matrix, of which the first `label_length` (batch,) labels of a row count, or a sparse matrix.
    logits: (frames, batch, classes), or (batch, frames, classes) unless `logits_time_major`. logit_length: (batch,).
    blank_index: the class of no label, by default 0 for dense labels and the last one for sparse ones. unique: what
    `ctc_unique_labels` gives, which only speeds TensorFlow up.
    """
    graph = graph_of([logits, labels])
    with graph.as_default(), graph.name_scope(name or "ctc_loss"):
        scores = graph.to_tensor(logits)
        classes = scores.shape.sizes[-1] if scores.shape.sizes else None
        if classes is None:
            raise InvalidArgumentError("ctc_loss_v2: the number of classes must be known")
        sparse = labels if isinstance(labels, SparseTensor) else _sparse_labels(graph.to_tensor(labels), label_length)
        blank = (classes - 1 if isinstance(labels, SparseTensor) else 0) if blank_index is None else blank_index
        blank += classes if blank < 0 else 0
        if not 0 <= blank < classes:
            raise InvalidArgumentError(f"blank_index {blank_index} is not one of {classes} classes")
        # the operation has the blank as its last class
        scores = concat([scores[..., :blank], scores[..., blank + 1 :], scores[..., blank : blank + 1]], -1)
        above = cast(GREATER(sparse.values, blank), sparse.values.dtype)
        moved: Any = SparseTensor(sparse.indices, cast(sparse.values - above, int32), sparse.dense_shape)
        return ctc_loss(moved, scores, logit_length, time_major=logits_time_major)


def _sparse_labels(labels: Tensor, lengths: TensorLike) -> SparseTensor:
    mask = sequence_mask(lengths, sizes_of(labels)[1])
    at = where(mask)
    return SparseTensor(at, gather_nd(labels, at), cast(sizes_of(labels), int64))


def compute_average_loss(
    per_example_loss: TensorLike, sample_weight: TensorLike | None = None, global_batch_size: TensorLike | None = None
) -> Tensor:
    """Returns the sum of the examples' losses, times their weights, divided by the size of the batch.

    per_example_loss: a vector or more, one loss for each example of the batch. sample_weight: broadcasts with it.
    global_batch_size: by default the number of examples.
    """
    graph = graph_of([per_example_loss])
    with graph.as_default():
        losses = graph.to_tensor(per_example_loss)
        if losses.shape.ndims == 0:
            raise InvalidArgumentError("compute_average_loss: needed a loss for each example, got a scalar")
        weighted = losses if sample_weight is None else losses * cast(graph.to_tensor(sample_weight), losses.dtype)
        count = sizes_of(losses)[0] if global_batch_size is None else graph.to_tensor(global_batch_size)
        return reduce_sum(weighted) / cast(count, losses.dtype)


def scale_regularization_loss(regularization_loss: TensorLike) -> Tensor:
    """Returns the sum of the losses, since there is one replica here, by whose number TensorFlow divides."""
    graph = graph_of([regularization_loss])
    with graph.as_default():
        return reduce_sum(graph.to_tensor(regularization_loss))


# ---- quantised values, pixels, sounds, texts -------------------------------------------------------------------------


def quantize_and_dequantize(
    input: TensorLike,
    input_min: TensorLike,
    input_max: TensorLike,
    signed_input: bool = True,
    num_bits: int = 8,
    range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN",
    name: str | None = None,
    narrow_range: bool = False,
) -> Tensor:
    """Returns floats rounded to the steps of a quantised range; see the op QuantizeAndDequantizeV2."""
    options = {"signed_input": signed_input, "num_bits": num_bits, "range_given": range_given}
    rounding = {"round_mode": round_mode, "narrow_range": narrow_range}
    return QUANTIZE_AND_DEQUANTIZE(input, input_min, input_max, name=name, **options, **rounding)


def quantized_concat(
    concat_dim: TensorLike,
    values: Sequence[Any],
    input_mins: Sequence[Any],
    input_maxes: Sequence[Any],
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns quantised tensors joined along `concat_dim`, and the two ends of their common range; see the op."""
    return QUANTIZED_CONCAT(concat_dim, values, input_mins, input_maxes, name=name)


def extract_volume_patches(
    input: TensorLike, ksizes: Sequence[int], strides: Sequence[int], padding: str, name: str | None = None
) -> Tensor:
    """Returns all patches of a grid in volumes, each flat in the last dimension; see the op ExtractVolumePatches.

    input: (batch, depth, height, width, channels). ksizes, strides: five numbers each, of which the first and the last
    are 1. padding: "SAME" or "VALID".
    """
    return EXTRACT_VOLUME_PATCHES(input, ksizes=tuple(ksizes), strides=tuple(strides), padding=padding, name=name)


def decode_wav(
    contents: TensorLike, desired_channels: int = -1, desired_samples: int = -1, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Returns [samples in [-1, 1), sample rate] of a sound file of 16-bit PCM (WAV); see the op DecodeWav."""
    sizes = {"desired_channels": desired_channels, "desired_samples": desired_samples}
    return DECODE_WAV(contents, name=name, **sizes)


def encode_wav(audio: TensorLike, sample_rate: TensorLike, name: str | None = None) -> Tensor:
    """Returns a sound file of 16-bit PCM (WAV) of samples (samples, channels) in [-1, 1]; see the op EncodeWav."""
    return ENCODE_WAV(audio, sample_rate, name=name)


def decode_compressed(bytes: TensorLike, compression_type: str = "", name: str | None = None) -> Tensor:
    """Returns strings that were compressed by "ZLIB" or "GZIP" as they were; see the op DecodeCompressed."""
    return DECODE_COMPRESSED(bytes, compression_type=compression_type, name=name)


# ---- others ------------------------------------------------------------------------------------------------------


def get_logger() -> logging.Logger:
    """Returns the logger of Python's `logging` to which `tf.logging` writes."""
    return logging.getLogger("tfnb")


def task_level_status_message(msg: str) -> None:
    """Logs the message `msg` about this task, as an error."""
    error(msg)


def must_run_on_cpu(node: Any, pin_variables_on_cpu: bool = False) -> bool:
    """Returns whether a node, a NodeDef or an operation, must run on the host: it passes text, or reads a file.

    pin_variables_on_cpu: variables count too.
    """
    node_def = node.node_def if hasattr(node, "node_def") else node
    if pin_variables_on_cpu and node_def.op in ("Variable", "VariableV2"):
        return True
    if node_def.op == "Const":
        return node_def.attr["dtype"].type in (string.enum, int32.enum)
    if node_def.op in ("DynamicStitch", "ParallelDynamicStitch"):
        return node_def.attr["T"].type == int32.enum
    if node_def.op == "Cast":
        return node_def.attr["SrcT"].type == int32.enum
    return False
