"""The standard names of the collections of a graph."""

from __future__ import annotations

__all__ = ["GraphKeys"]


class GraphKeys:
    """Names of the collections that the library itself fills."""

    GLOBAL_VARIABLES = "variables"
    VARIABLES = "variables"
    LOCAL_VARIABLES = "local_variables"
    MODEL_VARIABLES = "model_variables"
    METRIC_VARIABLES = "metric_variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    SUMMARIES = "summaries"
    SUMMARY_OP = "summary_op"
    QUEUE_RUNNERS = "queue_runners"
    TABLE_INITIALIZERS = "table_initializer"
    ASSET_FILEPATHS = "asset_filepaths"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    REGULARIZATION_LOSSES = "regularization_losses"
    CONCATENATED_VARIABLES = "concatenated_variables"
    SAVERS = "savers"
    WEIGHTS = "weights"
    BIASES = "biases"
    ACTIVATIONS = "activations"
    UPDATE_OPS = "update_ops"
    EVAL_STEP = "eval_step"
    LOSSES = "losses"
    INIT_OP = "init_op"
    LOCAL_INIT_OP = "local_init_op"
    READY_OP = "ready_op"
    GLOBAL_STEP = "global_step"
    TRAIN_OP = "train_op"
    COND_CONTEXT = "cond_context"
    WHILE_CONTEXT = "while_context"
    # names that TFLearn adds
    LAYER_VARIABLES = "layer_variables"
    LAYER_TENSOR = "layer_tensor"
    INPUTS = "inputs"
    TARGETS = "targets"
    TRAIN_OPS = "trainops"
    LR_VARIABLES = "lr_variables"
    DATA_PREP = "data_preprocessing"
    DATA_AUG = "data_augmentation"
    EXCL_RESTORE_VARS = "exclude_restore_variables"
    GRAPH_CONFIG = "graph_config"
