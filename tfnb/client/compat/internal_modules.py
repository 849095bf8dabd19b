"""The internal modules of TensorFlow that programs of its time imported: `from tfnb.python.framework import ops`.

Each is a view of the public names: an attribute is looked up in the places that are listed for its module, first to
last. Invariant: no name is defined here, so a view never differs from the public API.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from tfnb.client.namespace import Lazy

__all__ = ["API", "VIEWS"]

_ROOT = ("",)
_NN = ("nn", "")


def _views(package: str, modules: str, places: Sequence[str]) -> dict[str, Sequence[str]]:
    return {f"{package}.{module}": places for module in modules.split()}


VIEWS: Mapping[str, Sequence[str]] = {
    "compat.v1": _ROOT,
    **_views(
        "python.framework",
        "constant_op dtypes function importer ops random_seed sparse_tensor tensor_shape tensor_util",
        _ROOT,
    ),
    "python.framework.errors": ("errors",),
    "python.framework.errors_impl": ("errors",),
    "python.framework.graph_util": ("graph_util",),
    "python.framework.test_util": ("test",),
    **_views(
        "python.ops",
        "array_ops check_ops clip_ops control_flow_ops data_flow_ops functional_ops gen_array_ops "
        "gen_math_ops histogram_ops io_ops linalg_ops logging_ops math_ops parsing_ops partitioned_variables "
        "random_ops script_ops sparse_ops state_ops string_ops template tensor_array_ops variable_scope "
        "variables",
        _ROOT,
    ),
    **_views("python.ops", "candidate_sampling_ops ctc_ops embedding_ops nn nn_impl nn_ops gen_nn_ops rnn", _NN),
    **_views("python.ops", "rnn_cell rnn_cell_impl", ("nn.rnn_cell", "contrib.rnn")),
    "python.ops.gradients": _ROOT,
    "python.ops.gradients_impl": _ROOT,
    "python.ops.image_ops": ("image",),
    "python.ops.init_ops": _ROOT,
    "python.ops.seq2seq": ("nn.seq2seq", "contrib.legacy_seq2seq"),
    "models.rnn.rnn": _NN,
    "models.rnn.rnn_cell": ("nn.rnn_cell", "contrib.rnn"),
    "models.rnn.seq2seq": ("nn.seq2seq", "contrib.legacy_seq2seq"),
    "python.platform.app": ("app",),
    "python.platform.flags": ("flags",),
    "python.platform.gfile": ("gfile",),
    "python.platform.tf_logging": ("logging",),
    "python.lib.io.file_io": ("gfile",),
    **_views(
        "python.training",
        "adagrad adam coordinator gradient_descent input learning_rate_decay momentum "
        "moving_averages optimizer queue_runner queue_runner_impl rmsprop saver training training_util",
        ("train", ""),
    ),
    "python.client.graph_util": ("graph_util",),
    "python.client.session": _ROOT,
    "python.util.compat": ("compat",),
}

API: dict[str, Any] = {
    "contrib.tensorboard.plugins.projector": Lazy(lambda: importlib.import_module("tensorboard.plugins.projector")),
}
