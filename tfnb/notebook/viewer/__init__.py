"""`tf.view`: everything a training wrote down, seen live in the notebook (white paper, section 9).

The kernel reads and thins out; the browser draws, smooths and compares, so its controls work while a cell runs.
Invariant: what comes from files is data; texts are shown as text, and nothing is loaded from elsewhere.
"""

from __future__ import annotations

from tfnb.notebook.viewer.view import View, view

__all__ = ["View", "view"]
