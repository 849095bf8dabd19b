"""What of a tag is sent to the browser: thinned points, histograms as bands and ridges, some steps of all else.

Numbers travel as binary arrays. Invariant: whatever a file holds, what is sent is bounded, and bad data becomes a note
instead of an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfnb.caches import remembered
from tfnb.notebook.viewer.media import MAKERS, Content, array_of
from tfnb.summary.reader import Item, Run, Series
from tfnb.summary.sampling import thinned

__all__ = ["KINDS", "Content", "buckets", "content_of", "percentiles", "rebinned", "scalars_of"]

KINDS = ("scalar", "histogram", "image", "audio", "text", "tensor")
LEVELS = (0.0, 0.067, 0.159, 0.309, 0.5, 0.691, 0.841, 0.933, 1.0)
BINS = 40
MOST_STEPS = {"histogram": 40, "image": 12, "audio": 6, "text": 20, "tensor": 20}
MOST_RUNS = 4  # of pictures and texts side by side
MOST_BUCKETS = 10_000

Shown = Sequence[tuple[int, Run]]  # a run and its number in the catalogue


def scalars_of(tag: str, shown: Shown, most: int) -> Content:
    """The curves of a tag, each of at most `most` points; `total` is how many there were."""
    curves = []
    for number, run in shown:
        series = run.scalars.get(tag)
        if series is not None and len(series):
            curves.append({"run": number, "total": series.total, **_columns(series, most)})
    return {"kind": "scalar", "tag": tag, "curves": curves}


def _columns(series: Series, most: int) -> dict[str, bytes]:
    step, wall, value = series.step, series.wall_time, series.value
    if len(value) > most:
        chosen = thinned(value, most)
        step, wall, value = step[chosen], wall[chosen], value[chosen]
    return {
        "step": step.astype(np.float64).tobytes(),
        "wall": wall.tobytes(),
        "value": value.tobytes(),
    }


def content_of(kind: str, tag: str, shown: Shown) -> Content:
    """The items of a tag that is no scalar: some steps of the first few runs that have it."""
    having = [(n, r) for n, r in shown if any(i.kind == kind for i in r.items.get(tag, ()))]
    runs = []
    for number, run in having[:MOST_RUNS]:
        items = [i for i in run.items[tag] if i.kind == kind]
        most = MOST_STEPS[kind]
        if len(items) > most:
            chosen = np.linspace(0, len(items) - 1, most).astype(int)
            kept = [items[i] for i in chosen]
        else:
            kept = items
        found = [_MAKERS[kind](item) for item in kept]
        made = _ridges(found) if kind == "histogram" else {"items": found}
        runs.append({"run": number, "total": max(run.seen.get(tag, 0), len(items)), **made})
    return {"kind": kind, "tag": tag, "runs": runs, "left_out": len(having) - len(runs)}


def _guarded(make: Callable[[Any], Content], kept: int = 512) -> Callable[[Item], Content]:
    """The content of an item, made once (the latest `kept` are); a fault in its data becomes its note."""

    @remembered("contents of summaries", kept)
    def made(item: _Key) -> Content:
        told = {"step": item.item.step, "wall": item.item.wall_time}
        try:
            return {**told, **make(item.item.value())}
        except Exception as fault:  # decoders of pictures and sounds raise errors of many kinds
            return {**told, "note": f"cannot be shown: {fault}"[:300]}

    return lambda item: made(_Key(item))


class _Key:
    """An item by where it stands: the same place is never decoded twice."""

    def __init__(self, item: Item) -> None:
        self.item = item
        self._place = (item.path, item.offset, item.tag, item.step, item.wall_time)

    def __hash__(self) -> int:
        return hash(self._place)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self._place == other._place


# ---- histograms ----------------------------------------------------------------------------------


def buckets(value: Any) -> tuple[np.ndarray, np.ndarray]:
    """(edges of n + 1 numbers, n counts) of a histogram, TensorFlow 1's or 2's. Raises `ValueError`."""
    if value.HasField("histo"):
        histo = value.histo
        right, count = np.array(histo.bucket_limit), np.array(histo.bucket)
        if not len(right) or len(right) != len(count):
            raise ValueError("a histogram without buckets")
        left = np.concatenate([[min(histo.min, right[0])], right[:-1]])
        edges = np.clip(np.append(left, right[-1]), histo.min, histo.max)
    else:
        rows = array_of(value.tensor, 3 * MOST_BUCKETS).astype(np.float64)
        if rows.ndim != 2 or rows.shape[1] != 3 or not len(rows):
            raise ValueError(f"a histogram needs rows of 3 numbers, got shape {rows.shape}")
        edges, count = np.append(rows[:, 0], rows[-1, 1]), rows[:, 2]
    if not (np.isfinite(edges).all() and np.isfinite(count).all() and (count >= 0).all()):
        raise ValueError("a histogram with numbers that are not finite")
    return np.maximum.accumulate(edges), count


def percentiles(edges: np.ndarray, count: np.ndarray, levels: Sequence[float]) -> np.ndarray:
    """Where the given parts of all values lie below, the values spread evenly in their buckets."""
    below = np.concatenate([[0.0], np.cumsum(count)])
    if not below[-1]:
        return np.full(len(levels), np.nan)
    filled = np.flatnonzero(count)
    first, last = filled[0], filled[-1] + 1
    inner, at = below[first : last + 1], edges[first : last + 1]
    return np.asarray(np.interp(np.array(levels) * below[-1], inner, at))


def rebinned(edges: np.ndarray, count: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The counts in other buckets; their sum is kept where `wanted` spans all values."""
    below = np.concatenate([[0.0], np.cumsum(count)])
    # A bucket without width holds a jump: `interp` then takes the last of equal places, which is right.
    return np.diff(np.interp(wanted, edges, below, left=0.0, right=below[-1]))


def _histogram(value: Any) -> Content:
    edges, count = buckets(value)
    return {"edges": edges, "count": count, "levels": percentiles(edges, count, LEVELS)}


def _ridges(found: list[Content]) -> Content:
    """Bands (percentiles by step) and ridges (counts in common buckets by step) of a run's histograms."""
    good = [h for h in found if "edges" in h]
    notes = [h["note"] for h in found if "note" in h]
    if not good:
        return {"steps": b"", "walls": b"", "levels": b"", "ridges": b"", "low": 0, "high": 1, "notes": notes[:3]}
    low, high = (min(h["edges"][0] for h in good), max(h["edges"][-1] for h in good))
    if not high > low:
        low, high = low - 0.5, high + 0.5
    wanted = np.linspace(low, high, BINS + 1)
    ridges = np.stack([rebinned(h["edges"], h["count"], wanted) for h in good])
    return {
        "steps": np.array([h["step"] for h in good], np.float64).tobytes(),
        "walls": np.array([h["wall"] for h in good]).tobytes(),
        "levels": np.stack([h["levels"] for h in good]).tobytes(),
        "ridges": ridges.tobytes(),
        "low": float(low),
        "high": float(high),
        "notes": notes[:3],
    }


_MAKERS: dict[str, Callable[[Item], Content]] = {
    "histogram": _guarded(_histogram),
    **{kind: _guarded(make, 32 if kind == "audio" else 512) for kind, make in MAKERS.items()},
}
