"""The modules of this package that define public names, from which `scripts/public_names.py` writes the table.

Invariant: each public name stands in the `API` of exactly one module.
"""

from __future__ import annotations

from typing import Any

from tfnb.client import lazy_names
from tfnb.client.control_flow import cond, map_fold_scan, primitives, tensor_array, while_loop
from tfnb.client.dataset import api as dataset_api
from tfnb.client.dataset import csv_datasets, data_nest
from tfnb.client.gradients import backprop, recompute
from tfnb.client.graph import (
    default_graph,
    device_spec,
    function_op,
    graph_def,
    graph_util,
    meta_graph,
    nest_functions,
    raw_ops,
    register_op,
    tensor_conversion,
)
from tfnb.client.io import example_protos, file_names, readers, records
from tfnb.client.layers import (
    base,
    chain,
    conv_layers,
    dense_layers,
    input_spec,
    norm_layers,
    pool_layers,
)
from tfnb.client.logging import numeric_checks, summaries
from tfnb.client.losses_metrics import (
    losses,
    metrics,
    metrics_at_k,
    metrics_confusion,
    sampled_losses,
)
from tfnb.client.platform import file_io, gfile, resource_loader, tf_logging
from tfnb.client.rnn import cell_wrappers, dynamic_rnn, linear_map, seq2seq, static_rnn
from tfnb.client.rnn import cells as rnn_cells
from tfnb.client.sync import accumulators, barriers, queues
from tfnb.client.variables import (
    creators,
    embedding,
    initializers,
    partitioned,
    partitioners,
    regularizers,
    replication,
    template,
)
from tfnb.client.variables import scope as variable_scope
from tfnb.client.variables import variable as variables

__all__ = ["API"]

MODULES = (
    default_graph,
    device_spec,
    graph_def,
    function_op,
    graph_util,
    meta_graph,
    variables,
    creators,
    replication,
    partitioned,
    variable_scope,
    partitioners,
    initializers,
    queues,
    records,
    readers,
    accumulators,
    register_op,
    regularizers,
    template,
    backprop,
    cond,
    recompute,
    while_loop,
    map_fold_scan,
    dynamic_rnn,
    primitives,
    numeric_checks,
    tensor_array,
    base,
    input_spec,
    dense_layers,
    conv_layers,
    pool_layers,
    norm_layers,
    barriers,
    raw_ops,
    losses,
    metrics,
    metrics_at_k,
    metrics_confusion,
    dataset_api,
    csv_datasets,
    embedding,
    sampled_losses,
    rnn_cells,
    cell_wrappers,
    linear_map,
    static_rnn,
    seq2seq,
    chain,
    tensor_conversion,
    data_nest,
    nest_functions,
    lazy_names,
    resource_loader,
    summaries,
    tf_logging,
    gfile,
    file_io,
    file_names,
    example_protos,
)
API: dict[str, Any] = {name: value for module in MODULES for name, value in module.API.items()}
