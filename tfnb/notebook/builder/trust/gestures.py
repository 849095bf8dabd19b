"""Whether a gesture keeps code trusted: a rename inside of a loop that the user has run leaves a loop to be run.

Invariant: a gesture whose texts hold more than expressions that anybody may write makes nothing trusted.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tfnb.notebook.builder.safety import WITHOUT_TRUST

__all__ = ["adds_no_code"]

_WORDS = re.compile(r"[\w .,:#%/?!'-]*\Z")  # of titles and notes, which are no Python


def adds_no_code(gesture: Mapping[str, Any]) -> bool:
    """Returns whether the edits of a gesture bring no code but expressions, as of arguments that were typed."""
    edits = gesture["edits"]
    if any(edit["edit"] == "source" for edit in edits):
        return False
    return all(_is_plain(text) for text in _texts(edits))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from _texts(key)
            yield from _texts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)


def _is_plain(text: str) -> bool:
    if _WORDS.match(text):
        return True
    try:
        tree = ast.parse(text.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return all(isinstance(part, (*WITHOUT_TRUST, ast.Module)) for part in ast.walk(tree))
