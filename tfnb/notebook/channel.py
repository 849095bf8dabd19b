"""The line from a view in a page to its kernel: a widget model, which the browser's side finds places for by a key.

Invariant: the kernel hears it while a cell runs too.
"""

from __future__ import annotations

from typing import Any

import anywidget
from traitlets import Unicode

__all__ = ["Channel"]


class Channel(anywidget.AnyWidget):
    """`key`: the name of the view's places in the page, and the id of the model.

    Most are never displayed themselves, so that a notebook without its kernel shows a picture and no fault.
    """

    key = Unicode().tag(sync=True)

    def __init__(self, key: str, **state: Any) -> None:
        super().__init__(key=key, model_id=key, **state)
        # JupyterLab sends the browser's messages to a subshell while a cell runs (JEP 91). Since 7.4 ipykernel moves
        # them to the shell that the widget has sent from, which is the one that is busy with the cell.
        if self.comm is not None:
            self.comm._reply_subshell_for = None
