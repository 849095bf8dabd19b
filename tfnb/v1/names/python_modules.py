"""Names in the modules of `tensorflow.python` that programs import, whose modules load on first use.

Each line is "places : module : names"; see `lazy_names`. Invariant: the names of a module stand in one line for each
set of places.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.namespace import lazy_names

__all__ = ["API"]

_TABLE = """
python.feature_column.feature_column : tfnb.v1.feature_columns.class_names : _BucketizedColumn _CategoricalColumn
python.feature_column.feature_column : tfnb.v1.feature_columns.class_names : _CrossedColumn _DenseColumn
python.feature_column.feature_column : tfnb.v1.feature_columns.class_names : _EmbeddingColumn _FeatureColumn
python.feature_column.feature_column : tfnb.v1.feature_columns.class_names : _HashedCategoricalColumn
python.feature_column.feature_column : tfnb.v1.feature_columns.class_names : _IdentityCategoricalColumn
python.feature_column.feature_column : tfnb.v1.feature_columns.class_names : _IndicatorColumn _NumericColumn
python.feature_column.feature_column : tfnb.v1.feature_columns.class_names : _SequenceCategoricalColumn
python.feature_column.feature_column : tfnb.v1.feature_columns.class_names : _SharedEmbeddingColumn
python.feature_column.feature_column : tfnb.v1.feature_columns.class_names : _VocabularyFileCategoricalColumn
python.feature_column.feature_column : tfnb.v1.feature_columns.class_names : _VocabularyListCategoricalColumn
python.feature_column.feature_column : tfnb.v1.feature_columns.class_names : _WeightedCategoricalColumn
python.feature_column.feature_column_v2 : tfnb.v1.feature_columns.class_names : BucketizedColumn CategoricalColumn
python.feature_column.feature_column_v2 : tfnb.v1.feature_columns.class_names : CrossedColumn
python.feature_column.feature_column_v2 : tfnb.v1.feature_columns.class_names : DenseColumn
python.feature_column.feature_column_v2 : tfnb.v1.feature_columns.class_names : EmbeddingColumn
python.feature_column.feature_column_v2 : tfnb.v1.feature_columns.class_names : FeatureColumn
python.feature_column.feature_column_v2 : tfnb.v1.feature_columns.class_names : HashedCategoricalColumn
python.feature_column.feature_column_v2 : tfnb.v1.feature_columns.class_names : IdentityCategoricalColumn
python.feature_column.feature_column_v2 : tfnb.v1.feature_columns.class_names : IndicatorColumn
python.feature_column.feature_column_v2 : tfnb.v1.feature_columns.class_names : NumericColumn
python.feature_column.feature_column_v2 : tfnb.v1.feature_columns.class_names : SequenceCategoricalColumn
python.feature_column.feature_column_v2 : tfnb.v1.feature_columns.class_names : VocabularyFileCategoricalColumn
python.feature_column.feature_column_v2 : tfnb.v1.feature_columns.class_names : VocabularyListCategoricalColumn
python.feature_column.feature_column_v2 : tfnb.v1.feature_columns.class_names : WeightedCategoricalColumn
python.client.session : tfnb.session.conversions : register_session_run_conversion_functions
python.ops.linalg.linear_operator_addition : tfnb.v1.linear_operators.batched : add_operators
python.util.all_util : tfnb.v1.contrib.framework.library_functions : make_all remove_undocumented
python.util.lazy_loader : tfnb.v1.contrib.framework.library_functions : LazyLoader
python.util.deprecation : tfnb.v1.contrib.framework.library_functions : deprecated_argument_lookup
python.util.deprecation : tfnb.v1.contrib.framework.deprecation : silence
python.ops.array_ops : tfnb.v1.contrib.framework.library_functions : rank_internal shape_internal size_internal
python.ops.weights_broadcast_ops : tfnb.v1.contrib.framework.library_functions : assert_broadcastable
python.ops.weights_broadcast_ops : tfnb.v1.contrib.framework.library_functions : broadcast_weights
python.framework.ops : tfnb.v1.contrib.framework.library_functions : convert_to_tensor_v2
python.framework.ops : tfnb.v1.contrib.framework.library_functions : internal_convert_to_tensor
python.layers.utils : tfnb.v1.contrib.framework.library_functions : normalize_data_format
python.keras.utils.conv_utils : tfnb.v1.contrib.framework.library_functions : normalize_data_format
python.ops.nn_ops : tfnb.v1.contrib.framework.library_functions : Convolution
python.keras.utils.tf_utils : tfnb.v1.contrib.framework.library_functions : register_symbolic_tensor_type
python.ops.control_flow_ops : tfnb.client.control_flow.control_context : ControlFlowContext=Context
python.ops.resource_variable_ops : tfnb.v1.contrib.framework.registered_ops : is_resource_variable
python.framework.op_def_registry : tfnb.v1.contrib.framework.registered_ops : get_registered_ops
python.tpu.tpu_function : tfnb.v1.contrib.framework.registered_ops : get_tpu_context
python.framework.test_util : tfnb.train.testing_modes : run_all_in_graph_and_eager_modes run_in_graph_and_eager_modes
python.framework.test_util : tfnb.train.testing_modes : run_all_in_deprecated_graph_mode_only=run_only_in_graph
python.framework.test_util : tfnb.train.testing_modes : run_deprecated_v1=run_only_in_graph run_v1_only=unconditionally
python.framework.test_util : tfnb.train.testing_modes : assert_no_garbage_created=unchanged
python.framework.test_util : tfnb.train.testing_modes : assert_no_new_tensors=unchanged
python.framework.test_util : tfnb.train.testing_modes : disable_xla=unconditionally enable_c_shapes=unchanged
python.framework.test_util : tfnb.train.testing_modes : with_c_shapes=unchanged
python.ops.linalg.linear_operator_util : tfnb.v1.linear_operators.batched : assert_is_batch_matrix
python.ops.linalg.linear_operator_util : tfnb.v1.linear_operators.batched : assert_compatible_matrix_dimensions
python.ops.linalg.linear_operator_util : tfnb.v1.linear_operators.batched : assert_zero_imag_part
python.ops.linalg.linear_operator_util : tfnb.v1.linear_operators.batched : assert_no_entries_with_modulus_zero
python.ops.linalg.linear_operator_util : tfnb.v1.linear_operators.batched : shape_tensor
python.ops.linalg.linear_operator_util : tfnb.v1.linear_operators.batched : broadcast_matrix_batch_dims
python.ops.linalg.linear_operator_util : tfnb.v1.linear_operators.batched : matmul_with_broadcast
python.ops.linalg.linear_operator_util : tfnb.v1.linear_operators.batched : cholesky_solve_with_broadcast
python.ops.linalg.linear_operator_util : tfnb.v1.linear_operators.batched : matrix_solve_with_broadcast
python.ops.linalg.linear_operator_util : tfnb.v1.linear_operators.batched : matrix_triangular_solve_with_broadcast
python.client.device_lib : tfnb.session.api : list_local_devices
python.client.timeline : tfnb.session.api : Timeline
python.training.monitored_session : tfnb.train.sessions.hooked_session : _HookedSession=HookedSession
"""
API: dict[str, Any] = dict(lazy_names(_TABLE))
