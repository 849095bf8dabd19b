"""The attributes of optimizers under which TensorFlow keeps their hyper-parameters.

Programs read them (`optimizer._lr`), change them before they minimize, and use the tensors (`self._lr_t`) in classes of
their own that extend an optimizer. Invariant: an attribute and the table of the optimizer have the same value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["named"]

_Class = TypeVar("_Class", bound=type)


class _Entry:
    """The entry `key` of the dictionary that the optimizer has as `table`; None while it has none."""

    def __init__(self, table: str, key: str) -> None:
        self._table, self._key = table, key

    def __get__(self, optimizer: object, kind: type) -> Any:
        return self if optimizer is None else getattr(optimizer, self._table).get(self._key)

    def __set__(self, optimizer: object, value: object) -> None:
        getattr(optimizer, self._table)[self._key] = value


def named(tensors: str, **names: str) -> Callable[[_Class], _Class]:
    """Returns a decorator that gives a class of optimizers the attributes of hyper-parameters: `name="attribute"`.

    Each stands for the value that the program gave; with `tensors` behind its name it is the tensor of the graph.
    """

    def attach(kind: _Class) -> _Class:
        for key, attribute in names.items():
            setattr(kind, attribute, _Entry("_values", key))
            setattr(kind, f"{attribute}{tensors}", _Entry("_tensors", key))
        return kind

    return attach
