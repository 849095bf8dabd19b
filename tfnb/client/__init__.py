"""What users call and the catalogue is not: variables and scopes, gradients, layers, losses."""

from __future__ import annotations

from typing import Any

from tfnb.client import gradients, graph_api, initializers, layers, regularizers, variable_scope, variables

__all__ = ["API"]

MODULES = (graph_api, variables, variable_scope, initializers, regularizers, gradients, layers)
API: dict[str, Any] = {name: value for module in MODULES for name, value in module.API.items()}
