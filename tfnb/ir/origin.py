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


def user_origin() -> Origin | None:
    """Returns the innermost caller outside tfnb, or None when there is none."""
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(_LIBRARY):
            return Origin(code.co_filename, frame.f_lineno, code.co_name)
        frame = frame.f_back  # type: ignore[assignment]
    return None
