"""Public names that stand in several places of TensorFlow's API and mean the same in each.

Each line of a table maps a place to another one that has the values: all of the names listed, or `new=old` where the
names differ. Invariant: an original is never an alias itself, and no alias is defined elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["ALIASES"]

# place <- place of the originals: names
_TABLE = """
contrib.deprecated <- tf : audio_summary histogram_summary image_summary merge_all_summaries merge_summary
contrib.deprecated <- tf : scalar_summary
contrib.optimizer_v2 <- train : AdadeltaOptimizer AdagradOptimizer AdamOptimizer GradientDescentOptimizer
contrib.optimizer_v2 <- train : MomentumOptimizer OptimizerV2=Optimizer RMSPropOptimizer
contrib.framework <- tf : convert_to_tensor_or_sparse_tensor
contrib.losses <- losses : add_loss get_losses get_regularization_losses get_total_loss
contrib.slim.losses <- losses : add_loss get_losses get_regularization_losses get_total_loss
contrib.nn <- nn : conv1d_transpose
contrib.quantization <- tf : dequantize
contrib.quantization <- raw_ops : RequantizationRange Requantize
contrib.slim <- contrib.layers : OPTIMIZER_SUMMARIES optimize_loss recompute_grad safe_embedding_lookup_sparse
version <- tf : VERSION
debugging <- tf : assert_all_finite=verify_tensor_all_finite is_finite is_inf is_nan
distribute <- train : Server
dtypes <- tf : complex
estimator <- train : CheckpointSaverHook CheckpointSaverListener FeedFnHook FinalOpsHook GlobalStepWaiterHook
estimator <- train : LoggingTensorHook NanLossDuringTrainingError NanTensorHook SecondOrStepTimer SessionRunArgs
estimator <- train : SessionRunContext SessionRunHook SessionRunValues StepCounterHook StopAtStepHook
estimator <- train : SummarySaverHook
graph_util <- tf : import_graph_def
image <- tf : random_crop
initializers <- tf : global_variables=global_variables_initializer local_variables=local_variables_initializer
initializers <- tf : variables=variables_initializer
io <- tf : PaddingFIFOQueue PriorityQueue QueueBase RandomShuffleQueue
io <- train : match_filenames_once write_graph
io.gfile <- gfile : GFile=Open
contrib.framework <- tf : TensorSpec
contrib.learn.datasets.base <- examples.tutorials.mnist.input_data : maybe_download
contrib.learn.datasets.mnist <- examples.tutorials.mnist.input_data : extract_images extract_labels
contrib.stateless <- random : stateless_multinomial stateless_random_normal=stateless_normal
contrib.stateless <- random : stateless_random_uniform=stateless_uniform stateless_truncated_normal
contrib.util <- tf : constant_value=get_static_value
python.framework.tensor_util <- tf : constant_value=get_static_value
python.ops.rnn <- contrib.rnn : _best_effort_input_batch_size=best_effort_input_batch_size
python.ops.rnn <- contrib.rnn : _transpose_batch_time=transpose_batch_time
contrib.seq2seq.python.ops.decoder <- contrib.rnn : _transpose_batch_time=transpose_batch_time
python.ops.rnn_cell_impl <- nn.rnn_cell : _RNNCell=RNNCell
python.ops.init_ops <- tf : Constant=constant_initializer Ones=ones_initializer Orthogonal=orthogonal_initializer
python.ops.init_ops <- tf : RandomNormal=random_normal_initializer RandomUniform=random_uniform_initializer
python.ops.init_ops <- tf : TruncatedNormal=truncated_normal_initializer Zeros=zeros_initializer
python.ops.init_ops <- tf : UniformUnitScaling=uniform_unit_scaling_initializer
python.ops.init_ops <- tf : VarianceScaling=variance_scaling_initializer
python.ops.init_ops <- keras.initializers : Identity Initializer
python.framework.tensor_util <- tf : MakeNdarray=make_ndarray
python.client.session <- tf : BaseSession=Session
python.framework.ops <- contrib.framework : get_name_scope prepend_name_scope strip_name_scope
python.framework.ops <- contrib.framework : _get_graph_from_inputs=get_graph_from_inputs
python.framework.test_util <- test : TensorFlowTestCase=TestCase
python.ops.data_flow_ops <- contrib.staging : StagingArea
python.data.ops.dataset_ops <- data : get_legacy_output_classes=get_output_classes
python.data.ops.dataset_ops <- data : get_legacy_output_shapes=get_output_shapes
python.data.ops.dataset_ops <- data : get_legacy_output_types=get_output_types
python.data.ops.dataset_ops <- data : DatasetV1=Dataset DatasetV2=Dataset
contrib.eager <- tf : Variable executing_eagerly
python.framework.device_spec <- tf : DeviceSpecV1=DeviceSpec DeviceSpecV2=DeviceSpec
python.framework.type_spec <- tf : BatchableTypeSpec=TypeSpec TypeSpec
python.framework.ops <- tf : is_dense_tensor_like=is_tensor
python.keras.utils.losses_utils <- keras.losses : ReductionV2=Reduction
python.feature_column.feature_column_lib <- keras.layers : DenseFeatures
python.layers.core <- layers : FullyConnected=Dense fully_connected=dense
python.layers.normalization <- layers : BatchNorm=BatchNormalization batch_norm=batch_normalization
python.layers.pooling <- layers : AvgPool2D=AveragePooling2D MaxPool2D=MaxPooling2D avg_pool2d=average_pooling2d
python.layers.pooling <- layers : max_pool2d=max_pooling2d
python.layers.convolutional <- layers : convolution1d=conv1d convolution2d=conv2d convolution3d=conv3d
python.layers.convolutional <- layers : convolution2d_transpose=conv2d_transpose deconvolution2d=conv2d_transpose
python.layers.convolutional <- layers : convolution3d_transpose=conv3d_transpose deconvolution3d=conv3d_transpose
python.layers.convolutional <- layers : deconv2d=conv2d_transpose deconv3d=conv3d_transpose Deconv2D=Conv2DTranspose
python.layers.convolutional <- layers : separable_convolution2d=separable_conv2d Deconv3D=Conv3DTranspose
python.layers.convolutional <- layers : Convolution1D=Conv1D Convolution2D=Conv2D Convolution3D=Conv3D
python.layers.convolutional <- layers : Convolution2DTranspose=Conv2DTranspose Deconvolution2D=Conv2DTranspose
python.layers.convolutional <- layers : Convolution3DTranspose=Conv3DTranspose Deconvolution3D=Conv3DTranspose
python.layers.convolutional <- layers : SeparableConvolution1D=SeparableConv1D SeparableConvolution2D=SeparableConv2D
python.ops.op_selector <- contrib.graph_editor : get_backward_walk_ops
python.ops.unconnected_gradients <- tf : UnconnectedGradients
python.ops.variables <- tf : VariableV1=Variable
python.ops.variable_scope <- tf : variable=Variable VariableV1=Variable
python.ops.resource_variable_ops <- tf : ResourceVariable=Variable
python.keras.engine <- keras.layers : InputSpec Layer
python.training.evaluation <- contrib.training : _StopAfterNEvalsHook=StopAfterNEvalsHook
python.training.evaluation <- contrib.training : _evaluate_once=evaluate_once
python.training.evaluation <- contrib.training : _get_or_create_eval_step=get_or_create_eval_step
python.keras.utils.conv_utils <- python.layers.utils : conv_output_length deconv_output_length normalize_padding
python.keras.utils.conv_utils <- python.layers.utils : convert_data_format normalize_tuple
python.keras.utils.tf_utils <- contrib.framework : constant_value=smart_constant_value smart_cond
contrib.layers.utils <- contrib.framework : smart_cond
random <- tf : get_seed
random <- nn : all_candidate_sampler fixed_unigram_candidate_sampler learned_unigram_candidate_sampler
random <- nn : log_uniform_candidate_sampler uniform_candidate_sampler
saved_model <- saved_model.constants : ASSETS_KEY LEGACY_INIT_OP_KEY MAIN_OP_KEY SAVED_MODEL_SCHEMA_VERSION
saved_model <- saved_model.constants : ASSETS_DIRECTORY SAVED_MODEL_FILENAME_PB SAVED_MODEL_FILENAME_PBTXT
saved_model <- saved_model.constants : VARIABLES_DIRECTORY VARIABLES_FILENAME
sparse <- tf : SparseConditionalAccumulator SparseTensor
contrib.slim <- contrib.framework : assign_from_checkpoint assign_from_checkpoint_fn get_global_step
contrib.slim <- contrib.framework : arg_scoped_arguments assert_or_get_global_step
contrib.slim <- contrib.layers : bucketize
contrib.slim <- train : assert_global_step create_global_step
contrib.framework <- train : assert_global_step create_global_step
contrib.framework <- debugging : assert_same_float_dtype assert_scalar
"""


def _parsed(table: str) -> dict[str, str]:
    """Returns the originals by alias."""
    result = {}
    for line in filter(None, map(str.strip, table.splitlines())):
        places, _, names = line.partition(":")
        place, source = (part.strip() for part in places.split("<-"))
        for name in names.split():
            alias, _, original = name.partition("=")
            prefix = f"{place}." if place != "tf" else ""
            origin = f"{source}." if source != "tf" else ""
            result[prefix + alias] = origin + (original or alias)
    return result


ALIASES: Mapping[str, str] = _parsed(_TABLE)
