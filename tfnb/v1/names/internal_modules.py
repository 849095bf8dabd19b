"""The internal modules of TensorFlow that programs of its time imported: `from tfnb.python.framework import ops`.

Each is a view of the public names: an attribute is looked up in the places that are listed for its module, in the order
of the list. Invariant: no name is defined here, so a view never differs from the public API.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from tfnb.client.namespace import Lazy
from tfnb.ir.protos import proto

__all__ = ["API", "VIEWS"]

_ROOT = ("",)
_NN = ("nn", "")


_KERAS = (
    "activations backend callbacks constraints datasets initializers layers losses metrics models "
    "optimizers preprocessing regularizers utils wrappers"
).split()


_LINEAR_OPERATORS = (
    " _addition _adjoint _block_diag _circulant _composition _diag _full_matrix _householder _identity _inversion"
    " _kronecker _low_rank_update _lower_triangular _toeplitz _util _zeros"
).split(" ")


def _views(package: str, modules: str, places: Sequence[str]) -> dict[str, Sequence[str]]:
    return {f"{package}.{module}": places for module in modules.split()}


VIEWS: Mapping[str, Sequence[str]] = {
    "compat.v1": _ROOT,
    **_views(
        "python.framework",
        "c_api_util common_shapes constant_op device device_spec dtypes function importer load_library meta_graph ops "
        "random_seed registry sparse_tensor subscribe tensor_shape tensor_spec tensor_util versions",
        _ROOT,
    ),
    **_views("python.framework", "errors errors_impl", ("errors",)),
    **_views("python.framework", "graph_util graph_util_impl", ("graph_util",)),
    "python.keras": ("keras",),
    "contrib.keras": ("keras",),
    "contrib.data": ("data.experimental",),
    **{f"python.keras.{m}": (f"keras.{m}",) for m in _KERAS},
    **_views("python.keras.engine", "base_layer input_layer input_spec topology network", ("keras.layers", "keras")),
    **_views("python.keras.engine", "training sequential", ("keras",)),
    **_views(
        "python.keras.layers",
        "core convolutional pooling recurrent wrappers merge embeddings normalization noise advanced_activations local "
        "cudnn_recurrent convolutional_recurrent",
        ("keras.layers",),
    ),
    **_views(
        "python.keras.utils",
        "np_utils generic_utils data_utils io_utils layer_utils vis_utils multi_gpu_utils",
        ("keras.utils",),
    ),
    "python.framework.graph_io": ("train",),
    "python.ops.lookup_ops": ("contrib.lookup", ""),
    "contrib.lookup.lookup_ops": ("contrib.lookup",),
    "python.framework.test_util": ("test",),
    **_views(
        "python.ops",
        "array_ops check_ops clip_ops confusion_matrix control_flow_ops custom_gradient data_flow_ops functional_ops "
        "gen_array_ops gen_control_flow_ops gen_data_flow_ops gen_io_ops gen_linalg_ops gen_logging_ops gen_math_ops "
        "gen_parsing_ops gen_random_ops gen_sparse_ops gen_state_ops gen_string_ops gradient_checker histogram_ops "
        "init_ops_v2 inplace_ops io_ops linalg_ops logging_ops manip_ops map_fn math_ops numerics "
        "parsing_ops partitioned_variables random_ops resource_variable_ops resources script_ops sdca_ops "
        "session_ops sort_ops sparse_ops special_math_ops state_ops string_ops template tensor_array_ops "
        "variable_scope variables",
        ("", "linalg", "math", "random", "strings", "sparse", "debugging", "io", "test"),
    ),
    "python.ops.control_flow_ops": ("", "control_flow_ops"),
    **_views(
        "python.ops",
        "batch_norm_ops candidate_sampling_ops ctc_ops embedding_ops gen_candidate_sampling_ops gen_nn_ops nn "
        "nn_grad nn_impl nn_ops rnn",
        _NN,
    ),
    **_views("python.ops", "rnn_cell rnn_cell_impl", ("nn.rnn_cell", "contrib.rnn")),
    **_views("python.ops", "gradients gradients_impl gradients_util", _ROOT),
    **_views("python.ops", "image_ops image_ops_impl gen_image_ops", ("image",)),
    **_views("python.ops", "bitwise_ops gen_bitwise_ops", ("bitwise",)),
    **_views("python.ops", "sets sets_impl", ("sets",)),
    **_views("python.ops", "spectral_ops gen_spectral_ops", ("spectral", "signal", "")),
    "python.ops.init_ops": ("", "initializers"),
    **_views("python.ops.linalg", "linalg linalg_impl", ("linalg", "")),
    **_views("python.ops.linalg", " ".join(f"linear_operator{part}" for part in _LINEAR_OPERATORS), ("linalg", "")),
    "contrib.linalg": ("linalg",),
    **_views("contrib.linalg.python.ops", " ".join(f"linear_operator{p}" for p in _LINEAR_OPERATORS), ("linalg", "")),
    **_views("python.ops.losses", "losses losses_impl util", ("losses",)),
    **_views("python.ops", "metrics metrics_impl", ("metrics",)),
    **_views("python.ops", "seq2seq", ("nn.seq2seq", "contrib.legacy_seq2seq")),
    **_views("python.ops", "summary_ops", ("summary", "")),
    "python.ops.summary_ops_v2": ("contrib.summary", "summary"),
    "python.eager.backprop": _ROOT,
    "contrib.eager.python": ("contrib.eager",),
    **_views("contrib.eager.python", "datasets metrics metrics_impl network saver tfe", ("contrib.eager",)),
    **_views("python.keras.saving", "hdf5_format model_config save saved_model", ("keras.models",)),
    "python.keras.saving": ("keras.models",),
    "contrib.tfprof": ("profiler",),
    **_views("contrib.tfprof", "model_analyzer tfprof_logger", ("profiler",)),
    "python.ops.quantized_ops": ("quantization", ""),
    "models.rnn.rnn": _NN,
    "models.rnn.rnn_cell": ("nn.rnn_cell", "contrib.rnn"),
    "models.rnn.seq2seq": ("nn.seq2seq", "contrib.legacy_seq2seq"),
    "python.platform.app": ("app",),
    **_views("python.platform", "googletest test", ("test",)),
    "python.platform.flags": ("flags",),
    "python.platform.gfile": ("gfile",),
    **_views("python.platform", "logging tf_logging", ("logging",)),
    "python.platform.resource_loader": ("resource_loader",),
    "python.lib.io.file_io": ("gfile",),
    "python.pywrap_tensorflow_internal": ("python.pywrap_tensorflow",),
    **_views("python.lib.io", "python_io tf_record", ("python_io",)),
    **_views(
        "python.training",
        "adadelta adagrad adagrad_da adam basic_session_run_hooks checkpoint_management checkpoint_ops "
        "checkpoint_state_pb2 checkpoint_utils coordinator device_setter distribution_strategy_context evaluation "
        "ftrl gradient_descent input learning_rate_decay momentum monitored_session moving_averages optimizer "
        "proximal_adagrad proximal_gradient_descent queue_runner queue_runner_impl rmsprop saveable_object saver "
        "server_lib session_manager session_run_hook slot_creator supervisor sync_replicas_optimizer "
        "tensorboard_logging training training_ops training_util warm_starting_util",
        ("train", ""),
    ),
    **_views("python.training", "summary_io", ("train", "summary", "")),
    **_views("python.summary", "event_accumulator summary summary_iterator", ("summary", "train", "")),
    **_views("python.summary.writer", "writer writer_cache", ("summary", "train")),
    "python.client.graph_util": ("graph_util",),
    "python.client.session": _ROOT,
    "python.data.ops.dataset_ops": ("data",),
    "python.data.ops.iterator_ops": ("data",),
    "python.data.ops.readers": ("data",),
    **_views("python.layers", "base convolutional core normalization pooling", ("layers",)),
    **_views("python.estimator", "estimator model_fn run_config", ("estimator",)),
    **_views("python.feature_column", "feature_column feature_column_lib feature_column_v2", ("feature_column",)),
    **_views("python.saved_model", "builder builder_impl", ("saved_model.builder", "saved_model")),
    **_views("python.saved_model", "loader loader_impl", ("saved_model.loader", "saved_model")),
    "python.saved_model.constants": ("saved_model.constants",),
    "python.saved_model.signature_constants": ("saved_model.signature_constants",),
    "python.saved_model.signature_def_utils": ("saved_model.signature_def_utils",),
    "python.saved_model.tag_constants": ("saved_model.tag_constants",),
    "python.saved_model.utils": ("saved_model.utils",),
    "python.saved_model.main_op": ("saved_model.main_op",),
    "python.util.compat": ("compat",),
    **_views("contrib.slim", "initializers layers normalization optimizers regularizers", ("contrib.layers",)),
    "contrib.slim.feature_column": ("contrib.layers.feature_column", "contrib.layers"),
    "contrib.slim.metrics": ("contrib.metrics",),
    "contrib.slim.variables": ("contrib.framework", ""),
    # what the modules of slim import is visible in slim itself, and programs use it: slim.init_ops.zeros_initializer()
    **_views(
        "contrib.slim",
        "array_ops clip_ops control_flow_ops dtypes math_ops nest ops parsing_ops random_ops resource_variable_ops "
        "sparse_ops sparse_tensor string_ops tensor_shape variable_scope",
        ("", "math", "random", "strings", "sparse", "nest"),
    ),
    "contrib.slim.init_ops": ("", "initializers"),
    "contrib.slim.moving_averages": ("python.training.moving_averages", "train"),
    **_views("contrib.slim", "nn nn_ops", _NN),
    "contrib.slim.loss_ops": ("contrib.losses",),
    "contrib.slim.metric_ops": ("contrib.metrics",),
    "contrib.slim.summary": ("summary",),
    "contrib.slim.train": ("train",),
    "python.ops.distributions.util": ("contrib.distributions", "distributions", ""),
    **_views("python.util", "nest", ("nest", "contrib.framework.nest")),
    "python.data.util.nest": ("nest", "contrib.framework.nest"),
    **_views("contrib.framework.python.ops", "arg_scope", ("contrib.framework",)),
    **_views("contrib.framework.python.ops", "variables", ("contrib.framework", "")),
    **_views("contrib.layers.python.layers", "layers regularizers optimizers summaries", ("contrib.layers",)),
    **_views("contrib.rnn.python.ops", "core_rnn core_rnn_cell core_rnn_cell_impl rnn rnn_cell", ("contrib.rnn", "nn")),
    "contrib.legacy_seq2seq.python.ops.seq2seq": ("contrib.legacy_seq2seq",),
    "python.data": ("data",),
    "python.data.experimental": ("data.experimental",),
    "python.eager.context": _ROOT,
    **_views("python.estimator.canned", "baseline dnn dnn_linear_combined head linear", ("estimator",)),
    **_views("python.estimator.export", "export export_lib export_output", ("estimator.export",)),
    **_views("python.estimator.inputs", "inputs numpy_io pandas_io", ("estimator.inputs",)),
    **_views("python.estimator", "estimator_lib exporter training warm_starting_util", ("estimator", "train")),
    **_views(
        "python.ops.distributions",
        "bernoulli beta bijector categorical dirichlet dirichlet_multinomial distribution distributions exponential "
        "gamma identity_bijector kullback_leibler laplace multinomial normal student_t "
        "transformed_distribution uniform",
        ("distributions", "contrib.distributions", "contrib.distributions.bijectors"),
    ),
    **_views("python.ops", "standard_ops gradients_lib", _ROOT),
    "python.ops.summary_op_util": ("summary",),
    "python.layers.layers": ("layers",),
    "python.layers.utils": ("contrib.layers.utils",),
    **_views("python.platform", "sysconfig", ("sysconfig",)),
    **_views("python.saved_model", "simple_save saved_model", ("saved_model",)),
    "python.saved_model.signature_def_utils_impl": ("saved_model.signature_def_utils",),
    "python.saved_model.utils_impl": ("saved_model.utils",),
    "python.saved_model.main_op_impl": ("saved_model.main_op",),
    **_views("python.framework", "smart_cond", ("contrib.framework", "")),
    "python.util.deprecation": ("contrib.framework",),
    "contrib.learn.python.learn.monitored_session": ("train",),
    "contrib.learn.python.learn.datasets.base": ("contrib.learn.datasets.base",),
    "contrib.learn.python.learn.datasets.mnist": ("contrib.learn.datasets.mnist",),
    "core.protobuf.config_pb2": _ROOT,
    **_views("core.protobuf", "cluster_pb2 queue_runner_pb2 tensorflow_server_pb2", ("train",)),
    **_views("core.example", "example_pb2 feature_pb2", ("train",)),
}

# TensorFlow's modules of messages whose classes are those of `tfnb/ir/protos.py`
_MESSAGES = {
    "framework": "attr_value function graph node_def op_def step_stats summary tensor tensor_shape types variable "
    "versions",
    "protobuf": "meta_graph rewriter_config saved_model saver struct",
    "util": "event",
}


def _messages(name: str) -> Lazy:
    return Lazy(lambda: proto(name))


API: dict[str, Any] = {
    "contrib.tensorboard.plugins.projector": Lazy(lambda: importlib.import_module("tensorboard.plugins.projector")),
    **{f"core.{package}.{name}_pb2": _messages(name) for package, names in _MESSAGES.items() for name in names.split()},
}
