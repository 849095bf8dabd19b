"""The composed functions and classes that only add operations to a graph, by module and name.

Functions that are derived from an op's definition need no line here: such a function adds one node. Left out is what
reads or writes files, executes a text, imports by name, runs a session, prints, or changes the library for others.
Invariant: a function that is in no line is not called by the builder, so a new one is refused until somebody lists it.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfnb import frontend

__all__ = ["listed"]


def listed() -> Iterator[tuple[str, str]]:
    """Yields the module and the name of each function and class here and in the tables of `tfnb.frontend`."""
    for package, table in {"tfnb": _TABLE, **frontend.graph_functions()}.items():
        module = ""
        for word in table.split():
            if word.endswith(":"):
                module = f"{package}.{word[:-1]}"
            else:
                yield module, word


_TABLE = """
client.control_flow.cond: case cond smart_cond
client.control_flow.map_fold_scan: foldl foldr map_fn scan
client.control_flow.primitives: enter exit_ loop_cond merge next_iteration switch with_dependencies
client.control_flow.tensor_array: TensorArray
client.control_flow.while_loop: while_loop
client.dataset.api: FixedLengthRecordDataset TFRecordDataset TextLineDataset batch_and_drop_remainder
  get_output_shapes get_output_types ignore_errors make_initializable_iterator make_one_shot_iterator map_and_batch
  padded_batch_and_drop_remainder parallel_interleave prefetch_to_device shuffle_and_repeat sliding_window_batch
  unbatch
client.dataset.csv_datasets: CsvDataset
client.dataset.data_nest: assert_same_structure flatten is_sequence map_structure pack_sequence_as
client.dataset.dataset: Dataset
client.dataset.experimental: Counter RandomDataset choose_from_datasets enumerate_dataset parse_example_dataset
  sample_from_datasets take_while unique
client.dataset.groups: bucket_by_sequence_length group_by_window scan
client.dataset.iterators: Iterator
client.dataset.variants_resampling: DatasetSpec copy_to_device from_variant get_output_classes get_single_element
  map_and_batch_with_legacy_function rejection_resample to_variant
client.dataset.options: DistributeOptions MapVectorizationOptions OptimizationOptions Options ThreadingOptions
client.gradients.backprop: AggregationMethod gradients hessians
client.gradients.recompute: recompute recompute_grad
client.graph.default_graph: add_to_collection add_to_collections colocate_with container control_dependencies
  convert_to_tensor_or_indexed_slices convert_to_tensor_or_sparse_tensor device get_collection get_collection_ref
  name_scope op_scope
client.graph.graph_def: import_graph_def
client.layers.base: Input Layer average_pooling1d average_pooling2d average_pooling3d conv1d conv2d conv2d_transpose
  conv3d conv3d_transpose dense flatten gdn max_pooling1d max_pooling2d max_pooling3d separable_conv1d
  separable_conv2d
client.layers.chain: Chain chain chain_defaults
client.layers.conv_layers: Conv1D Conv2D Conv2DTranspose Conv3D Conv3DTranspose SeparableConv1D SeparableConv2D
client.layers.dense_layers: Dense Flatten
client.layers.input_spec: InputSpec
client.layers.norm_layers: BatchNormalization Dropout batch_normalization dropout
client.layers.pool_layers: AveragePooling1D AveragePooling2D AveragePooling3D MaxPooling1D MaxPooling2D MaxPooling3D
client.logging.rank_dtype_checks: assert_near assert_proper_iterable assert_rank_in assert_same_float_dtype
  assert_scalar assert_shapes
client.logging.numeric_checks: add_check_numerics_ops
client.logging.summaries: audio audio_summary get_summary_description histogram histogram_summary image image_summary
  merge merge_all merge_all_summaries merge_summary scalar scalar_summary tensor_summary text
client.losses_metrics.losses: Reduction absolute_difference add_loss compute_weighted_loss cosine_distance get_losses
  get_regularization_loss get_regularization_losses get_total_loss hinge_loss huber_loss log_loss
  mean_pairwise_squared_error mean_squared_error sigmoid_cross_entropy softmax_cross_entropy
  sparse_softmax_cross_entropy
client.losses_metrics.metrics: accuracy batch_accuracy mean mean_absolute_error mean_cosine_distance mean_iou
  mean_per_class_accuracy mean_relative_error mean_squared_error mean_tensor percentage_below root_mean_squared_error
  streaming_accuracy streaming_mean_absolute_error streaming_mean_cosine_distance streaming_mean_iou
  streaming_mean_per_class_accuracy streaming_mean_relative_error streaming_mean_squared_error
  streaming_root_mean_squared_error
