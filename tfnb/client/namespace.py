"""The public namespace: dotted names become modules with attributes (`tf.nn.relu`, `tf.train.AdamOptimizer`).

Invariant: `from tfnb.nn import relu` and `tf.nn.relu` are the same object.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

__all__ = ["lay_out"]


def lay_out(root: ModuleType, api: Mapping[str, Any]) -> None:
    """Sets every dotted name of `api` below `root`, making namespace modules on the way."""
    for name, value in api.items():
        *path, last = name.split(".")
        place = root
        for part in path:
            place = _child(place, part)
        setattr(place, last, value)


def _child(parent: ModuleType, name: str) -> ModuleType:
    found = parent.__dict__.get(name)
    if isinstance(found, ModuleType):
        return found
    full = f"{parent.__name__}.{name}"
    made = ModuleType(full, f"The public names of `tf.{full.partition('.')[2]}`.")
    sys.modules.setdefault(full, made)
    setattr(parent, name, made)
    return made
