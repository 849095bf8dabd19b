"""How charts look: colours, dashes, the version of BokehJS, and the charts' templates.

bokeh makes a template once on a machine and for a version; then it comes from the user's cache, since to import bokeh
takes half a second and 23 MB of a kernel. Invariant: nothing here needs bokeh until a template is asked for that the
cache has not, made by the same source.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tfnb.caches import remembered
from tfnb.disk_cache import DiskCache
from tfnb.notebook.bokeh_library import BOKEH_VERSION
from tfnb.notebook.series import COLOURS
from tfnb.settings import load_settings

__all__ = ["CHARTS", "all_looks", "chart", "looks"]

CHARTS = (
    *(f"{axis}-{scale}" for axis in ("step", "logstep", "relative", "wall") for scale in ("linear", "log")),
    *("bands", "ridges", "overlay"),
)

DASHES = ("solid", "dashed", "dotted", "dotdash")


def looks(charts: Mapping[str, Any]) -> dict[str, Any]:
    """What the browser must know, with the templates of some charts by their names."""
    return {"version": BOKEH_VERSION, "colours": COLOURS, "dashes": DASHES, "charts": dict(charts)}


def all_looks() -> dict[str, Any]:
    """With all templates."""
    return looks({name: chart(name) for name in CHARTS})


@remembered("templates of charts", 64)
def chart(name: str) -> dict[str, Any] | None:
    """The template of one of CHARTS; None if there is none of that name."""
    if name not in CHARTS:
        return None
    kept, key = DiskCache(load_settings().cache_path / "charts"), f"{name}-{_made_by()}"
    found = kept.get(key)
    if found is None:
        found = json.dumps(importlib.import_module("tfnb.notebook.viewer.templates").template(name)).encode()
        kept.put(key, found)
    told: dict[str, Any] = json.loads(found)
    return told


@cache
def _made_by() -> str:
    told = hashlib.sha256(BOKEH_VERSION.encode())
    for source in ("series.py", "loss_figure.py", "viewer/templates.py"):
        told.update((Path(__file__).parents[1] / source).read_bytes())
    return told.hexdigest()
