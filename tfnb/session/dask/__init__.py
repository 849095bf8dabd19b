"""Tasks on Dask workers: Dask is membership, start-up, control and failure detection; tensors go beside it.

Its names are loaded when they are first asked for: importing the session must not import Dask.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tfnb.session.dask.cluster import DaskCluster
    from tfnb.session.dask.server import Server, connect

__all__ = ["DaskCluster", "Server", "connect"]

_WHERE = {"DaskCluster": "cluster", "Server": "server", "connect": "server"}


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(importlib.import_module(f"tfnb.session.dask.{_WHERE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
