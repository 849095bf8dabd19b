"""The modules of this package that define public names, from which `scripts/public_names.py` writes the table.

Invariant: each public name stands in the `API` of exactly one module.
"""

from __future__ import annotations

from typing import Any

from tfnb.train import lazy_names
from tfnb.train.hooks import basic_hooks, saving_hooks, session_run_hook, timer
from tfnb.train.input import batching, bucketing, producers, queue_runner
from tfnb.train.optimizers import (
    global_step,
    learning_rate_decay,
    moving_averages,
    optimize_loss,
    scipy_optimizer,
    sync_replicas,
)
from tfnb.train.optimizers import update_rules as optimizers
from tfnb.train.saving import (
    best_checkpoints,
    checkpoint_reader,
    checkpoint_state,
    export_versions,
    graph_tools,
    import_meta_graph,
    saved_model,
    saver,
    session_bundle,
    signatures,
)
from tfnb.train.sessions import (
    cluster_spec,
    coordinator,
    monitored_session,
    scaffold,
    session_manager,
    supervisor,
)

__all__ = ["API"]

MODULES = (
    optimizers,
    learning_rate_decay,
    moving_averages,
    global_step,
    optimize_loss,
    saver,
    import_meta_graph,
    checkpoint_state,
    checkpoint_reader,
    graph_tools,
    best_checkpoints,
    coordinator,
    queue_runner,
    producers,
    batching,
    bucketing,
    session_run_hook,
    timer,
    basic_hooks,
    saving_hooks,
    session_manager,
    scaffold,
    monitored_session,
    supervisor,
    signatures,
    saved_model,
    export_versions,
    session_bundle,
    scipy_optimizer,
    cluster_spec,
    sync_replicas,
    lazy_names,
)
API: dict[str, Any] = {name: value for module in MODULES for name, value in module.API.items()}
