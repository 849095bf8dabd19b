"""The public names of `tf.contrib` whose modules load when a program uses one of them: layers, slim, cells and others.

Each line is "places : module : names"; see `lazy_names`. `VIEWS` has the modules of TensorFlow's source that programs
import contrib's parts from. Invariant: the names of a module stand in one line for each set of places.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tfnb.client.namespace import lazy_names

__all__ = ["API", "VIEWS"]

_BASE = "tfnb.v1.contrib."
_NETS = """
alexnet : nets.straight : alexnet_v2 alexnet_v2_arg_scope
vgg : nets.straight : vgg_16 vgg_19 vgg_a vgg_arg_scope
overfeat : nets.straight : overfeat overfeat_arg_scope
inception_v1 inception : nets.inception : inception_v1 inception_v1_arg_scope inception_v1_base
inception_v2 inception : nets.inception : inception_v2 inception_v2_arg_scope inception_v2_base
inception_v3 inception : nets.inception : inception_v3 inception_v3_arg_scope inception_v3_base
resnet_utils : nets.resnet_blocks : Block conv2d_same resnet_arg_scope stack_blocks_dense subsample
resnet_v1 resnet_v2 : nets.resnet_blocks : resnet_arg_scope
resnet_v1 : nets.resnet : bottleneck=bottleneck_v1 resnet_v1 resnet_v1_101 resnet_v1_152 resnet_v1_200
resnet_v1 : nets.resnet : resnet_v1_50 resnet_v1_block
resnet_v2 : nets.resnet : bottleneck=bottleneck_v2 resnet_v2 resnet_v2_101 resnet_v2_152 resnet_v2_200
resnet_v2 : nets.resnet : resnet_v2_50 resnet_v2_block
"""
_OUTPUTS = """
contrib.layers.utils contrib.slim.utils : layers.named_outputs : append_tensor_alias channel_dimension
contrib.layers.utils contrib.slim.utils : layers.named_outputs : collect_named_outputs constant_value
contrib.layers.utils contrib.slim.utils : layers.named_outputs : convert_collection_to_dict gather_tensors_aliases
contrib.layers.utils contrib.slim.utils : layers.named_outputs : get_tensor_aliases get_variable_collections
contrib.layers.utils contrib.slim.utils : layers.named_outputs : last_dimension n_positive_integers static_cond
contrib.layers.utils contrib.slim.utils : layers.named_outputs : two_element_tuple
"""

_LAYERS = """
layers slim : layers.normalizations : GDN gdn group_norm instance_norm
layers slim : layers.rearrangements : avg_pool3d bias_add dense_to_sparse images_to_sequence max_pool3d maxout
layers slim : layers.rearrangements : pool scale_gradient sequence_to_images spatial_softmax
layers slim : layers.convolutions : conv2d_in_plane=convolution2d_in_plane convolution2d_in_plane elu
layers slim : layers.convolutions : conv3d_transpose=convolution3d_transpose convolution3d_transpose
layers slim : layers.convolutions : legacy_fully_connected legacy_linear legacy_relu
layers slim : layers.reversible : RevBlock rev_block
layers layers.feature_column slim : layers.feature_columns : bucketized_column create_feature_spec_for_parsing
layers layers.feature_column slim : layers.feature_columns : crossed_column one_hot_column real_valued_column
layers layers.feature_column slim : layers.feature_columns : make_place_holder_tensors_for_base_features
layers layers.feature_column slim : layers.feature_columns : embedding_column shared_embedding_columns
layers layers.feature_column slim : layers.feature_columns : sparse_column_with_hash_bucket
layers layers.feature_column slim : layers.feature_columns : sparse_column_with_integerized_feature
layers layers.feature_column slim : layers.feature_columns : sparse_column_with_keys weighted_sparse_column
layers layers.feature_column slim : layers.feature_columns : sparse_column_with_vocabulary_file
layers slim : layers.feature_columns : check_feature_columns infer_real_valued_columns input_from_feature_columns
layers slim : layers.feature_columns : joint_weighted_sum_from_feature_columns parse_feature_columns_from_examples
layers slim : layers.feature_columns : transform_features weighted_sum_from_feature_columns
layers slim : layers.embeddings : embedding_lookup_unique
slim : layers.embeddings : embedding_lookup_sparse_with_distributed_aggregation
layers layers.summaries slim : layers.summaries : summarize_activation summarize_activations summarize_collection
layers layers.summaries slim : layers.summaries : summarize_tensor summarize_tensors
slim : layers.summaries : summarize_biases summarize_variables summarize_weights
slim.summaries : layers.summaries : add_histogram_summaries add_histogram_summary add_image_summaries
slim.summaries : layers.summaries : add_image_summary add_scalar_summaries add_scalar_summary
slim.summaries : layers.summaries : add_zero_fraction_summaries add_zero_fraction_summary
"""

_FRAMEWORK = """
framework slim : framework.variable_lists : VariableDeviceChooser add_model_variable assign_from_values
framework slim : framework.variable_lists : assign_from_values_fn filter_variables get_variable_full_name
framework slim : framework.variable_lists : global_variable local_variable zero_initializer
framework : framework.shapes : assert_scalar_int get_graph_from_inputs get_name_scope get_placeholders
framework : framework.shapes : prepend_name_scope py_func reduce_sum_n remove_squeezable_dimensions smart_case
framework : framework.shapes : smart_constant_value strip_name_scope with_same_shape with_shape
framework slim : framework.deprecation : deprecated deprecated_arg_values
framework : framework.deprecation : deprecated_args
slim : framework.deprecation : experimental
slim.data_decoder : framework.example_decoder : DataDecoder
slim.tfexample_decoder : framework.example_decoder : BackupHandler BoundingBox Image ItemHandler
slim.tfexample_decoder : framework.example_decoder : ItemHandlerCallback LookupTensor TFExampleDecoder
slim.tfexample_decoder : framework.example_decoder : SparseTensor Tensor
"""

_CELLS = """
rnn : rnn_cells.simple_cells : IndRNNCell IndyGRUCell IndyLSTMCell IntersectionRNNCell LayerRNNCell SRUCell UGRNNCell
rnn : rnn_cells.lstm_variants : CoupledInputForgetGateLSTMCell GLSTMCell LayerNormBasicLSTMCell NASCell
rnn : rnn_cells.lstm_variants : PhasedLSTMCell
rnn : rnn_cells.grid_lstm : BidirectionalGridLSTMCell GridLSTMCell TimeFreqLSTMCell
rnn : rnn_cells.conv_lstm : Conv1DLSTMCell Conv2DLSTMCell Conv3DLSTMCell ConvLSTMCell
rnn : rnn_cells.wrappers : AttentionCellWrapper CompiledWrapper HighwayWrapper
rnn : rnn_cells.fused : FusedRNNCell FusedRNNCellAdaptor GRUBlockCell GRUBlockCellV2 LSTMBlockCell
rnn : rnn_cells.fused : LSTMBlockFusedCell LSTMBlockWrapper TimeReversedFusedRNN
cudnn_rnn : rnn_cells.cudnn_cells : CudnnCompatibleGRUCell CudnnCompatibleLSTMCell
cudnn_rnn : rnn_cells.cudnn_layers : CudnnGRU CudnnLSTM CudnnRNNRelu CudnnRNNTanh
rnn : rnn_cells.stacked : best_effort_input_batch_size stack_bidirectional_dynamic_rnn stack_bidirectional_rnn
rnn : rnn_cells.stacked : transpose_batch_time
"""

_METRICS = """
metrics : metrics.statistics : aggregate_metric_map aggregate_metrics cohen_kappa count sparse_recall_at_top_k
metrics : metrics.statistics : streaming_covariance streaming_pearson_correlation streaming_recall_at_k
metrics : metrics.statistics : streaming_sparse_average_precision_at_k streaming_sparse_precision_at_top_k
metrics : metrics.rates : f1_score precision_at_recall recall_at_precision streaming_false_negative_rate
metrics : metrics.rates : streaming_false_negative_rate_at_thresholds streaming_false_positive_rate
metrics : metrics.rates : streaming_false_positive_rate_at_thresholds
losses.metric_learning : metrics.metric_learning : contrastive_loss lifted_struct_loss npairs_loss
losses.metric_learning : metrics.metric_learning : npairs_loss_multilabel triplet_semihard_loss
"""


def _prefixed(table: str, place: str = "") -> str:
    """Returns the table with `place` before each place, and the package's name before each module."""
    lines = []
    for line in filter(None, map(str.strip, table.splitlines())):
        places, module, names = (part.strip() for part in line.split(":"))
        lines.append(f"{' '.join(place + p for p in places.split())} : {_BASE}{module} : {names}")
    return "\n".join(lines)


