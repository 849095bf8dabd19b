"""The content of a tag that is sent to the browser: downsampled points, histograms as bands and ridges, some other
items.

Numbers are sent as binary arrays. Invariant: whatever a file contains, the size of what is sent is bounded (a source
keeps a bounded number of points), and invalid data becomes a note instead of an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

import numpy as np

from tfnb.caches import remembered
from tfnb.notebook.protocol.viewer import (
    AudioRun,
    Content,
    CurveData,
    HistogramRun,
    ImageRun,
    ItemTime,
    ScalarContent,
    TextRun,
    UnreadableItem,
)
from tfnb.notebook.viewer.media import array_of, audio_item, image_item, tensor_item, text_item
from tfnb.notebook.viewer.summary_value import SummaryValue
from tfnb.summary.item import Item, LoadedEvent
from tfnb.summary.reader import Run, Series, compact
from tfnb.summary.sampling import thinned

__all__ = ["ITEM_MAKERS", "ItemKind", "buckets", "content_of", "percentiles", "rebinned", "scalars_of"]

ItemKind = Literal["histogram", "image", "audio", "text", "tensor"]
Message = TypeVar("Message")
Made = TypeVar("Made", covariant=True)
LEVELS = (0.0, 0.067, 0.159, 0.309, 0.5, 0.691, 0.841, 0.933, 1.0)
BINS = 40
MOST_STEPS: dict[ItemKind, int] = {"histogram": 40, "image": 12, "audio": 6, "text": 20, "tensor": 20}
MOST_RUNS = 4  # the number of runs whose pictures and texts are shown side by side
MOST_BUCKETS = 10_000

_NO_EVENT = LoadedEvent()


class _Maker(Protocol[Made]):
    """A function from an item to its message. `event` may hold the event of the item already."""

    def __call__(self, item: Item, event: LoadedEvent | None = None) -> Made: ...


Shown = Sequence[tuple[int, Run]]  # a run and its number in the catalogue


def scalars_of(tag: str, shown: Shown, most: int) -> ScalarContent:
    """Returns the curves of a tag, each of at most `most` points; `total` is the number of points before
    downsampling. All values go along, so that a smoothed curve does not depend on how many of its points are drawn.
    """
    curves = [
        _curve(number, series, most)
        for number, run in shown
        if (series := run.scalars.get(tag)) is not None and len(series)
    ]
    return {"kind": "scalar", "tag": tag, "curves": curves}


def _curve(run: int, series: Series, most: int) -> CurveData:
    step, wall, value = series.step, series.wall_time, series.value
    kept, every = series.kept, series.every
    if len(value) > most:
        indices = thinned(value, most)
        kept, step, wall, value = kept[indices], step[indices], wall[indices], value[indices]
    all_are_drawn = len(every) == len(value)
    return {
        "run": run,
        "total": series.total,
        "step": step.astype(np.float64).tobytes(),
        "wall": wall.tobytes(),
        "value": value.tobytes(),
        "kept": b"" if all_are_drawn else kept.astype(np.float64).tobytes(),
        "every": b"" if all_are_drawn else compact(every).tobytes(),
    }


def content_of(kind: ItemKind, tag: str, shown: Shown, event: LoadedEvent | None = None) -> Content:
    """Returns the items of a tag of any kind but scalars: some steps of the first few runs that have it.

    event: the one that is shared with other tags, so that it is parsed once.
    """
    event = LoadedEvent() if event is None else event
    available = [(n, r) for n, r in shown if any(i.kind == kind for i in r.items.get(tag, ()))]
    selected = [(n, *_chosen(kind, tag, r)) for n, r in available[:MOST_RUNS]]
    left_out = len(available) - len(selected)
    if kind == "histogram":
        runs = [_histograms(n, total, [_histogram(i, event) for i in items]) for n, total, items in selected]
        return {"kind": kind, "tag": tag, "left_out": left_out, "runs": runs}
    if kind == "image":
        images: list[ImageRun] = [
            {"run": n, "total": t, "items": [_image(i, event) for i in items]} for n, t, items in selected
        ]
        return {"kind": kind, "tag": tag, "left_out": left_out, "runs": images}
    if kind == "audio":
        audio_runs: list[AudioRun] = [
            {"run": n, "total": t, "items": [_audio(i, event) for i in items]} for n, t, items in selected
        ]
        return {"kind": kind, "tag": tag, "left_out": left_out, "runs": audio_runs}
    make = _text if kind == "text" else _tensor
    texts: list[TextRun] = [
        {"run": n, "total": t, "items": [make(i, event) for i in items]} for n, t, items in selected
    ]
    if kind == "text":
        return {"kind": kind, "tag": tag, "left_out": left_out, "runs": texts}
    return {"kind": kind, "tag": tag, "left_out": left_out, "runs": texts}


def _chosen(kind: ItemKind, tag: str, run: Run) -> tuple[int, list[Item]]:
    """Returns the number of items of a kind that a run has had, and a few evenly chosen items, which are sent."""
    items = [i for i in run.items[tag] if i.kind == kind]
    total, max_steps = max(run.seen.get(tag, 0), len(items)), MOST_STEPS[kind]
    if len(items) > max_steps:
        items = [items[i] for i in np.linspace(0, len(items) - 1, max_steps).astype(int)]
    return total, items


def _guarded(make: Callable[[SummaryValue, ItemTime], Message], kept: int = 512) -> _Maker[Message | UnreadableItem]:
    """Returns a function from an item to its message, which caches the latest `kept` messages.

    An error in the data of the item becomes the note of its message.
    """

    @remembered("contents of summaries", kept)
    def message(key: _Key) -> Message | UnreadableItem:
        time: ItemTime = {"step": key.item.step, "wall": key.item.wall_time}
        try:
            return make(key.event.value(key.item), time)
        except Exception as fault:  # decoders of pictures and sounds raise errors of many kinds
            return {**time, "note": f"cannot be shown: {fault}"[:300]}

    def message_of(item: Item, event: LoadedEvent | None = None) -> Message | UnreadableItem:
        key = _Key(item, LoadedEvent() if event is None else event)
        try:
            return message(key)
        finally:
            key.event = _NO_EVENT  # the cache keeps the key, but not the event

    return message_of


class _Key:
    """An item, identified by its position in its file, so that no item is decoded twice; `event` reads it."""

    def __init__(self, item: Item, event: LoadedEvent) -> None:
        self.item, self.event = item, event
        self._place = (item.path, item.offset, item.tag, item.step, item.wall_time)

    def __hash__(self) -> int:
        return hash(self._place)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self._place == other._place


# ---- histograms ----------------------------------------------------------------------------------


def buckets(value: SummaryValue) -> tuple[np.ndarray, np.ndarray]:
    """Returns the buckets of a histogram of TensorFlow 1 or 2: (n + 1 edges, n counts), float64 arrays.

    Raises `ValueError` if the histogram is empty or has numbers that are not finite.
    """
    if value.HasField("histo"):
        histo = value.histo
        right, count = np.array(histo.bucket_limit), np.array(histo.bucket)
        if not len(right) or len(right) != len(count):
            raise ValueError("a histogram without buckets")
        left_edges = np.concatenate([[min(histo.min, right[0])], right[:-1]])
        edges = np.clip(np.append(left_edges, right[-1]), histo.min, histo.max)
    else:
        rows = array_of(value.tensor, 3 * MOST_BUCKETS).astype(np.float64)
        if rows.ndim != 2 or rows.shape[1] != 3 or not len(rows):
            raise ValueError(f"a histogram needs rows of 3 numbers, got shape {rows.shape}")
        edges, count = np.append(rows[:, 0], rows[-1, 1]), rows[:, 2]
    if not (np.isfinite(edges).all() and np.isfinite(count).all() and (count >= 0).all()):
        raise ValueError("a histogram with numbers that are not finite")
    return np.maximum.accumulate(edges), count


def percentiles(edges: np.ndarray, count: np.ndarray, levels: Sequence[float]) -> np.ndarray:
    """Returns the values below which the fractions `levels` of all values lie, if values are uniform inside a
    bucket.
    """
    cumulative = np.concatenate([[0.0], np.cumsum(count)])
    if not cumulative[-1]:
        return np.full(len(levels), np.nan)
    nonempty = np.flatnonzero(count)
    first, last = nonempty[0], nonempty[-1] + 1
    inner, at = cumulative[first : last + 1], edges[first : last + 1]
    return np.asarray(np.interp(np.array(levels) * cumulative[-1], inner, at))


def rebinned(edges: np.ndarray, count: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Returns the counts in buckets with the edges `wanted`; their sum is unchanged if `wanted` spans all values."""
    cumulative = np.concatenate([[0.0], np.cumsum(count)])
    # A bucket of width 0 makes a jump in `cumulative`. `interp` uses the last of equal edges, its upper end.
    return np.diff(np.interp(wanted, edges, cumulative, left=0.0, right=cumulative[-1]))


