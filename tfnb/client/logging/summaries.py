"""Summary operations: `tf.summary.scalar` and its relatives, and their names of 0.x (white paper, section 9.1).

Invariant: the tag of a summary is its name in the graph, so tags in one graph differ; only the functions of 0.x take
tags as arguments.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.errors import InvalidArgumentError
from tfnb.ir.default import get_default_graph, graph_of
from tfnb.ir.graphdef.message_types import Message, NodeDef
from tfnb.ir.protos import proto
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import convert_to_tensor
from tfnb.ops.logging.summary import (
    AUDIO_SUMMARY,
    AUDIO_SUMMARY_V2,
    HISTOGRAM_SUMMARY,
    IMAGE_SUMMARY,
    MERGE_SUMMARY,
    SCALAR_SUMMARY,
    TENSOR_SUMMARY_V2,
)
from tfnb.types import string

__all__ = ["API", "summary_scope"]

_FORBIDDEN = re.compile(r"[^-/\w.]", re.ASCII)


def _clean(name: str) -> str:
    """Returns the name with `_` in place of characters that names in a graph cannot contain."""
    return _FORBIDDEN.sub("_", name).lstrip("/")


@contextmanager
def summary_scope(name: str, family: str | None, values: Iterable[Any], kind: str = "") -> Iterator[tuple[str, str]]:
    """Returns (tag, scope) of a summary, unique in the graph; `family` groups tags in TensorBoard."""
    clean = _clean(str(name)) or kind
    base = f"{_clean(family)}/{clean}" if family else clean
    graph = graph_of(values)
    with graph.as_default(), graph.name_scope(base) as scope:
        tag = scope.rstrip("/")
        yield (f"{_clean(family)}/{tag}" if family else tag), scope


def _collected(summary: Tensor, collections: Sequence[str] | str | None) -> Tensor:
    keys = [GraphKeys.SUMMARIES] if collections is None else list(collections)
    summary.graph.add_to_collections(keys, summary)
    return summary


def scalar(
    name: str, tensor: TensorLike, collections: Sequence[str] | str | None = None, family: str | None = None
) -> Tensor:
    """Returns a summary of one number: a string scalar, which is a serialised Summary.

    name: the tag, which is made unique in the graph. tensor: a scalar of real numbers. collections: where `merge_all`
    finds the summary (by default SUMMARIES). family: a prefix that groups tags in TensorBoard.
    """
    with summary_scope(name, family, [tensor]) as (tag, scope):
        return _collected(SCALAR_SUMMARY(tag, tensor, name=scope), collections)


def histogram(
    name: str, values: TensorLike, collections: Sequence[str] | str | None = None, family: str | None = None
) -> Tensor:
    """Returns a summary of the distribution of real numbers, of any shape. The step fails for NaN and infinities."""
    with summary_scope(name, family, [values]) as (tag, scope):
        return _collected(HISTOGRAM_SUMMARY(tag, values, name=scope), collections)


def image(
    name: str,
    tensor: TensorLike,
    max_outputs: int = 3,
    collections: Sequence[str] | str | None = None,
    family: str | None = None,
    max_images: int | None = None,
) -> Tensor:
    """Returns a summary of images [batch, height, width, channels], uint8 or floats, which are scaled to visible
    colours.

    channels: 1, 3 or 4. max_outputs (or max_images): the largest number of images of the batch.
    """
    count = max_outputs if max_images is None else max_images
    with summary_scope(name, family, [tensor]) as (tag, scope):
        summary = IMAGE_SUMMARY(tag, tensor, max_images=_positive("max_outputs", count), name=scope)
        return _collected(summary, collections)


def audio(
    name: str,
    tensor: TensorLike,
    sample_rate: TensorLike,
    max_outputs: int = 3,
    collections: Sequence[str] | str | None = None,
    family: str | None = None,
) -> Tensor:
    """Returns a summary of sounds, float32 [batch, frames] or [batch, frames, channels] in -1..1, at `sample_rate`
    hertz.
    """
    with summary_scope(name, family, [tensor]) as (tag, scope):
        count = _positive("max_outputs", max_outputs)
        rate = convert_to_tensor(sample_rate, "float32", name="sample_rate")
        summary = AUDIO_SUMMARY_V2(tag, tensor, rate, max_outputs=count, name=scope)
        return _collected(summary, collections)


def tensor_summary(
    name: str,
    tensor: TensorLike,
    summary_description: object = None,
    collections: Sequence[str] | str | None = None,
    summary_metadata: Message | None = None,
    family: str | None = None,
    display_name: str | None = None,
) -> Tensor:
    """Returns a summary of a whole tensor; `summary_metadata` (a `tf.SummaryMetadata`) names the plugin that shows
    it.
    """
    metadata = proto("summary").SummaryMetadata()
    if summary_metadata is not None:
        metadata.CopyFrom(summary_metadata)
    if display_name is not None:
        metadata.display_name = display_name
    if summary_description is not None:
        metadata.summary_description = summary_description
    with summary_scope(name, family, [tensor]) as (tag, scope):
        summary = TENSOR_SUMMARY_V2(tag, tensor, metadata.SerializeToString(), name=scope)
        return _collected(summary, collections)


def text(name: str, tensor: TensorLike, collections: Sequence[str] | str | None = None) -> Tensor:
    """Returns a summary of strings, which TensorBoard shows as Markdown: a scalar, a list or a table (rank 2).

    Raises `InvalidArgumentError` when `tensor` is not of strings.
    """
    value = convert_to_tensor(tensor)
    if value.dtype is not string:
        raise InvalidArgumentError(f"the text summary {name!r} needs strings, got {value.dtype}")
    metadata = proto("summary").SummaryMetadata()
    metadata.plugin_data.plugin_name = "text"
    return tensor_summary(name, value, collections=collections, summary_metadata=metadata)


def merge(
    inputs: Iterable[TensorLike], collections: Sequence[str] | str | None = None, name: str | None = None
) -> Tensor:
    """Returns one summary of several. The step fails when a tag occurs twice.

    Raises `InvalidArgumentError` for an empty list.
    """
    parts = list(inputs)
    if not parts:
        raise InvalidArgumentError("merge needs at least one summary")
    graph = graph_of(parts)
    with graph.as_default(), graph.name_scope(_clean(name) if name else "Merge"):
        merged = MERGE_SUMMARY(parts, name="MergeSummary")
    merged.graph.add_to_collections(list(collections or ()), merged)
    return merged


def merge_all(key: str = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None) -> Tensor | None:
    """Returns one summary of all summaries in a collection, or None when there are none."""
    summaries = get_default_graph().get_collection(key, scope)
    return merge(summaries, name=name) if summaries else None


def get_summary_description(node_def: NodeDef) -> Any:
    """Returns the SummaryDescription of a TensorSummary node. Raises `InvalidArgumentError` for other nodes."""
    if node_def.op != "TensorSummary":
        raise InvalidArgumentError(f"get_summary_description needs a TensorSummary node, got {node_def.op}")
    description = proto("summary").SummaryDescription()
    json_format = importlib.import_module("google.protobuf.json_format")
    json_format.Parse(node_def.attr["description"].s.decode(), description)
    return description


def _positive(what: str, value: TensorLike) -> int:
    if not isinstance(value, (int, np.integer)) or value < 1:
        raise InvalidArgumentError(f"{what} must be a positive integer, got {value!r}")
    return int(value)


# ---- the names of 0.x ----------------------------------------------------------------------------


def scalar_summary(
    tags: TensorLike, values: TensorLike, collections: Sequence[str] | str | None = None, name: str | None = None
) -> Tensor:
    """Returns a summary of numbers with a tag each: `tags` and `values` have the same shape."""
    return _collected(SCALAR_SUMMARY(tags, values, name=name or "ScalarSummary"), collections)


def histogram_summary(
    tag: TensorLike, values: TensorLike, collections: Sequence[str] | str | None = None, name: str | None = None
) -> Tensor:
    """Does what `tf.summary.histogram` does; `tag` is used unchanged."""
    return _collected(HISTOGRAM_SUMMARY(tag, values, name=name or "HistogramSummary"), collections)


def image_summary(
    tag: TensorLike,
    tensor: TensorLike,
    max_images: int = 3,
    collections: Sequence[str] | str | None = None,
    name: str | None = None,
) -> Tensor:
    """Does what `tf.summary.image` does; `tag` is used unchanged."""
    count = _positive("max_images", max_images)
    summary = IMAGE_SUMMARY(tag, tensor, max_images=count, name=name or "ImageSummary")
    return _collected(summary, collections)


def audio_summary(
    tag: TensorLike,
    tensor: TensorLike,
    sample_rate: float,
    max_outputs: int = 3,
    collections: Sequence[str] | str | None = None,
    name: str | None = None,
) -> Tensor:
    """Does what `tf.summary.audio` does; `tag` is used unchanged, and `sample_rate` is a number."""
    count = _positive("max_outputs", max_outputs)
    summary = AUDIO_SUMMARY(tag, tensor, sample_rate=float(sample_rate), max_outputs=count, name=name or "AudioSummary")
    return _collected(summary, collections)


def merge_summary(
    inputs: Iterable[TensorLike], collections: Sequence[str] | str | None = None, name: str | None = None
) -> Tensor:
    """Does what `tf.summary.merge` does, under its name of 0.x."""
    return merge(inputs, collections, name)


def merge_all_summaries(key: str = GraphKeys.SUMMARIES) -> Tensor | None:
    """Does what `tf.summary.merge_all` does, under its name of 0.x."""
    return merge_all(key)


API: dict[str, Any] = {
    "summary.scalar": scalar,
    "summary.histogram": histogram,
    "summary.image": image,
    "summary.audio": audio,
    "summary.text": text,
    "summary.tensor_summary": tensor_summary,
    "summary.merge": merge,
    "summary.merge_all": merge_all,
    "summary.get_summary_description": get_summary_description,
    "scalar_summary": scalar_summary,
    "histogram_summary": histogram_summary,
    "image_summary": image_summary,
    "audio_summary": audio_summary,
    "merge_summary": merge_summary,
    "merge_all_summaries": merge_all_summaries,
}
