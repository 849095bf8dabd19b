"""The theme of charts: colours, dashes, the version of BokehJS, and the templates of charts.

A template is generated once per machine and version of bokeh and then read from the user's cache, because importing
bokeh takes half a second and 23 MB of a kernel's memory. Invariant: bokeh is imported only if a requested template is
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
    """Returns the message for the browser, with the templates of the given charts by name."""
    return {"version": BOKEH_VERSION, "colours": list(COLOURS), "dashes": list(DASHES), "charts": dict(charts)}


def full_chart_theme() -> ChartTheme:
    """Returns the message for the browser with the templates of all charts."""
    return chart_theme({name: chart_template(name) for name in CHARTS})


@remembered("templates of charts", 64)
def chart_template(name: str) -> dict[str, Any] | None:
    """Returns the template of one of CHARTS; None for any other name."""
    if name not in CHARTS:
        return None
    disk, key = DiskCache(load_settings().cache_path / "charts"), f"{name}-{_sources_digest()}"
    text = disk.get(key)
    if text is None:
        text = json.dumps(importlib.import_module("tfnb.notebook.viewer.templates").template(name)).encode()
        disk.put(key, text)
    template: dict[str, Any] = json.loads(text)
    return template


@cache
def _sources_digest() -> str:
    digest = hashlib.sha256(BOKEH_VERSION.encode())
    for source in ("charts/series.py", "charts/loss_figure.py", "viewer/templates.py"):
        digest.update((Path(__file__).parents[1] / source).read_bytes())
    return digest.hexdigest()
