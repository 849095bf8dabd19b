"""The public names of the core, each definition once, under the name by which it is documented.

A definition has several names where TensorFlow renamed or moved it (`tf.neg`, `tf.negative`, `tf.math.negative`). The
first of them is the one of the least depth, of those the one whose last part stands in most
places, of those one that is not of `tf.math`, which repeats the names of others, of those the first of the table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import tfnb as tf
from tfnb.client.namespace import entries
from tfnb.ir.opdef import OpDef
from tfnb.notebook.builder.signatures import opdef_of

__all__ = ["ROOT", "Definition", "definitions", "names_of_v1", "value_of"]

ROOT = Path(__file__).resolve().parents[2]
# Places that only programs of the time name; `raw_ops` is documented op by op in docs/ops.md.
OLD_PLACES = ("compat", "contrib", "examples", "models", "python", "raw_ops", "user_ops")


class Definition(NamedTuple):
    """What users reach under one or more names. `name` is dotted and without `tf.`, `others` are the further names."""

    name: str
    others: tuple[str, ...]
    value: Any
    op: OpDef | None

    @property
    def place(self) -> str:
        """The dotted place of its first name, "" for `tf` itself."""
        return self.name.rpartition(".")[0]


def value_of(path: str) -> Any:
    """Returns what `tf.` has under a dotted path."""
    value: Any = tf
    for part in path.split("."):
        value = getattr(value, part)
    return value


@cache
def definitions() -> tuple[Definition, ...]:
    """Returns the functions and classes of the core that have a name outside the places of old programs, in the table's
    order."""
    paths = _paths((ROOT / "tfnb" / "public_names.txt").read_text(encoding="utf-8"))
    found: dict[Hashable, tuple[Any, OpDef | None, list[str]]] = {}
    for path in (p for p in paths if p.split(".")[0] not in OLD_PLACES):
        value = value_of(path)
        if callable(value):
            op = opdef_of(value)
            key = id(value) if op is None else op.name
            found.setdefault(key, (value, op, []))[2].append(path)
    places = Counter(path.rpartition(".")[2] for _, _, names in found.values() for path in names)
    result = []
    for value, op, names in found.values():
        first = min(
            names,
            key=lambda p: (p.count("."), -places[p.rpartition(".")[2]], p.startswith("math."), names.index(p)),
        )
        result.append(Definition(first, tuple(n for n in names if n != first), value, op))
    return tuple(result)


def names_of_v1() -> dict[str, list[str]]:
    """Returns the dotted names of programs' second house, `tfnb/v1`, by the first part of each."""
    families: dict[str, list[str]] = {}
    for path in _paths((ROOT / "tfnb" / "v1" / "names" / "public_names.txt").read_text(encoding="utf-8")):
        if "." in path:
            families.setdefault(path.split(".")[0], []).append(path)
    return {family: sorted(names) for family, names in sorted(families.items())}


def _paths(table: str) -> Iterable[str]:
    return dict.fromkeys(f"{place}.{name}" if place else name for place, name, _, _ in entries(table))
