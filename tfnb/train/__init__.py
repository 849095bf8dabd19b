"""The training library: optimizers, schedules, moving averages (OSDI'16, section 4.1).

User-level code over graph, gradients and variables: nothing in the runtime knows an optimizer.
"""

from __future__ import annotations

from typing import Any

from tfnb.train import (
    basic_hooks,
    batching,
    best_checkpoints,
    bucketing,
    checkpoint_reader,
    checkpoint_state,
    cluster_spec,
    coordinator,
    global_step,
    input_producers,
    learning_rate_decay,
    meta_graph,
    monitored_session,
    moving_averages,
    optimize_loss,
    optimizers,
    queue_runner,
    saved_model,
    saver,
    saving_hooks,
    scaffold,
    scipy_optimizer,
    session_manager,
    session_run_hook,
    signatures,
    supervisor,
    sync_replicas,
    timer,
)

__all__ = ["API"]

MODULES = (
    optimizers,
    learning_rate_decay,
    moving_averages,
    global_step,
    optimize_loss,
    saver,
    meta_graph,
    checkpoint_state,
    checkpoint_reader,
    best_checkpoints,
    coordinator,
    queue_runner,
    input_producers,
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
    scipy_optimizer,
    cluster_spec,
    sync_replicas,
)
API: dict[str, Any] = {name: value for module in MODULES for name, value in module.API.items()}
