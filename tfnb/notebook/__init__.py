"""Rich displays, live charts and progress bars for Jupyter; without a notebook they are text.

Everything works without a network, texts are shown as text, and a saved notebook keeps its pictures.
Invariant: nobody in the package imports this; `import tfnb` reaches it only at its lazy edge. Of its
own parts charts and graphs wait for their first use, since bokeh and widgets take half a second to import.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tfnb.notebook.progress import Progress, progress

if TYPE_CHECKING:
    from tfnb.notebook.charts.loss_plot import LossPlot
    from tfnb.notebook.graph.widget import show_graph
    from tfnb.notebook.traces.view import timeline

__all__ = ["LossPlot", "Progress", "progress", "show_graph", "timeline"]


def __getattr__(name: str) -> Any:
    if name == "LossPlot":
        return importlib.import_module("tfnb.notebook.charts.loss_plot").LossPlot
    if name == "timeline":
        return importlib.import_module("tfnb.notebook.traces.view").timeline
    if name == "show_graph":
        return importlib.import_module("tfnb.notebook.graph.widget").show_graph
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
