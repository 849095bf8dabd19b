"""The browser's side as one ES module, joined from the small ones of `static/viewer`.

anywidget takes one text, and nothing may be loaded from elsewhere, so the modules are laid behind each other in the
order of their imports. Invariant: a module imports names from files before it, under their own names.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

__all__ = ["module", "style"]

STATIC = Path(__file__).parents[1] / "static" / "viewer"
ORDER = ("numbers", "bokeh", "dom", "curves", "scalar_card", "item_cards", "side", "viewer")
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./(\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?!default)", re.MULTILINE)


@cache
def module() -> str:
    """The text of the joined module."""
    return joined([(name, (STATIC / f"{name}.js").read_text("utf-8")) for name in ORDER])


def joined(parts: list[tuple[str, str]]) -> str:
    """Modules behind each other. Raises `ValueError` for an import of what does not stand before."""
    before: set[str] = set()
    out = []
    for name, text in parts:
        missing = set(_IMPORT.findall(text)) - before
        if missing:
            raise ValueError(f"{name}.js imports {', '.join(sorted(missing))}, not before it")
        out.append(_EXPORT.sub("", _IMPORT.sub("", text)))
        before.add(name)
    return "\n".join(out)


@cache
def style() -> str:
    """The style sheet."""
    return (STATIC / "viewer.css").read_text("utf-8")
