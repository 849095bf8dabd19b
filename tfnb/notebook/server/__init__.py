"""The extension of Jupyter's server: it shows files without a kernel, with the same Python and the same widgets.

Invariant: only authenticated requests are answered, only files below the served root are read, and no slow import
happens before the first request (for which this module alone may import its own parts inside functions).

The page runs the modules of the notebook's widgets on a model whose state comes from the server, by HTTP instead of a
comm. Paths are checked after all links have been followed, and the size of files is limited.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jupyter_server.serverapp import ServerApp

__all__ = ["_jupyter_server_extension_points", "_load_jupyter_server_extension"]


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": "tfnb.notebook.server"}]


def _load_jupyter_server_extension(app: ServerApp) -> None:
    """Registers the extension's handlers; Jupyter's server calls it when it starts."""
    handlers = importlib.import_module("tfnb.notebook.server.handlers")
    handlers.add_handlers(app.web_app, _documents)


def _documents() -> ModuleType:
    return importlib.import_module("tfnb.notebook.server.documents")
