"""The modules of this house that define public names, from which `scripts/public_names.py` writes the table.

Invariant: each public name stands in the `API` of exactly one module.
"""

from __future__ import annotations

from typing import Any

from tfnb.v1.contrib.framework import arg_scope, model_variables
from tfnb.v1.contrib.layers import stacks, standard_layers
from tfnb.v1.keras import names as keras_names
from tfnb.v1.names import contrib as contrib_names
from tfnb.v1.names import (
    contrib_layers,
    importable,
    internal_modules,
    public,
    python_modules,
)
from tfnb.v1.python_internals import (
    behaviour_switches,
    generated_modules,
    python_helpers,
    resource_ops,
    source_functions,
    static_values_printing,
    text_and_types,
    training_functions,
    version,
)
from tfnb.v1.seq2seq import sequence_loss

__all__ = ["API"]

MODULES = (
    arg_scope,
    standard_layers,
    stacks,
    model_variables,
    resource_ops,
    sequence_loss,
    behaviour_switches,
    static_values_printing,
    version,
    text_and_types,
    importable,
    internal_modules,
    generated_modules,
    python_helpers,
    source_functions,
    training_functions,
    contrib_layers,
    contrib_names,
    public,
    python_modules,
    keras_names,
)
API: dict[str, Any] = {name: value for module in MODULES for name, value in module.API.items()}
