"""What an event file holds besides scalars: a position of each content, which is read when it is shown.

Invariant: several contents of one event, which may hold very many, are read with one parse of it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tfnb.errors import NotFoundError
from tfnb.ir.graphdef.message import as_message
from tfnb.system.files import os_errors

__all__ = ["Item", "LoadedEvent"]


class Item(NamedTuple):
    """A content of an event file that is not a scalar: its kind and its position.

    kind: image, histogram, audio, tensor, text, graph, meta_graph, run_metadata, session_log, message, ... data: the
    serialized event if it came from `LogReader.feed`; otherwise `load` reads it from the file.
    """

    tag: str
    kind: str
    step: int
    wall_time: float
    path: str
    offset: int
    length: int
    data: bytes | None = None

    def load(self) -> Any:
        """Returns the Event message that contains the item. Raises `NotFoundError` or another `OpError` when the file
        cannot be read.
        """
        if self.data is not None:
            return as_message("event", "Event", self.data)
        with os_errors(self.path), open(self.path, "rb") as file:
            file.seek(self.offset)
            return as_message("event", "Event", file.read(self.length))

    def value(self) -> Any:
        """Returns the Summary.Value of the item. Raises `NotFoundError` when the event has no such tag."""
        return LoadedEvent().value(self)


class LoadedEvent:
    """The event of the item that was read last, with its values by tag."""

    def __init__(self) -> None:
        self._place: tuple[object, ...] | None = None
        self._values: dict[str, Any] = {}

    def value(self, item: Item) -> Any:
        """Returns the Summary.Value of an item. Raises the errors of `Item.value`."""
        place = item.path, item.offset, item.length, item.data
        if place != self._place:
            self._place, self._values = None, {}
            for value in item.load().summary.value:
                self._values.setdefault(value.tag or value.node_name, value)
            self._place = place
        if item.tag not in self._values:
            raise NotFoundError(f"{item.path} holds no {item.tag} at byte {item.offset}")
        return self._values[item.tag]
