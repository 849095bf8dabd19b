"""Collections: named lists of a graph, and the tensors and operations that may not be fed or fetched.

Invariant: a collection is created by its first member; `get_collection` gives a copy, `_ref` the list itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor

__all__ = ["Collections"]


class Collections:
    """The part of a graph that holds objects in named lists."""

    def __init__(self) -> None:
        self.collection_members: dict[str, list[Any]] = {}
        self._unfeedable: set[Any] = set()
        self._unfetchable: set[Any] = set()

    @property
    def collections(self) -> list[str]:
        """The names of all collections."""
        return self.get_all_collection_keys()

    def add_to_collection(self, name: str, value: object) -> None:
        """Appends `value` to the collection `name`."""
        self.collection_members.setdefault(name, []).append(value)

    def add_to_collections(self, names: Iterable[str] | str, value: object) -> None:
        """Appends `value` once to each of the collections `names`; a single name may be given as a text."""
        for name in (names,) if isinstance(names, str) else dict.fromkeys(names):
            self.add_to_collection(name, value)

    def get_collection_ref(self, name: str) -> list[Any]:
        """Returns the list of a collection itself, so that changes of the list stay; a missing one is created empty."""
        return self.collection_members.setdefault(name, [])

    def get_collection(self, name: str, scope: str | None = None) -> list[Any]:
        """Returns a copy of a collection; it is empty if there is no such collection.

        With `scope`, a regular expression, it has only the members whose names match the expression at their start.
        """
        items = self.collection_members.get(name, [])
        if not scope:
            return list(items)
        pattern = re.compile(scope)
        return [x for x in items if hasattr(x, "name") and pattern.match(x.name)]

    def get_all_collection_keys(self) -> list[str]:
        """Returns the names of all collections."""
        return [k for k in self.collection_members if isinstance(k, str)]

    def clear_collection(self, name: str) -> None:
        """Removes a collection, if there is one of this name."""
        self.collection_members.pop(name, None)

    def prevent_feeding(self, tensor: Tensor) -> None:
        """Makes every `feed_dict` with this tensor an error."""
        self._unfeedable.add(tensor)

    def is_feedable(self, tensor: Tensor) -> bool:
        """Returns whether a step may feed the tensor."""
        return tensor not in self._unfeedable

    def prevent_fetching(self, op: Operation) -> None:
        """Makes every fetch of this operation, or of its outputs, an error."""
        self._unfetchable.add(op)

    def is_fetchable(self, tensor_or_op: Tensor | Operation) -> bool:
        """Returns whether a step may fetch the tensor or operation."""
        return getattr(tensor_or_op, "op", tensor_or_op) not in self._unfetchable
