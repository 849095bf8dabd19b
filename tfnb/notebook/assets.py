"""The browser's side of widgets: modules and style sheets of `static/`, most of them built from labextension/.

A checkout that was built without node lacks them. Invariant: a widget's class can be made all the same; what it shows
then is a sentence about what is missing, and the picture beside it stays.
"""

from __future__ import annotations

import json
from pathlib import Path

from tfnb.caches import remembered

__all__ = ["STATIC", "widget_module", "widget_style"]

STATIC = Path(__file__).parent / "static"
MISSING = (
    "The browser's side of this widget ({name}.js) is not built: install node 20.19 or later, then "
    "`python scripts/frontend.py` in the checkout."
)


@remembered("modules of widgets", 64)
def widget_module(name: str) -> str:
    """The text of `static/NAME.js`, for `_esm`; a module that says what is missing where that was not built."""
    path = STATIC / f"{name}.js"
    if path.exists():
        return path.read_text("utf-8")
    told = json.dumps(MISSING.format(name=name))
    return f"export default {{ render({{ el }}) {{ el.textContent = {told}; }} }};\n"


@remembered("styles of widgets", 64)
def widget_style(name: str) -> str:
    """The text of `static/NAME.css`, for `_css`; empty where there is none."""
    path = STATIC / f"{name}.css"
    return path.read_text("utf-8") if path.exists() else ""
