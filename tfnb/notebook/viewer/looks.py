"""How charts look: colours, dashes, the version of BokehJS, and the templates, which are made when they are asked for.

Invariant: nothing here needs bokeh until the first template, so that a view appears before that is imported.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from tfnb.notebook.bokeh_library import BOKEH_VERSION
from tfnb.notebook.series import COLOURS

__all__ = ["all_looks", "chart", "looks"]

DASHES = ("solid", "dashed", "dotted", "dotdash")


def looks(charts: Mapping[str, Any]) -> dict[str, Any]:
    """What the browser must know, with the templates of some charts by their names."""
    return {"version": BOKEH_VERSION, "colours": COLOURS, "dashes": DASHES, "charts": dict(charts)}


def chart(name: str) -> dict[str, Any] | None:
    """The template of a chart; None if there is none of that name."""
    made = importlib.import_module("tfnb.notebook.viewer.templates")
    return made.template(name) if name in made.CHARTS else None


def all_looks() -> dict[str, Any]:
    """With all templates."""
    made = importlib.import_module("tfnb.notebook.viewer.templates")
    return looks({name: made.template(name) for name in made.CHARTS})
