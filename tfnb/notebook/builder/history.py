"""The steps of a document that can be undone and done again.

Invariant: after an undo, a redo brings back what there was before it, until a new step is taken.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["History", "Snapshot"]

_MOST_STEPS = 1000


@dataclass(frozen=True)
class Snapshot:
    """What undo brings back."""

    source: str
    positions: dict[str, list[float]]


class History:
    """The snapshots before and after the present one, which the document has itself."""

    def __init__(self) -> None:
        self._past: list[Snapshot] = []
        self._future: list[Snapshot] = []

    @property
    def can_undo(self) -> bool:
        return bool(self._past)

    @property
    def can_redo(self) -> bool:
        return bool(self._future)

    def record(self, before: Snapshot) -> None:
        """Adds a step, which began with `before`; what was undone can then not be done again."""
        self._past.append(before)
        del self._past[:-_MOST_STEPS]
        self._future.clear()

    def undo(self, present: Snapshot) -> Snapshot | None:
        """Returns what there was before the last step, or None if there is no step."""
        return _moved(self._past, self._future, present)

    def redo(self, present: Snapshot) -> Snapshot | None:
        """Returns what there was before the last undo, or None if there is none."""
        return _moved(self._future, self._past, present)


def _moved(back: list[Snapshot], forth: list[Snapshot], present: Snapshot) -> Snapshot | None:
    if not back:
        return None
    forth.append(present)
    return back.pop()
