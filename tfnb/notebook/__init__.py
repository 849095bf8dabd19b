"""Rich displays, live charts and progress bars for Jupyter; without a notebook they are text.

Everything works without a network, texts are shown as text, and a saved notebook keeps its pictures.
Invariant: nobody in the package imports this; `import tfnb` reaches it only at its lazy edge. Of its
own parts only the charts wait for their first use, since bokeh takes half a second to import.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tfnb.notebook.progress import Progress, progress

if TYPE_CHECKING:
    from tfnb.notebook.loss_plot import LossPlot

__all__ = ["LossPlot", "Progress", "progress"]


def __getattr__(name: str) -> Any:
    if name == "LossPlot":
        return importlib.import_module("tfnb.notebook.loss_plot").LossPlot
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
