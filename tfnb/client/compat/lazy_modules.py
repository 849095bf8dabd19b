"""The public names whose modules load when a program uses one of them, so that `import tfnb` does not pay for them.

Each line is "places : module : names"; see `lazy_names`. Invariant: the names of a module stand in one line for each
set of places.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.namespace import lazy_names

__all__ = ["API"]

_TABLE = """
tf debugging : tfnb.client.logging.late_checks : assert_near assert_proper_iterable assert_rank_in
tf debugging : tfnb.client.logging.late_checks : assert_same_float_dtype assert_scalar
debugging : tfnb.client.logging.late_checks : assert_shapes
distributions contrib.distributions : tfnb.client.distributions.distribution : Distribution
distributions contrib.distributions : tfnb.client.distributions.distribution : FULLY_REPARAMETERIZED
distributions contrib.distributions : tfnb.client.distributions.distribution : NOT_REPARAMETERIZED RegisterKL
distributions contrib.distributions : tfnb.client.distributions.distribution : ReparameterizationType kl_divergence
distributions contrib.distributions : tfnb.client.distributions.continuous : Beta Exponential Gamma Laplace Normal
distributions contrib.distributions : tfnb.client.distributions.continuous : StudentT
distributions contrib.distributions : tfnb.client.distributions.continuous : Uniform
distributions contrib.distributions : tfnb.client.distributions.discrete : Bernoulli Categorical
distributions contrib.distributions : tfnb.client.distributions.vectors : Dirichlet DirichletMultinomial Multinomial
contrib.distributions : tfnb.client.distributions.discrete : OneHotCategorical Poisson
contrib.distributions : tfnb.client.distributions.vectors : MultivariateNormalDiag
contrib.losses contrib.slim.losses : tfnb.client.contrib.losses : absolute_difference compute_weighted_loss
contrib.losses contrib.slim.losses : tfnb.client.contrib.losses : cosine_distance hinge_loss log_loss
contrib.losses contrib.slim.losses : tfnb.client.contrib.losses : mean_pairwise_squared_error mean_squared_error
contrib.losses contrib.slim.losses : tfnb.client.contrib.losses : sigmoid_cross_entropy softmax_cross_entropy
contrib.losses contrib.slim.losses : tfnb.client.contrib.losses : sparse_softmax_cross_entropy
app : tfnb.client.platform.flags : run
flags app.flags : tfnb.client.platform.flags : DEFINE_bool DEFINE_boolean DEFINE_enum DEFINE_float DEFINE_integer
flags app.flags : tfnb.client.platform.flags : DEFINE_list DEFINE_multi_enum DEFINE_multi_float DEFINE_multi_integer
flags app.flags : tfnb.client.platform.flags : DEFINE_multi_string DEFINE_spaceseplist DEFINE_string FLAGS
flags app.flags : tfnb.client.platform.flags : mark_flag_as_required mark_flags_as_required
flags app.flags : absl.flags : ArgumentParser ArgumentSerializer BaseListParser BooleanFlag BooleanParser
flags app.flags : absl.flags : CantOpenFlagFileError CsvListSerializer DEFINE DEFINE_alias DEFINE_flag
flags app.flags : absl.flags : DEFINE_multi DuplicateFlagError EnumFlag EnumParser Error Flag
flags app.flags : absl.flags : FlagNameConflictsWithMethodError
flags app.flags : absl.flags : FlagValues FloatParser IllegalFlagValueError IntegerParser ListParser ListSerializer
flags app.flags : absl.flags : MultiFlag UnparsedFlagAccessError UnrecognizedFlagError ValidationError
flags app.flags : absl.flags : WhitespaceSeparatedListParser adopt_module_key_flags declare_key_flag disclaim_key_flags
flags app.flags : absl.flags : doc_to_help flag_dict_to_args get_help_width mark_bool_flags_as_mutual_exclusive
flags app.flags : absl.flags : mark_flags_as_mutual_exclusive multi_flags_validator register_multi_flags_validator
flags app.flags : absl.flags : register_validator text_wrap validator
io.gfile : tfnb.client.platform.late_gfile : copy exists glob isdir listdir makedirs mkdir remove
io.gfile : tfnb.client.platform.late_gfile : rename rmtree stat walk
contrib.lookup : tfnb.client.lookup.tables : FastHashSpec HashTable HasherSpec IdTableWithHashBuckets
contrib.lookup : tfnb.client.lookup.tables : InitializableLookupTableBase LookupInterface MutableDenseHashTable
contrib.lookup : tfnb.client.lookup.tables : MutableHashTable StrongHashSpec TableInitializerBase
contrib.lookup : tfnb.client.lookup.tables : TextFileIdTableInitializer TextFileStringTableInitializer
contrib.lookup lookup : tfnb.client.lookup.tables : KeyValueTensorInitializer StaticHashTable StaticVocabularyTable
contrib.lookup lookup : tfnb.client.lookup.tables : TextFileIndex TextFileInitializer
lookup.experimental : tfnb.client.lookup.tables : DenseHashTable
contrib.lookup : tfnb.client.lookup.vocabularies : index_table_from_file index_table_from_tensor index_to_string
contrib.lookup : tfnb.client.lookup.vocabularies : index_to_string_table_from_file string_to_index
contrib.lookup : tfnb.client.lookup.vocabularies : index_to_string_table_from_tensor
contrib.lookup : tfnb.client.lookup.vocabularies : string_to_index_table_from_file=index_table_from_file
contrib.lookup : tfnb.client.lookup.vocabularies : string_to_index_table_from_tensor=index_table_from_tensor
tf initializers : tfnb.client.lookup.vocabularies : tables_initializer
tf : tfnb.client.lookup.vocabularies : initialize_all_tables=tables_initializer
contrib.seq2seq : tfnb.client.seq2seq.decoder : BasicDecoder BasicDecoderOutput Decoder dynamic_decode
contrib.seq2seq : tfnb.client.seq2seq.helpers : CustomHelper GreedyEmbeddingHelper Helper InferenceHelper
contrib.seq2seq : tfnb.client.seq2seq.helpers : SampleEmbeddingHelper ScheduledEmbeddingTrainingHelper
contrib.seq2seq : tfnb.client.seq2seq.helpers : ScheduledOutputTrainingHelper TrainingHelper
contrib.seq2seq : tfnb.client.seq2seq.attention : AttentionMechanism BahdanauAttention BahdanauMonotonicAttention
contrib.seq2seq : tfnb.client.seq2seq.attention : LuongAttention LuongMonotonicAttention hardmax monotonic_attention
contrib.seq2seq : tfnb.client.seq2seq.attention : safe_cumprod
contrib.seq2seq : tfnb.client.seq2seq.attention_wrapper : AttentionWrapper AttentionWrapperState
contrib.seq2seq.python.ops.attention_wrapper : tfnb.client.seq2seq.attention_wrapper : _compute_attention=attend
python.feature_column.feature_column : tfnb.client.feature_columns.class_names : _BucketizedColumn _CategoricalColumn
python.feature_column.feature_column : tfnb.client.feature_columns.class_names : _CrossedColumn _DenseColumn
python.feature_column.feature_column : tfnb.client.feature_columns.class_names : _EmbeddingColumn _FeatureColumn
python.feature_column.feature_column : tfnb.client.feature_columns.class_names : _HashedCategoricalColumn
python.feature_column.feature_column : tfnb.client.feature_columns.class_names : _IdentityCategoricalColumn
python.feature_column.feature_column : tfnb.client.feature_columns.class_names : _IndicatorColumn _NumericColumn
python.feature_column.feature_column : tfnb.client.feature_columns.class_names : _SequenceCategoricalColumn
python.feature_column.feature_column : tfnb.client.feature_columns.class_names : _SharedEmbeddingColumn
python.feature_column.feature_column : tfnb.client.feature_columns.class_names : _VocabularyFileCategoricalColumn
python.feature_column.feature_column : tfnb.client.feature_columns.class_names : _VocabularyListCategoricalColumn
python.feature_column.feature_column : tfnb.client.feature_columns.class_names : _WeightedCategoricalColumn
python.feature_column.feature_column_v2 : tfnb.client.feature_columns.class_names : BucketizedColumn CategoricalColumn
python.feature_column.feature_column_v2 : tfnb.client.feature_columns.class_names : CrossedColumn
python.feature_column.feature_column_v2 : tfnb.client.feature_columns.class_names : DenseColumn
python.feature_column.feature_column_v2 : tfnb.client.feature_columns.class_names : EmbeddingColumn
python.feature_column.feature_column_v2 : tfnb.client.feature_columns.class_names : FeatureColumn
python.feature_column.feature_column_v2 : tfnb.client.feature_columns.class_names : HashedCategoricalColumn
python.feature_column.feature_column_v2 : tfnb.client.feature_columns.class_names : IdentityCategoricalColumn
python.feature_column.feature_column_v2 : tfnb.client.feature_columns.class_names : IndicatorColumn
python.feature_column.feature_column_v2 : tfnb.client.feature_columns.class_names : NumericColumn
python.feature_column.feature_column_v2 : tfnb.client.feature_columns.class_names : SequenceCategoricalColumn
python.feature_column.feature_column_v2 : tfnb.client.feature_columns.class_names : VocabularyFileCategoricalColumn
python.feature_column.feature_column_v2 : tfnb.client.feature_columns.class_names : VocabularyListCategoricalColumn
python.feature_column.feature_column_v2 : tfnb.client.feature_columns.class_names : WeightedCategoricalColumn
contrib.seq2seq.python.ops.attention_wrapper : tfnb.client.seq2seq.attention : _bahdanau_score=additive_score
contrib.seq2seq.python.ops.attention_wrapper : tfnb.client.seq2seq.attention : _BaseAttentionMechanism
contrib.seq2seq.python.ops.attention_wrapper : tfnb.client.seq2seq.attention : _luong_score=multiplicative_score
contrib.seq2seq : tfnb.client.seq2seq.beam_search : BeamSearchDecoder BeamSearchDecoderOutput
contrib.seq2seq : tfnb.client.seq2seq.beam_search : BeamSearchDecoderState FinalBeamSearchDecoderOutput tile_batch
xla.experimental : tfnb.client.graph.compiler_scopes : jit_scope
contrib.compiler.jit python.compiler.xla.jit : tfnb.client.graph.compiler_scopes : experimental_jit_scope=jit_scope
python.client.session : tfnb.session.conversions : register_session_run_conversion_functions
tf : tfnb.ir.messages : TensorInfo
train : tfnb.ir.messages : ClusterDef JobDef SaverDef ServerDef
tf : tfnb.client.compat.type_specs : IndexedSlicesSpec SparseTensorSpec TensorArraySpec TensorSpec TypeSpec
tf : tfnb.client.compat.type_specs : RaggedTensorSpec
data.experimental : tfnb.client.compat.type_specs : RaggedTensorStructure SparseTensorStructure Structure=TypeSpec
data.experimental : tfnb.client.compat.type_specs : TensorArrayStructure TensorStructure get_structure
signal : tfnb.client.compat.cosine_transforms : dct fftshift idct ifftshift
spectral : tfnb.client.compat.cosine_transforms : dct idct
data.experimental : tfnb.client.dataset.experimental : AUTOTUNE Counter INFINITE_CARDINALITY RandomDataset
data.experimental : tfnb.client.dataset.experimental : UNKNOWN_CARDINALITY choose_from_datasets enumerate_dataset
data.experimental : tfnb.client.dataset.experimental : make_batched_features_dataset parse_example_dataset
data.experimental : tfnb.client.dataset.experimental : sample_from_datasets take_while unique
data : tfnb.client.dataset.options : Options
data.experimental : tfnb.client.dataset.options : DistributeOptions MapVectorizationOptions OptimizationOptions
data.experimental : tfnb.client.dataset.options : ThreadingOptions
contrib.training : tfnb.client.contrib.hparams : HParams parse_values
data : tfnb.client.dataset.late_functions : DatasetSpec get_output_classes
data.experimental : tfnb.client.dataset.late_functions : DatasetStructure=DatasetSpec copy_to_device from_variant
data.experimental : tfnb.client.dataset.late_functions : get_single_element map_and_batch_with_legacy_function
data.experimental : tfnb.client.dataset.late_functions : rejection_resample to_variant
tf : tfnb.client.compat.late_core : extract_volume_patches get_logger
tf quantization : tfnb.client.compat.late_core : quantized_concat
quantization : tfnb.client.compat.late_core : quantize_and_dequantize
tf io : tfnb.client.compat.late_core : decode_compressed
audio : tfnb.client.compat.late_core : decode_wav encode_wav
nn : tfnb.client.compat.late_core : avg_pool_v2 compute_average_loss ctc_loss_v2 max_pool_v2
nn : tfnb.client.compat.late_core : scale_regularization_loss
sparse : tfnb.client.compat.late_core : cross cross_hashed expand_dims eye=sparse_eye
logging : tfnb.client.compat.late_core : TaskLevelStatusMessage=task_level_status_message
graph_util : tfnb.client.compat.late_core : must_run_on_cpu
linalg : tfnb.client.linear_operators.api : LinearOperator LinearOperatorAdjoint LinearOperatorBlockDiag
linalg : tfnb.client.linear_operators.api : LinearOperatorCirculant LinearOperatorCirculant2D
linalg : tfnb.client.linear_operators.api : LinearOperatorCirculant3D LinearOperatorComposition LinearOperatorDiag
linalg : tfnb.client.linear_operators.api : LinearOperatorFullMatrix LinearOperatorHouseholder LinearOperatorIdentity
linalg : tfnb.client.linear_operators.api : LinearOperatorInversion LinearOperatorKronecker
linalg : tfnb.client.linear_operators.api : LinearOperatorLowRankUpdate LinearOperatorLowerTriangular
linalg : tfnb.client.linear_operators.api : LinearOperatorScaledIdentity LinearOperatorToeplitz LinearOperatorZeros
python.ops.linalg.linear_operator_addition : tfnb.client.linear_operators.batched : add_operators
python.util.all_util : tfnb.client.contrib.framework.library_functions : make_all remove_undocumented
python.util.lazy_loader : tfnb.client.contrib.framework.library_functions : LazyLoader
python.util.deprecation : tfnb.client.contrib.framework.library_functions : deprecated_argument_lookup
python.util.deprecation : tfnb.client.contrib.framework.deprecation : silence
python.ops.array_ops : tfnb.client.contrib.framework.library_functions : rank_internal shape_internal size_internal
python.ops.weights_broadcast_ops : tfnb.client.contrib.framework.library_functions : assert_broadcastable
python.ops.weights_broadcast_ops : tfnb.client.contrib.framework.library_functions : broadcast_weights
python.framework.ops : tfnb.client.contrib.framework.library_functions : convert_to_tensor_v2
python.framework.ops : tfnb.client.contrib.framework.library_functions : internal_convert_to_tensor
python.layers.utils : tfnb.client.contrib.framework.library_functions : normalize_data_format
python.keras.utils.conv_utils : tfnb.client.contrib.framework.library_functions : normalize_data_format
python.ops.nn_ops : tfnb.client.contrib.framework.library_functions : Convolution
python.keras.utils.tf_utils : tfnb.client.contrib.framework.library_functions : register_symbolic_tensor_type
python.ops.control_flow_ops : tfnb.client.control_flow.control_context : ControlFlowContext=Context
python.ops.resource_variable_ops : tfnb.client.contrib.framework.library_facts : is_resource_variable
python.framework.op_def_registry : tfnb.client.contrib.framework.library_facts : get_registered_ops
contrib.tpu.python.tpu.tpu_function : tfnb.client.contrib.framework.library_facts : get_tpu_context
python.tpu.tpu_function : tfnb.client.contrib.framework.library_facts : get_tpu_context
python.framework.test_util : tfnb.train.testing_modes : run_all_in_graph_and_eager_modes run_in_graph_and_eager_modes
python.framework.test_util : tfnb.train.testing_modes : run_all_in_deprecated_graph_mode_only=run_only_in_graph
python.framework.test_util : tfnb.train.testing_modes : run_deprecated_v1=run_only_in_graph run_v1_only=unconditionally
python.framework.test_util : tfnb.train.testing_modes : assert_no_garbage_created=unchanged
python.framework.test_util : tfnb.train.testing_modes : assert_no_new_tensors=unchanged
python.framework.test_util : tfnb.train.testing_modes : disable_xla=unconditionally enable_c_shapes=unchanged
python.framework.test_util : tfnb.train.testing_modes : with_c_shapes=unchanged
contrib.eager : tfnb.train.testing_modes : run_all_tests_in_graph_and_eager_modes=run_all_in_graph_and_eager_modes
contrib.eager : tfnb.train.testing_modes : run_test_in_graph_and_eager_modes=run_in_graph_and_eager_modes
python.ops.linalg.linear_operator_util : tfnb.client.linear_operators.batched : assert_is_batch_matrix
python.ops.linalg.linear_operator_util : tfnb.client.linear_operators.batched : assert_compatible_matrix_dimensions
python.ops.linalg.linear_operator_util : tfnb.client.linear_operators.batched : assert_zero_imag_part
python.ops.linalg.linear_operator_util : tfnb.client.linear_operators.batched : assert_no_entries_with_modulus_zero
python.ops.linalg.linear_operator_util : tfnb.client.linear_operators.batched : shape_tensor
python.ops.linalg.linear_operator_util : tfnb.client.linear_operators.batched : broadcast_matrix_batch_dims
python.ops.linalg.linear_operator_util : tfnb.client.linear_operators.batched : matmul_with_broadcast
python.ops.linalg.linear_operator_util : tfnb.client.linear_operators.batched : cholesky_solve_with_broadcast
python.ops.linalg.linear_operator_util : tfnb.client.linear_operators.batched : matrix_solve_with_broadcast
python.ops.linalg.linear_operator_util : tfnb.client.linear_operators.batched : matrix_triangular_solve_with_broadcast
"""
API: dict[str, Any] = dict(lazy_names(_TABLE))