client.losses_metrics.metrics_at_k: average_precision_at_k precision_at_k precision_at_top_k recall_at_k
  recall_at_top_k streaming_sparse_precision_at_k streaming_sparse_recall_at_k
client.losses_metrics.metrics_confusion: auc false_negatives false_negatives_at_thresholds false_positives
  false_positives_at_thresholds precision precision_at_thresholds recall recall_at_thresholds
  sensitivity_at_specificity specificity_at_sensitivity streaming_auc streaming_false_negatives
  streaming_false_negatives_at_thresholds streaming_false_positives streaming_false_positives_at_thresholds
  streaming_precision streaming_precision_at_thresholds streaming_recall streaming_recall_at_thresholds
  streaming_sensitivity_at_specificity streaming_specificity_at_sensitivity streaming_true_negatives
  streaming_true_negatives_at_thresholds streaming_true_positives streaming_true_positives_at_thresholds
  true_negatives true_negatives_at_thresholds true_positives true_positives_at_thresholds
client.losses_metrics.sampled_losses: nce_loss sampled_softmax_loss
client.rnn.cell_wrappers: DeviceWrapper DropoutWrapper EmbeddingWrapper InputProjectionWrapper OutputProjectionWrapper
  ResidualWrapper
client.rnn.cells: BasicLSTMCell BasicRNNCell GRUCell LSTMCell LSTMStateTuple MultiRNNCell RNNCell like_cell
client.rnn.dynamic_rnn: bidirectional_dynamic_rnn dynamic_rnn raw_rnn
client.rnn.linear_map: LinearMap linear_map
client.rnn.seq2seq: attention_decoder basic_rnn_seq2seq embedding_attention_decoder embedding_attention_seq2seq
  embedding_rnn_decoder embedding_rnn_seq2seq embedding_tied_rnn_seq2seq model_with_buckets rnn_decoder
  tied_rnn_seq2seq
client.rnn.sequence_losses: sequence_loss sequence_loss_by_example
client.rnn.static_rnn: state_saving_rnn static_bidirectional_rnn static_rnn
client.signal.spectra: frame hamming_window hann_window inverse_stft inverse_stft_window_fn
  linear_to_mel_weight_matrix mfccs_from_log_mel_spectrograms overlap_and_add stft
client.sync.accumulators: ConditionalAccumulator ConditionalAccumulatorBase CriticalSection
  SparseConditionalAccumulator
client.sync.barriers: Barrier
client.sync.queues: FIFOQueue PaddingFIFOQueue PriorityQueue QueueBase RandomShuffleQueue
client.variables.creators: variable_creator_scope
client.variables.embedding: embedding_lookup embedding_lookup_sparse safe_embedding_lookup_sparse
client.variables.initializers: Constant Identity Initializer Ones Orthogonal RandomNormal RandomUniform
  TruncatedNormal UniformUnitScaling VarianceScaling Zeros default_initializer glorot_normal glorot_uniform he_normal
  he_uniform lecun_normal lecun_uniform variance_scaling_initializer xavier_initializer
client.variables.partitioned: PartitionedVariable
client.variables.partitioners: create_partitioned_variables fixed_size_partitioner min_max_variable_partitioner
  variable_axis_size_partitioner
client.variables.regularizers: apply_regularization l1_l2_regularizer l1_regularizer l2_regularizer sum_regularizer
client.variables.replication: UnconnectedGradients VariableAggregation VariableSynchronization
client.variables.scope: VariableScope get_local_variable get_variable get_variable_scope pure_variable_scope
  variable_op_scope variable_scope
client.variables.template: make_template
client.variables.variable: Variable assert_variables_initialized global_variables global_variables_initializer group
  initialize_all_variables local_variables local_variables_initializer model_variables moving_average_variables
  report_uninitialized_variables trainable_variables tuple_ variables_initializer
ir.builder: GraphBuilder
ir.default: get_default_graph
ir.sparse: IndexedSlicesValue SparseTensor SparseTensorValue
ir.tensor: Tensor is_tensor_like
ops.array.array_functions: batch_gather confusion_matrix eye lbeta log_sigmoid polyval reciprocal_no_nan
  reduce_euclidean_norm reduce_std reduce_variance repeat scalar_mul to_complex128 to_complex64 trace where_v2
