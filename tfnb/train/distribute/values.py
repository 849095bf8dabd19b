"""Values that differ between replicas, and how structures of arguments and results are divided and joined.

Invariant: what is one and the same object in all replicas, as a shared variable, stays that object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["PerReplica", "joined", "of_replica", "parts"]


class PerReplica:
    """A value for each replica."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = tuple(values)

    def get(self, replica: int = 0) -> Any:
        """Returns the value of a replica."""
        return self.values[replica]

    def __repr__(self) -> str:
        return f"PerReplica({list(self.values)})"


def _mapped(function: Callable[[Any], Any], value: object) -> Any:
    if isinstance(value, Mapping):
        return {key: _mapped(function, part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        made = [_mapped(function, part) for part in value]
        if isinstance(value, list):
            return made
        return type(value)(*made) if hasattr(value, "_fields") else tuple(made)
    return function(value)


def of_replica(structure: object, replica: int) -> Any:
    """Returns a structure with the values of one replica in it."""
    return _mapped(lambda v: v.values[replica] if isinstance(v, PerReplica) else v, structure)


def joined(structures: Sequence[Any]) -> Any:
    """Returns the structures of all replicas as one, whose leaves are `PerReplica` where they differ."""
    first = structures[0]
    if isinstance(first, Mapping):
        return {key: joined([s[key] for s in structures]) for key in first}
    if isinstance(first, (list, tuple)):
        made = [joined(list(column)) for column in zip(*structures, strict=True)]
        if isinstance(first, list):
            return made
        return type(first)(*made) if hasattr(first, "_fields") else tuple(made)
    if all(s is first for s in structures):
        return first
    return PerReplica(structures)


def parts(value: object) -> tuple[Any, ...]:
    """Returns the values of all replicas, or the one value."""
    return value.values if isinstance(value, PerReplica) else (value,)
