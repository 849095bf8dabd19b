"""Rich displays, live charts and progress bars for Jupyter; outside of a notebook they are text.

Everything works without a network, names and texts from graphs and files are shown as text and never as markup, and a
saved notebook keeps its pictures. Invariant: no other part of the package imports this one, but that `tfnb doctor`
looks whether its files are there; `import tfnb` loads it only on first use. Charts and graphs are loaded on their own
first use, since bokeh and widgets take half a second to import.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tfnb.notebook.progress import Progress, progress

if TYPE_CHECKING:
    from tfnb.notebook.charts.loss_plot import LossPlot
    from tfnb.notebook.graph.widget import show_graph
    from tfnb.notebook.magics import register as register_magics
    from tfnb.notebook.traces.view import timeline

__all__ = ["LossPlot", "Progress", "progress", "register_magics", "show_graph", "timeline"]


def __getattr__(name: str) -> Any:
    if name == "LossPlot":
        return importlib.import_module("tfnb.notebook.charts.loss_plot").LossPlot
    if name == "timeline":
        return importlib.import_module("tfnb.notebook.traces.view").timeline
    if name == "show_graph":
        return importlib.import_module("tfnb.notebook.graph.widget").show_graph
    if name == "register_magics":
        return importlib.import_module("tfnb.notebook.magics").register
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
