"""The checkpoints with the best values of a metric, which a file in their folder lists.

Invariant: the file is replaced as a whole, before any checkpoint that it no longer lists is removed.
"""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

from tfnb.errors import DataLossError, InvalidArgumentError
from tfnb.ops.checkpoint.index import read_bounded
from tfnb.ops.checkpoint.tensorflow_v2 import is_checkpoint
from tfnb.system.files import replace_file

__all__ = ["API", "BestCheckpoints", "best_checkpoint"]

_FILE = "best_checkpoints.json"
_MAX_BYTES = 1 << 20


class BestCheckpoints:
    """The best `count` checkpoints, the best one first; `mode` is "max" if a larger metric is better, else "min"."""

    def __init__(self, count: int, mode: str) -> None:
        self._count, self._sign = count, 1.0 if mode == "max" else -1.0
        self._ranking: list[tuple[float, str]] = []
        self._dropped: list[str] = []

    @property
    def best(self) -> str | None:
        """The prefix of the best checkpoint, or None."""
        return self._ranking[0][1] if self._ranking else None

    def keeps(self, prefix: str) -> bool:
        """Returns whether the checkpoint `prefix` is among the best."""
        return any(p == prefix for _, p in self._ranking)

    def add(self, folder: str, prefix: str, metric: float) -> None:
        """Adds a checkpoint with its metric and writes the file. Raises `InvalidArgumentError` for NaN."""
        if math.isnan(metric):
            raise InvalidArgumentError(f"the metric of {prefix} is NaN")
        rest = [x for x in self._ranking if x[1] != prefix]
        ranking = sorted([*rest, (metric, prefix)], key=lambda x: -self._sign * x[0])
        self._ranking, surplus = ranking[: self._count], ranking[self._count :]
        self._dropped += [p for _, p in surplus if p != prefix]
        entries = [{"path": os.path.basename(p), "metric": m} for m, p in self._ranking]
        text = json.dumps({"checkpoints": entries}, indent=1) + "\n"
        replace_file(os.path.join(folder, _FILE), lambda p: _write(p, text))

    def drop(self) -> list[str]:
        """Returns the checkpoints that ceased to be among the best since the previous call."""
        candidates, self._dropped = self._dropped, []
        return [p for p in candidates if not self.keeps(p)]

    def recover(self, folder: str) -> None:
        """Takes over the checkpoints that the file of an earlier run lists, as far as they exist."""
        self._ranking = [(m, p) for m, p in _read(folder) if is_checkpoint(p)][: self._count]


def _write(path: str, text: str) -> None:
    Path(path).write_text(text, encoding="utf-8")


def _read(folder: str) -> list[tuple[float, str]]:
    """Returns the metric and the prefix of each checkpoint that the file lists. Raises `DataLossError` when it is
    damaged.
    """
    path = os.path.join(folder, _FILE)
    if not os.path.exists(path):
        return []
    try:
        content = json.loads(read_bounded(path, _MAX_BYTES, "a list of the best checkpoints"), parse_int=float)
    except (ValueError, RecursionError) as e:
        raise DataLossError(f"{path} is damaged: {e!r}") from None
    checkpoints = []
    match content:
        case {"checkpoints": [*members]}:
            for member in members:
                match member:
                    case {"path": str(name), "metric": float() as metric} if name == os.path.basename(name):
                        checkpoints.append((metric, os.path.join(folder, name)))
                    case _:
                        raise DataLossError(f"{path} is damaged: {str(member)[:200]} is no path and metric")
        case _:
            raise DataLossError(f"{path} is damaged: it has no list of checkpoints")
    return checkpoints


def best_checkpoint(checkpoint_dir: str) -> str | None:
    """Returns the prefix of the best checkpoint in a folder (see `Saver(keep_best=...)`), or None."""
    for _, path in _read(os.fsdecode(checkpoint_dir)):
        if is_checkpoint(path):
            return path
    return None


API: dict[str, Any] = {"train.best_checkpoint": best_checkpoint}