ops.array.batch_functions: gather gather_nd
ops.array.concat: concat pack parallel_stack split stack unpack unstack
ops.array.constants: constant convert_to_tensor ones ones_like range_ zeros zeros_like
ops.array.gather_nd: sparse_to_dense
ops.array.identity: ensure_shape guarantee_const identity_n
ops.array.placeholder: placeholder placeholder_with_default sparse_placeholder
ops.array.searchsorted: searchsorted
ops.array.shape_ops: expand_dims rank shape size squeeze
ops.array.sort_roll_reverse: argsort reverse_sequence sort
ops.array.space_batch: batch_to_space depth_to_space required_space_to_batch_paddings space_to_batch space_to_depth
ops.array.tile_reverse_mirror: pad reverse
ops.array.top_k: in_top_k top_k
ops.array.transpose_pad_tile: slice_ transpose
ops.array.select_broadcast: broadcast_dynamic_shape broadcast_static_shape shape_n
ops.array.where_partition: boolean_mask meshgrid sequence_mask unique where
ops.conv_pool.conv_functions: atrous_conv2d atrous_conv2d_transpose conv1d conv1d_transpose conv2d
  conv2d_backprop_filter conv2d_backprop_input conv2d_transpose conv3d conv3d_backprop_filter conv3d_transpose
  conv_transpose convolution
ops.conv_pool.depthwise: depthwise_conv2d depthwise_conv2d_backprop_filter depthwise_conv2d_backprop_input
  depthwise_conv2d_native separable_conv2d
ops.conv_pool.dilation: dilation2d erosion2d
ops.conv_pool.fractional_pool: fractional_avg_pool fractional_max_pool
ops.conv_pool.pool_argmax: max_pool_with_argmax
ops.conv_pool.pool_functions: avg_pool avg_pool1d avg_pool3d max_pool max_pool1d max_pool3d
ops.conv_pool.space_windows: pool with_space_to_batch
ops.image.boxes: non_max_suppression sample_distorted_bounding_box
ops.image.codecs: decode_image decode_png extract_jpeg_shape
ops.image.color: adjust_brightness adjust_contrast adjust_gamma adjust_hue adjust_saturation convert_image_dtype
  grayscale_to_rgb per_image_standardization psnr random_brightness random_contrast random_hue random_saturation
  rgb_to_grayscale
ops.image.crop_pad_flip: ResizeMethod central_crop crop_to_bounding_box flip_left_right flip_up_down function
  pad_to_bounding_box random_flip_left_right random_flip_up_down resize_image_with_crop_or_pad resize_images rot90
  total_variation transpose_image
ops.image.measures: image_gradients resize_image_with_pad rgb_to_yiq rgb_to_yuv sobel_edges ssim ssim_multiscale
  yiq_to_rgb yuv_to_rgb
ops.image.patches: crop_and_resize extract_image_patches
ops.image.suppression: adjust_jpeg_quality combined_non_max_suppression draw_bounding_boxes is_jpeg
  non_max_suppression_overlaps non_max_suppression_padded non_max_suppression_with_scores random_jpeg_quality
ops.io.example_functions: FixedLenFeature FixedLenSequenceFeature SparseFeature VarLenFeature parse_example
  parse_single_example parse_single_sequence_example
ops.io.files: decode_csv decode_raw
ops.io.serialized_tensors: deserialize_many_sparse parse_tensor serialize_many_sparse serialize_sparse
  serialize_tensor
ops.linalg.band_part: matrix_transpose
ops.linalg.decompositions: cholesky cholesky_solve logdet matrix_determinant matrix_inverse matrix_solve
  matrix_solve_ls matrix_triangular_solve qr self_adjoint_eig self_adjoint_eigvals slogdet svd
ops.linalg.diag: one_hot
ops.linalg.einsum: einsum
ops.linalg.bands_tridiagonal: matrix_diag matrix_diag_part matrix_set_diag tridiagonal_matmul tridiagonal_solve
ops.linalg.matmul: batch_matmul matmul
ops.linalg.matrix_functions: adjoint_of expm logm lu lu_matrix_inverse lu_reconstruct lu_solve matrix_rank matvec norm
  normalize pinv sqrtm
ops.linalg.tensordot: tensordot
ops.logging.assertions: assert_equal assert_greater assert_greater_equal assert_integer assert_less assert_less_equal
  assert_negative assert_non_negative assert_non_positive assert_none_equal assert_positive assert_rank
  assert_rank_at_least assert_type is_non_decreasing is_numeric_tensor is_strictly_increasing
ops.logging.print_assert: assert_that print_ verify_tensor_all_finite
ops.math.binary: accumulate_n add_n div floordiv truediv
ops.math.cast: cast to_bfloat16 to_double to_float to_int32 to_int64
ops.math.clip: clip_by_average_norm clip_by_global_norm clip_by_norm clip_by_value global_norm saturate_cast
ops.math.compare: logical_xor
ops.math.complex_numbers: angle complex_ complex_abs conj imag real
ops.math.fft: transform
ops.math.host_math: bessel_i0 bessel_i1 cumulative_logsumexp fingerprint
ops.math.reduce_functions: argmax argmin count_nonzero reduce_all reduce_any reduce_logsumexp reduce_max reduce_mean
  reduce_min reduce_prod reduce_sum