@dataclass(frozen=True)
class _Histogram:
    time: ItemTime
    edges: np.ndarray
    count: np.ndarray
    levels: np.ndarray


def _histogram_of(value: SummaryValue, time: ItemTime) -> _Histogram:
    edges, count = buckets(value)
    return _Histogram(time, edges, count, percentiles(edges, count, LEVELS))


def _histograms(run: int, total: int, histograms: Sequence[_Histogram | UnreadableItem]) -> HistogramRun:
    """Returns the histograms of a run by step: percentiles, and counts in common buckets."""
    valid_histograms = [h for h in histograms if isinstance(h, _Histogram)]
    low = min((float(h.edges[0]) for h in valid_histograms), default=0.0)
    high = max((float(h.edges[-1]) for h in valid_histograms), default=1.0)
    if not high > low:
        low, high = low - 0.5, high + 0.5
    bin_edges = np.linspace(low, high, BINS + 1)
    return {
        "run": run,
        "total": total,
        "steps": _bytes([h.time["step"] for h in valid_histograms]),
        "walls": _bytes([h.time["wall"] for h in valid_histograms]),
        "levels": _bytes([h.levels for h in valid_histograms]),
        "ridges": _bytes([rebinned(h.edges, h.count, bin_edges) for h in valid_histograms]),
        "low": low,
        "high": high,
        "notes": [h["note"] for h in histograms if not isinstance(h, _Histogram)][:3],
    }


def _bytes(rows: Sequence[Any]) -> bytes:
    return np.array(rows, np.float64).tobytes()


_histogram = _guarded(_histogram_of)
_image, _text, _tensor = _guarded(image_item), _guarded(text_item), _guarded(tensor_item)
_audio = _guarded(audio_item, 32)
ITEM_MAKERS: dict[ItemKind, _Maker[Any]] = {
    "histogram": _histogram,
    "image": _image,
    "audio": _audio,
    "text": _text,
    "tensor": _tensor,
}
