"""The theme of charts: colours, dashes, the version of BokehJS, and the charts' templates.

A template is made once per machine and version of bokeh and then read from the user's cache, because importing bokeh
takes half a second and 23 MB of a kernel's memory. Invariant: nothing here imports bokeh unless a requested template is
not in the cache for the current sources.
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
from tfnb.notebook.charts.bokeh_library import BOKEH_VERSION
from tfnb.notebook.charts.series import COLOURS
from tfnb.notebook.protocol.viewer import ChartTheme
from tfnb.settings import load_settings

__all__ = ["CHARTS", "chart_template", "chart_theme", "full_chart_theme"]

CHARTS = (
    *(f"{axis}-{scale}" for axis in ("step", "logstep", "relative", "wall") for scale in ("linear", "log")),
    *("bands", "ridges", "overlay"),
)

DASHES = ("solid", "dashed", "dotted", "dotdash")


def chart_theme(charts: Mapping[str, Any]) -> ChartTheme:
    """The message for the browser, with the templates of the given charts by name."""
    return {"version": BOKEH_VERSION, "colours": list(COLOURS), "dashes": list(DASHES), "charts": dict(charts)}


def full_chart_theme() -> ChartTheme:
    """The message for the browser with the templates of all charts."""
    return chart_theme({name: chart_template(name) for name in CHARTS})


@remembered("templates of charts", 64)
def chart_template(name: str) -> dict[str, Any] | None:
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
    for source in ("charts/series.py", "charts/loss_figure.py", "viewer/templates.py"):
        told.update((Path(__file__).parents[1] / source).read_bytes())
    return told.hexdigest()
