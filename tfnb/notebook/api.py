"""The public names of this package, from which `scripts/public_names.py` writes the table.

Each line is "places : module : names"; see `entries` in tfnb/client/namespace.py.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.namespace import lazy_names

__all__ = ["API"]

_TABLE = """
tf : tfnb.notebook.traces.view : timeline
tf : tfnb.notebook.cluster_view : show_cluster
tf : tfnb.notebook.comparison : compare
tf : tfnb.notebook.builder.widget : builder
tf : tfnb.notebook.graph.widget : show_graph
tf : tfnb.notebook.graph.pass_view : show_passes count_parameters
tf : tfnb.notebook.viewer : view
"""
API: dict[str, Any] = dict(lazy_names(_TABLE))
