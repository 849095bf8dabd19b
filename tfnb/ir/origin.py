"""The origin of a node: the line of the user's code that made the node.

Invariant: the origin is the innermost line outside of the tfnb package.
"""

from __future__ import annotations

import os
import sys

from tfnb.errors import Origin

__all__ = ["user_origin"]

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_LIBRARY = (_PACKAGE, os.path.dirname(os.__file__) + os.sep + "contextlib.py")


_inside: set[str] = set()  # files of the library that have been met


def user_origin() -> Origin | None:
    """Returns the innermost caller outside tfnb, or None when there is none."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if name not in _inside:
            if not name.startswith(_LIBRARY):
                return Origin(name, frame.f_lineno, frame.f_code.co_name)
            _inside.add(name)
        frame = frame.f_back  # type: ignore[assignment]
    return None