_PARTS = "\n".join((_LAYERS, _FRAMEWORK, _CELLS, _METRICS))
_TABLES = (_prefixed(_NETS, "contrib.slim.nets."), _prefixed(_OUTPUTS), _prefixed(_PARTS, "contrib."))
_TABLE = "\n".join(_TABLES)
API: dict[str, Any] = dict(lazy_names(_TABLE))
_NET_MODULES = sorted({name.split(".")[3] for name in API if name.startswith("contrib.slim.nets.")})
_SLIM = (
    "data_decoder data_provider dataset dataset_data_provider evaluation learning model_analyzer parallel_reader "
    "prefetch_queue queues summaries tfexample_decoder"
).split()
_IN_DATA = "data_decoder data_provider dataset dataset_data_provider parallel_reader prefetch_queue tfexample_decoder"
VIEWS: Mapping[str, Sequence[str]] = {
    **{f"contrib.slim.python.slim.nets.{name}": (f"contrib.slim.nets.{name}",) for name in _NET_MODULES},
    **{f"contrib.slim.python.slim.data.{name}": (f"contrib.slim.{name}",) for name in _IN_DATA.split()},
    **{f"contrib.slim.python.slim.{name}": (f"contrib.slim.{name}",) for name in _SLIM if name not in _IN_DATA.split()},
    "contrib.layers.python.layers.utils": ("contrib.layers.utils", "contrib.layers"),
}