ops.math.scan: cumprod cumsum
ops.math.segment: unsorted_segment_mean unsorted_segment_sqrt_n
ops.math.segment_sparse: call
ops.math.unary: absolute
ops.math.unique_bincount: bincount histogram_fixed_width histogram_fixed_width_bins setdiff1d unique_with_counts
ops.math.buckets_norms_bessel: bucketize
ops.nn.batch_norm: fused_batch_norm
ops.nn.bias_dropout_moments: batch_norm_with_global_normalization batch_normalization bias_add crelu dropout
  l2_normalize moments relu_layer xw_plus_b zero_fraction
ops.nn.ctc: ctc_loss
ops.nn.ctc_decode: ctc_beam_search_decoder ctc_beam_search_decoder_v2 ctc_greedy_decoder
ops.nn.losses: log_poisson_loss log_softmax sigmoid_cross_entropy_with_logits softmax
  softmax_cross_entropy_with_logits softmax_cross_entropy_with_logits_v2 sparse_softmax_cross_entropy_with_logits
  weighted_cross_entropy_with_logits
ops.nn.quantize: dequantize quantize_v2
ops.nn.quantized_nn: quantized_conv2d
ops.nn.sufficient_statistics: normalize_moments sufficient_statistics swish weighted_moments
ops.random.candidate_samplers: compute_accidental_hits fixed_unigram_candidate_sampler
  learned_unigram_candidate_sampler log_uniform_candidate_sampler uniform_candidate_sampler
ops.random.functions: categorical get_seed multinomial random_crop random_normal random_shuffle random_uniform
  set_random_seed truncated_normal
ops.random.gamma_poisson: parameterized_truncated_normal random_gamma random_poisson
ops.random.learned_candidate_samplers: all_candidate_sampler
ops.random.stateless: stateless_categorical stateless_multinomial stateless_normal stateless_truncated_normal
  stateless_uniform
ops.sparse.edit_distance: edit_distance
ops.sparse.functions: from_dense sparse_add sparse_concat sparse_fill_empty_rows sparse_mask sparse_maximum
  sparse_merge sparse_minimum sparse_reorder sparse_reshape sparse_retain sparse_slice sparse_softmax sparse_split
  sparse_tensor_dense_matmul sparse_tensor_to_dense sparse_to_indicator sparse_transpose to_dense to_sparse
ops.sparse.reset_shape: sparse_reset_shape
ops.sparse.sets: set_difference set_intersection set_size set_union
ops.state.scatter: call scatter_add scatter_div scatter_max scatter_min scatter_mul scatter_sub scatter_update
ops.state.scatter_nd: call scatter_nd_add scatter_nd_max scatter_nd_min scatter_nd_sub scatter_nd_update
ops.state.session_tensors: delete_session_tensor get_session_handle get_session_tensor
ops.state.slice_assign: strided_slice
ops.state.variables: assign assign_add assign_sub count_up_to is_variable_initialized
ops.strings.convert: regex_replace string_to_number
ops.strings.hashing: string_to_hash_bucket
ops.strings.join_split: reduce_join string_length string_split string_split_v2
ops.strings.unicode: string_format unicode_transcode unsorted_segment_join
train.input.batching: batch batch_join maybe_batch maybe_batch_join maybe_shuffle_batch maybe_shuffle_batch_join
  shuffle_batch shuffle_batch_join
train.input.bucketing: bucket bucket_by_sequence_length
train.input.producers: input_producer limit_epochs range_input_producer slice_input_producer string_input_producer
train.input.queue_runner: QueueRunner add_queue_runner
train.optimizers.base: Optimizer
train.optimizers.global_step: assert_global_step assert_or_get_global_step create_global_step get_global_step
  get_or_create_global_step global_step
train.optimizers.learning_rate_decay: cosine_decay cosine_decay_restarts exponential_decay inverse_time_decay
  linear_cosine_decay natural_exp_decay noisy_linear_cosine_decay piecewise_constant polynomial_decay
train.optimizers.moving_averages: ExponentialMovingAverage assign_moving_average weighted_moving_average
train.optimizers.optimize_loss: optimize_loss
train.optimizers.sync_replicas: SyncReplicasOptimizer
train.optimizers.update_rules: AdadeltaOptimizer AdagradDAOptimizer AdagradOptimizer AdamOptimizer FtrlOptimizer
  GradientDescentOptimizer MomentumOptimizer ProximalAdagradOptimizer ProximalGradientDescentOptimizer
  RMSPropOptimizer
train.saving.saver: Saver
types: DType Shape TensorSpec as_dtype as_shape
"""
