"""The channel between a view in a page and its kernel: a widget model with a key that marks the view's places in the
page.

Invariant: the kernel receives the browser's messages also while a cell runs, and a closed channel leaves no widget in
the kernel.
"""

from __future__ import annotations

import anywidget
from traitlets import Unicode

__all__ = ["Channel"]


class Channel(anywidget.AnyWidget):
    """`key`: the key of the view's places in the page, which is also the id of the model.

    The model itself is usually not displayed, so that a notebook without its kernel shows a picture and no error.
    """

    key = Unicode().tag(sync=True)

    def __init__(self, key: str, **state: object) -> None:
        super().__init__(key=key, model_id=key, **state)
        # JupyterLab sends the browser's messages to a subshell while a cell runs (JEP 91). Since version 7.4, ipykernel
        # moves them to the shell from which the widget has sent. That shell is busy with the cell.
        if self.comm is not None:
            self.comm._reply_subshell_for = None

    def close(self) -> None:
        """Closes the model, and the layout that every widget that can be displayed makes for itself."""
        layout = self.layout
        super().close()
        if layout is not None:
            layout.close()
