"""What Jupyter says of this package: its extensions of JupyterLab and of the server, and those that widgets need.

The files are found as Jupyter finds them, by its own functions. Invariant: nothing is started and nothing is written.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from jupyter_core.paths import jupyter_config_path, jupyter_path
from jupyter_server.extension.config import ExtensionConfigManager
from jupyterlab_server.config import get_federated_extensions, get_page_config

__all__ = ["disabled_extensions", "has_server_extension", "lab_extensions"]


def lab_extensions() -> Mapping[str, Mapping[str, Any]]:
    """Returns the prebuilt extensions that JupyterLab finds, by name, with `version` and `ext_path`, a folder."""
    found: dict[str, dict[str, Any]] = get_federated_extensions(jupyter_path("labextensions"))
    return found


def disabled_extensions() -> frozenset[str]:
    """Returns the names of extensions, or of single plugins, that JupyterLab's configuration disables."""
    settings = os.path.join(sys.prefix, "share", "jupyter", "lab", "settings")
    return frozenset(get_page_config(jupyter_path("labextensions"), settings)["disabledExtensions"])


def has_server_extension(name: str) -> bool:
    """Returns whether the configuration of Jupyter's server enables the extension of this module."""
    manager = ExtensionConfigManager(read_config_path=jupyter_config_path())
    return bool(manager.get_jpserver_extensions().get(name, False))
