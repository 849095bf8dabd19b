"""Summaries of activations, weights and collections: `tf.contrib.layers.summarize_*` and `tf.contrib.slim.summaries`.

Invariant: a summary's tag comes from the name of the tensor, so that every tensor has its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.graph.default_graph import get_collection
from tfnb.client.logging.summaries import histogram, image, scalar
from tfnb.ir.tensor import Tensor
from tfnb.ops.logging.print_assert import print_
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import GREATER, LESS
from tfnb.ops.math.reduce_functions import reduce_mean
from tfnb.ops.nn.bias_dropout_moments import zero_fraction
from tfnb.types import bool_, float32, string
from tfnb.v1.argument_types import TensorOrVariable

__all__ = ["summarize_activation", "summarize_collection", "summarize_tensor"]


def summarize_activation(op: Tensor) -> Tensor:
    """Returns a histogram of the tensor `op`; that of a ReLU also has the share of zeros, of a ReLU6 that of sixes."""
    name, kind = op.op.name, op.op.type
    if kind in ("Relu", "Softplus", "Relu6"):
        scalar(f"{name}/zeros", reduce_mean(cast(LESS(op.op.inputs[0], 0.0), float32)))
    if kind == "Relu6":
        scalar(f"{name}/sixes", reduce_mean(cast(GREATER(op.op.inputs[0], 6.0), float32)))
    return histogram(f"{name}/activation", op)


def summarize_tensor(tensor: TensorOrVariable, tag: str | None = None) -> Tensor | None:
    """Returns a summary of a tensor: the value of a scalar, else a histogram; None for strings and bools."""
    if tensor.dtype.base_dtype in (string, bool_):
        return None
    tag = tag or f"{tensor.op.name}_summary"
    return scalar(tag, tensor) if tensor.get_shape().ndims == 0 else histogram(tag, tensor)


def summarize_tensors(tensors: Iterable[Any], summarizer: Callable[[Any], Any] = summarize_tensor) -> list[Any]:
    """Returns the summaries of `tensors`."""
    return [summarizer(tensor) for tensor in tensors]


def summarize_collection(
    collection: str, name_filter: str | None = None, summarizer: Callable[[Any], Any] = summarize_tensor
) -> list[Any]:
    """Returns summaries of the members of a collection whose names match the regular expression `name_filter`."""
    members = [t for t in get_collection(collection) if name_filter is None or re.match(name_filter, t.op.name)]
    return summarize_tensors(members, summarizer)


def summarize_activations(
    name_filter: str | None = None, summarizer: Callable[[Any], Any] = summarize_activation
) -> list[Any]:
    """Returns `summarize_collection` of the collection ACTIVATIONS."""
    return summarize_collection(GraphKeys.ACTIVATIONS, name_filter, summarizer)


def summarize_variables(
    name_filter: str | None = None, summarizer: Callable[[Any], Any] = summarize_tensor
) -> list[Any]:
    """Returns `summarize_collection` of the global variables."""
    return summarize_collection(GraphKeys.GLOBAL_VARIABLES, name_filter, summarizer)


def summarize_weights(name_filter: str | None = None, summarizer: Callable[[Any], Any] = summarize_tensor) -> list[Any]:
    """Returns `summarize_collection` of the collection WEIGHTS."""
    return summarize_collection(GraphKeys.WEIGHTS, name_filter, summarizer)


def summarize_biases(name_filter: str | None = None, summarizer: Callable[[Any], Any] = summarize_tensor) -> list[Any]:
    """Returns `summarize_collection` of the collection BIASES."""
    return summarize_collection(GraphKeys.BIASES, name_filter, summarizer)


def _tag(tensor: TensorOrVariable, name: str | None, prefix: str | None) -> str:
    own = name or tensor.op.name
    return f"{prefix}/{own}" if prefix else own


def add_histogram_summary(tensor: TensorOrVariable, name: str | None = None, prefix: str | None = None) -> Tensor:
    """Returns a histogram of the tensor `tensor`, with the tag "prefix/name"; by default the tensor's own name."""
    return histogram(_tag(tensor, name, prefix), tensor)


def add_image_summary(
    tensor: TensorOrVariable, name: str | None = None, prefix: str | None = None, print_summary: bool = False
) -> Tensor:
    """Returns a summary of images (batch, height, width, channels); with `print_summary` a step prints the tensor."""
    tag = _tag(tensor, name, prefix)
    return image(tag, print_(tensor, [tensor], f"{tag}: ") if print_summary else tensor)


def add_scalar_summary(
    tensor: TensorOrVariable, name: str | None = None, prefix: str | None = None, print_summary: bool = False
) -> Tensor:
    """Returns a summary of a scalar tensor, with the tag "prefix/name"; with `print_summary` a step prints the value.

    The summary is in the collection SUMMARIES.
    """
    tag = _tag(tensor, name, prefix)
    summary = scalar(tag, tensor, collections=[])
    if print_summary:
        summary = print_(summary, [tensor], tag)
    summary.graph.add_to_collection(GraphKeys.SUMMARIES, summary)
    return summary


def add_zero_fraction_summary(
    tensor: TensorOrVariable, name: str | None = None, prefix: str | None = None, print_summary: bool = False
) -> Tensor:
    """Returns a summary of the share of zeros in the tensor `tensor`."""
    own = name or f"{tensor.op.name}_Fraction_of_Zero_Values"
    return add_scalar_summary(zero_fraction(tensor), own, prefix, print_summary)


def add_histogram_summaries(tensors: Iterable[Any], prefix: str | None = None) -> list[Any]:
    """Returns `add_histogram_summary` of each of `tensors`."""
    return [add_histogram_summary(t, prefix=prefix) for t in tensors]


def add_image_summaries(tensors: Iterable[Any], prefix: str | None = None) -> list[Any]:
    """Returns `add_image_summary` of each of `tensors`."""
    return [add_image_summary(t, prefix=prefix) for t in tensors]


def add_scalar_summaries(tensors: Iterable[Any], prefix: str | None = None, print_summary: bool = False) -> list[Any]:
    """Returns `add_scalar_summary` of each of `tensors`."""
    return [add_scalar_summary(t, prefix=prefix, print_summary=print_summary) for t in tensors]


def add_zero_fraction_summaries(tensors: Iterable[Any], prefix: str | None = None) -> list[Any]:
    """Returns `add_zero_fraction_summary` of each of `tensors`."""
    return [add_zero_fraction_summary(t, prefix=prefix) for t in tensors]
