"""The files of widgets that the browser runs: modules and style sheets of `static/`, most of them built from
labextension/.

A checkout without node lacks the built files. Invariant: the class of a widget can be defined without them; the widget
then shows a sentence that says which file is missing, and the static picture beside it stays visible.
"""

from __future__ import annotations

import json
from pathlib import Path

from tfnb.caches import remembered

__all__ = ["STATIC", "WIDGETS", "missing_files", "widget_module", "widget_style"]

STATIC = Path(__file__).parent / "static"
# The modules that labextension/src/widgets has the sources of.
WIDGETS = ("bokeh_library", "builder", "cluster_view", "graph_widget", "loss_chart", "timeline", "viewer")
MISSING = (
    "The browser's side of this widget ({name}.js) is not built: install node 20.19 or later, then "
    "`python scripts/frontend.py` in the checkout."
)


@remembered("modules of widgets", 64)
def widget_module(name: str) -> str:
    """Returns the text of `static/NAME.js`, for `_esm`, or a module that reports the missing file where the front end
    was not built.
    """
    path = STATIC / f"{name}.js"
    if path.exists():
        return path.read_text("utf-8")
    message = json.dumps(MISSING.format(name=name))
    return f"export default {{ render({{ el }}) {{ el.textContent = {message}; }} }};\n"


@remembered("styles of widgets", 64)
def widget_style(name: str) -> str:
    """Returns the text of `static/NAME.css`, for `_css`, or an empty text where there is no such file."""
    path = STATIC / f"{name}.css"
    return path.read_text("utf-8") if path.exists() else ""


def missing_files() -> list[str]:
    """Returns the names of the widgets' modules that are not built, or empty."""
    paths = [STATIC / f"{name}.js" for name in WIDGETS]
    return [path.name for path in paths if not path.is_file() or not path.stat().st_size]
