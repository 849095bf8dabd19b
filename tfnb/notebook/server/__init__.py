"""The Jupyter server's part: files shown without a kernel, by the same Python and the same widgets as with one.

Invariant: only authenticated requests are answered, only files below the served root are read, and nothing heavy is
imported before the first request comes (this module alone may import its own parts late, for that).
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["_jupyter_server_extension_points", "_load_jupyter_server_extension"]


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": "tfnb.notebook.server"}]


def _load_jupyter_server_extension(app: Any) -> None:
    """Called by Jupyter's server when it starts."""
    handlers = importlib.import_module("tfnb.notebook.server.handlers")
    handlers.add_handlers(app.web_app, _documents)


def _documents() -> Any:
    return importlib.import_module("tfnb.notebook.server.documents")
