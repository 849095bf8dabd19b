"""What users call and the catalogue is not: variables and scopes, gradients, layers, losses."""

from __future__ import annotations

from typing import Any

from tfnb.client import (
    compat,
    cond,
    contrib_layers,
    conv_layers,
    embedding,
    example_api,
    file_names,
    flags,
    gfile,
    gradients,
    graph_api,
    graph_def,
    graph_util,
    initializers,
    layers,
    logging_api,
    losses,
    meta_graph,
    norm_layers,
    pool_layers,
    queues,
    regularizers,
    rnn,
    rnn_cells,
    rnn_wrappers,
    sampled_losses,
    summaries,
    variable_scope,
    variables,
    while_loop,
)

__all__ = ["API"]

MODULES = (
    graph_api,
    graph_def,
    graph_util,
    meta_graph,
    variables,
    variable_scope,
    initializers,
    queues,
    regularizers,
    gradients,
    cond,
    while_loop,
    layers,
    conv_layers,
    pool_layers,
    norm_layers,
    contrib_layers,
    losses,
    embedding,
    sampled_losses,
    rnn_cells,
    rnn_wrappers,
    rnn,
    summaries,
    flags,
    logging_api,
    gfile,
    file_names,
    example_api,
    compat,
)
API: dict[str, Any] = {name: value for module in MODULES for name, value in module.API.items()}
