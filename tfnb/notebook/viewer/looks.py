"""What the browser must know of charts before it has any: colours, dashes, the version of BokehJS.

Invariant: needs no bokeh, so that a view can appear before that is imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfnb.notebook.bokeh_library import BOKEH_VERSION
from tfnb.notebook.series import COLOURS

__all__ = ["looks"]

DASHES = ("solid", "dashed", "dotted", "dotdash")


def looks(charts: Mapping[str, Any]) -> dict[str, Any]:
    """With the templates of some charts, by their names."""
    return {"version": BOKEH_VERSION, "colours": COLOURS, "dashes": DASHES, "charts": dict(charts)}
