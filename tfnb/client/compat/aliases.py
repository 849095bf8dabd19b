"""Public names that stand in several places of TensorFlow's API and mean the same in each.

Each line of a table maps a place to another one that has the values: all of the names listed, or `new=old` where the
names differ. Invariant: an original is never an alias itself, and no alias is defined elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["ALIASES"]

# place <- place of the originals: names
_TABLE = """

"""


def _parsed(table: str) -> dict[str, str]:
    """Returns the originals by alias."""
    result = {}
    for line in filter(None, map(str.strip, table.splitlines())):
        places, _, names = line.partition(":")
        place, _, source = (part.strip() for part in places.partition("<-"))
        for name in names.split():
            alias, _, original = name.partition("=")
            prefix = f"{place}." if place != "tf" else ""
            origin = f"{source}." if source != "tf" else ""
            result[prefix + alias] = origin + (original or alias)
    return result


ALIASES: Mapping[str, str] = _parsed(_TABLE)
