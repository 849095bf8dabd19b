"""`tf.view`: the summaries that a training writes, shown live in the notebook (white paper, section 9).

The kernel reads and downsamples; the browser draws, smooths and compares, so its controls work while a cell runs.
Invariant: the content of files is treated as data: texts are shown as text, and nothing is loaded from elsewhere.
"""

from __future__ import annotations

from tfnb.notebook.viewer.view import View, view

__all__ = ["View", "view"]
