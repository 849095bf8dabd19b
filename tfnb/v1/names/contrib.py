"""The public names of `tf.contrib`, whose modules load when a program uses one of them.

Each line is "places : module : names"; see `lazy_names`. Invariant: the names of a module stand in one line for each
set of places.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.namespace import lazy_names

__all__ = ["API"]

_TABLE = """
distributions contrib.distributions : tfnb.v1.distributions.distribution : Distribution
distributions contrib.distributions : tfnb.v1.distributions.distribution : FULLY_REPARAMETERIZED
distributions contrib.distributions : tfnb.v1.distributions.distribution : NOT_REPARAMETERIZED RegisterKL
distributions contrib.distributions : tfnb.v1.distributions.distribution : ReparameterizationType kl_divergence
distributions contrib.distributions : tfnb.v1.distributions.continuous : Beta Exponential Gamma Laplace Normal
distributions contrib.distributions : tfnb.v1.distributions.continuous : StudentT
distributions contrib.distributions : tfnb.v1.distributions.continuous : Uniform
distributions contrib.distributions : tfnb.v1.distributions.discrete : Bernoulli Categorical
distributions contrib.distributions : tfnb.v1.distributions.vectors : Dirichlet DirichletMultinomial Multinomial
contrib.distributions : tfnb.v1.distributions.discrete : OneHotCategorical Poisson
contrib.distributions : tfnb.v1.distributions.vectors : MultivariateNormalDiag
contrib.losses contrib.slim.losses : tfnb.v1.contrib.losses : absolute_difference compute_weighted_loss
contrib.losses contrib.slim.losses : tfnb.v1.contrib.losses : cosine_distance hinge_loss log_loss
contrib.losses contrib.slim.losses : tfnb.v1.contrib.losses : mean_pairwise_squared_error mean_squared_error
contrib.losses contrib.slim.losses : tfnb.v1.contrib.losses : sigmoid_cross_entropy softmax_cross_entropy
contrib.losses contrib.slim.losses : tfnb.v1.contrib.losses : sparse_softmax_cross_entropy
contrib.lookup : tfnb.client.lookup.tables : FastHashSpec HashTable HasherSpec IdTableWithHashBuckets
contrib.lookup : tfnb.client.lookup.tables : InitializableLookupTableBase LookupInterface MutableDenseHashTable
contrib.lookup : tfnb.client.lookup.tables : MutableHashTable StrongHashSpec TableInitializerBase
contrib.lookup : tfnb.client.lookup.tables : TextFileIdTableInitializer TextFileStringTableInitializer
contrib.lookup : tfnb.client.lookup.tables : KeyValueTensorInitializer StaticHashTable StaticVocabularyTable
contrib.lookup : tfnb.client.lookup.tables : TextFileIndex TextFileInitializer
contrib.lookup : tfnb.client.lookup.vocabularies : index_table_from_file index_table_from_tensor index_to_string
contrib.lookup : tfnb.client.lookup.vocabularies : index_to_string_table_from_file string_to_index
contrib.lookup : tfnb.client.lookup.vocabularies : index_to_string_table_from_tensor
contrib.lookup : tfnb.client.lookup.vocabularies : string_to_index_table_from_file=index_table_from_file
contrib.lookup : tfnb.client.lookup.vocabularies : string_to_index_table_from_tensor=index_table_from_tensor
contrib.seq2seq : tfnb.v1.seq2seq.decoder : BasicDecoder BasicDecoderOutput Decoder dynamic_decode
contrib.seq2seq : tfnb.v1.seq2seq.helpers : CustomHelper GreedyEmbeddingHelper Helper InferenceHelper
contrib.seq2seq : tfnb.v1.seq2seq.helpers : SampleEmbeddingHelper ScheduledEmbeddingTrainingHelper
contrib.seq2seq : tfnb.v1.seq2seq.helpers : ScheduledOutputTrainingHelper TrainingHelper
contrib.seq2seq : tfnb.v1.seq2seq.attention : AttentionMechanism BahdanauAttention BahdanauMonotonicAttention
contrib.seq2seq : tfnb.v1.seq2seq.attention : LuongAttention LuongMonotonicAttention hardmax monotonic_attention
contrib.seq2seq : tfnb.v1.seq2seq.attention : safe_cumprod
contrib.seq2seq : tfnb.v1.seq2seq.attention_wrapper : AttentionWrapper AttentionWrapperState
contrib.seq2seq.python.ops.attention_wrapper : tfnb.v1.seq2seq.attention_wrapper : _compute_attention=attend
contrib.seq2seq.python.ops.attention_wrapper : tfnb.v1.seq2seq.attention : _bahdanau_score=additive_score
contrib.seq2seq.python.ops.attention_wrapper : tfnb.v1.seq2seq.attention : _BaseAttentionMechanism
contrib.seq2seq.python.ops.attention_wrapper : tfnb.v1.seq2seq.attention : _luong_score=multiplicative_score
contrib.seq2seq : tfnb.v1.seq2seq.beam_search : BeamSearchDecoder BeamSearchDecoderOutput
contrib.seq2seq : tfnb.v1.seq2seq.beam_search : BeamSearchDecoderState FinalBeamSearchDecoderOutput tile_batch
contrib.compiler.jit python.compiler.xla.jit : tfnb.client.graph.compiler_scopes : experimental_jit_scope=jit_scope
contrib.training : tfnb.v1.contrib.training.hparams : HParams parse_values
contrib.tpu.python.tpu.tpu_function : tfnb.v1.contrib.framework.registered_ops : get_tpu_context
contrib.eager : tfnb.train.testing_modes : run_all_tests_in_graph_and_eager_modes=run_all_in_graph_and_eager_modes
contrib.eager : tfnb.train.testing_modes : run_test_in_graph_and_eager_modes=run_in_graph_and_eager_modes
contrib.estimator : tfnb.v1.estimators.early_stopping : InMemoryEvaluatorHook make_early_stopping_hook
contrib.estimator : tfnb.v1.estimators.early_stopping : make_stop_at_checkpoint_step_hook stop_if_higher_hook
contrib.estimator : tfnb.v1.estimators.early_stopping : stop_if_lower_hook stop_if_no_decrease_hook
contrib.estimator : tfnb.v1.estimators.early_stopping : stop_if_no_increase_hook
estimator.experimental contrib.estimator : tfnb.v1.estimators.model_parts : call_logit_fn dnn_logit_fn_builder
estimator.experimental contrib.estimator : tfnb.v1.estimators.model_parts : linear_logit_fn_builder
contrib.estimator : tfnb.v1.estimators.metrics : add_metrics
contrib.estimator : tfnb.v1.estimators.canned : BaselineEstimator DNNEstimator LinearEstimator
contrib.estimator : tfnb.v1.estimators.canned : DNNLinearCombinedEstimator
contrib.estimator : tfnb.v1.estimators.contrib_heads : TowerOptimizer binary_classification_head
contrib.estimator : tfnb.v1.estimators.contrib_heads : clip_gradients_by_norm forward_features logistic_regression_head
contrib.estimator : tfnb.v1.estimators.contrib_heads : multi_class_head multi_head multi_label_head
contrib.estimator : tfnb.v1.estimators.contrib_heads : poisson_regression_head regression_head replicate_model_fn
contrib.estimator : tfnb.v1.estimators.export : build_raw_supervised_input_receiver_fn
contrib.tpu estimator.tpu : tfnb.v1.estimators.without_tpu : InputPipelineConfig TPUConfig TPUEstimator
contrib.tpu estimator.tpu : tfnb.v1.estimators.without_tpu : RunConfig=TPURunConfig TPUEstimatorSpec
contrib.predictor : tfnb.v1.estimators.predictor : from_contrib_estimator from_estimator from_saved_model
contrib.learn : tfnb.v1.learn.model_fn : InputFnOps MetricSpec ModeKeys ModelFnOps PredictionKey ProblemType
contrib.learn : tfnb.v1.learn.model_fn : RunConfig TaskType
contrib.learn : tfnb.v1.learn.estimator : BaseEstimator Estimator Evaluable NotFittedError SKCompat Trainable
contrib.learn : tfnb.v1.learn.canned : DNNClassifier DNNEstimator DNNLinearCombinedClassifier
contrib.learn : tfnb.v1.learn.canned : DNNLinearCombinedEstimator DNNLinearCombinedRegressor DNNRegressor
contrib.learn : tfnb.v1.learn.canned : LinearClassifier LinearEstimator LinearRegressor
contrib.learn : tfnb.v1.learn.canned : infer_real_valued_columns_from_input
contrib.learn : tfnb.v1.learn.canned : infer_real_valued_columns_from_input_fn
contrib.learn.estimators : tfnb.v1.learn.canned : DNNClassifier DNNEstimator DNNLinearCombinedClassifier
contrib.learn.estimators : tfnb.v1.learn.canned : DNNLinearCombinedEstimator DNNLinearCombinedRegressor
contrib.learn.estimators : tfnb.v1.learn.canned : DNNRegressor LinearClassifier LinearEstimator LinearRegressor
contrib.learn.estimators : tfnb.v1.learn.estimator : Estimator SKCompat
contrib.learn.estimators : tfnb.v1.learn.model_fn : RunConfig ModeKeys
contrib.learn.monitors : tfnb.v1.learn.monitors : BaseMonitor CaptureVariable CheckpointSaver EveryN GraphDump
contrib.learn.monitors : tfnb.v1.learn.monitors : LoggingTrainable NanLoss PrintTensor RunHookAdapterForMonitors
contrib.learn.monitors : tfnb.v1.learn.monitors : StepCounter StopAtStep SummarySaver ValidationMonitor
contrib.learn.monitors : tfnb.v1.learn.monitors : get_default_monitors replace_monitors_with_hooks
contrib.learn contrib.learn.monitors : tfnb.train.hooks.basic_hooks : NanLossDuringTrainingError
contrib.learn.graph_actions : tfnb.v1.learn.graph_actions : clear_summary_writers evaluate get_summary_writer
contrib.learn.graph_actions : tfnb.v1.learn.graph_actions : infer run_feeds run_feeds_iter run_n train
contrib.learn : tfnb.v1.learn.graph_actions : evaluate infer run_feeds run_n train
contrib.learn : tfnb.v1.learn.experiment : Experiment ExportStrategy build_parsing_serving_input_fn
contrib.learn : tfnb.v1.learn.experiment : make_export_strategy
contrib.learn.utils : tfnb.v1.learn.experiment : build_default_serving_input_fn build_parsing_serving_input_fn
contrib.learn.utils : tfnb.v1.learn.experiment : make_export_strategy
contrib.learn.utils : tfnb.v1.learn.model_fn : InputFnOps
contrib.learn.learn_runner : tfnb.v1.learn.experiment : run tune
contrib.learn.io : tfnb.v1.learn.io : extract_dask_data extract_dask_labels extract_pandas_data
contrib.learn.io : tfnb.v1.learn.io : extract_pandas_labels extract_pandas_matrix generator_input_fn
contrib.learn.io : tfnb.v1.learn.io : numpy_input_fn pandas_input_fn queue_parsed_features read_batch_examples
contrib.learn.io : tfnb.v1.learn.io : read_batch_features read_batch_record_features read_keyed_batch_examples
contrib.learn.io : tfnb.v1.learn.io : read_keyed_batch_examples_shared_queue read_keyed_batch_features
contrib.learn.io : tfnb.v1.learn.io : read_keyed_batch_features_shared_queue
contrib.learn : tfnb.v1.learn.io : extract_dask_data extract_dask_labels extract_pandas_data extract_pandas_labels
contrib.learn : tfnb.v1.learn.io : extract_pandas_matrix read_batch_examples read_batch_features
contrib.learn : tfnb.v1.learn.io : read_batch_record_features read_keyed_batch_examples
contrib.learn : tfnb.v1.learn.io : read_keyed_batch_examples_shared_queue read_keyed_batch_features
contrib.learn : tfnb.v1.learn.io : read_keyed_batch_features_shared_queue
contrib.factorization : tfnb.v1.learn.clustering : COSINE_DISTANCE KMEANS_PLUS_PLUS_INIT KMeans KMeansClustering
contrib.factorization : tfnb.v1.learn.clustering : RANDOM_INIT SQUARED_EUCLIDEAN_DISTANCE
contrib.learn : tfnb.v1.learn.kmeans : KMeansClustering
contrib.summary : tfnb.v1.contrib.summary.writers : SummaryWriter all_summary_ops always_record_summaries audio
contrib.summary : tfnb.v1.contrib.summary.writers : create_file_writer
contrib.summary : tfnb.v1.contrib.summary.writers : create_summary_file_writer=create_file_writer
contrib.summary : tfnb.v1.contrib.summary.writers : eval_dir flush generic graph histogram image import_event
contrib.summary : tfnb.v1.contrib.summary.writers : initialize never_record_summaries
contrib.summary : tfnb.v1.contrib.summary.writers : record_summaries_every_n_global_steps scalar
contrib.summary : tfnb.v1.contrib.summary.writers : should_record_summaries summary_writer_initializer_op
contrib.testing : tfnb.v1.contrib.summary.testing : FakeSummaryWriter assert_summary latest_event_file latest_events
contrib.testing : tfnb.v1.contrib.summary.testing : latest_summaries simple_values_from_events to_summary_proto
contrib.model_pruning : tfnb.v1.contrib.model_pruning.pruning : Pruning apply_mask get_masked_weights get_masks
contrib.model_pruning : tfnb.v1.contrib.model_pruning.pruning : get_pruning_hparams
contrib.model_pruning : tfnb.v1.contrib.model_pruning.pruning : get_thresholds get_weight_sparsity get_weights
contrib.model_pruning : tfnb.v1.contrib.model_pruning.masked_layers : MaskedBasicLSTMCell MaskedLSTMCell
contrib.model_pruning : tfnb.v1.contrib.model_pruning.masked_layers : graph_def_from_checkpoint
contrib.model_pruning : tfnb.v1.contrib.model_pruning.masked_layers : masked_conv2d=masked_convolution
contrib.model_pruning : tfnb.v1.contrib.model_pruning.masked_layers : masked_convolution
contrib.model_pruning : tfnb.v1.contrib.model_pruning.masked_layers : masked_fully_connected strip_pruning_vars_fn
contrib.model_pruning : tfnb.v1.contrib.model_pruning.masked_layers : train
contrib.distribute : tfnb.train.distribute.contexts : ReplicaContext get_loss_reduction get_replica_context
contrib.distribute : tfnb.train.distribute.contexts : get_strategy has_strategy in_cross_replica_context
contrib.distribute : tfnb.train.distribute.contexts : get_distribution_strategy=get_strategy require_replica_context
contrib.distribute : tfnb.train.distribute.contexts : has_distribution_strategy=has_strategy
contrib.distribute : tfnb.train.distribute.strategies : get_cross_replica_context
contrib.distribute : tfnb.train.distribute.reduction : CrossDeviceOps
contrib.distribute : tfnb.train.distribute.reduction : AllReduceCrossDeviceOps
contrib.distribute : tfnb.train.distribute.strategies : DistributionStrategy=Strategy
contrib.distribute : tfnb.train.distribute.mirrored : MirroredStrategy=ContribMirroredStrategy OneDeviceStrategy
contrib.distribute : tfnb.train.distribute.steps : DistributeConfig Monitor StandardInputStep Step UpdateContext
contrib.distribute : tfnb.train.distribute.steps : StandardSingleLossStep
contrib.training : tfnb.v1.contrib.training.train_op : add_gradients_summaries clip_gradient_norms
contrib.training : tfnb.v1.contrib.training.train_op : clip_gradient_norms_fn
contrib.training : tfnb.v1.contrib.training.train_op : create_train_op multiply_gradients train
contrib.slim.learning : tfnb.v1.contrib.slim.train_op : add_gradients_summaries create_train_op
contrib.slim.learning : tfnb.v1.contrib.training.train_op : clip_gradient_norms multiply_gradients
contrib.slim.learning : tfnb.v1.contrib.slim.learning : train train_step
contrib.training : tfnb.v1.contrib.training.evaluation : StopAfterNEvalsHook SummaryAtEndHook checkpoints_iterator
contrib.training : tfnb.v1.contrib.training.evaluation : evaluate_once evaluate_repeatedly get_or_create_eval_step
contrib.training contrib.slim.evaluation : tfnb.v1.contrib.training.evaluation : wait_for_new_checkpoint
contrib.slim.evaluation : tfnb.v1.contrib.training.evaluation : checkpoints_iterator
contrib.slim.evaluation : tfnb.v1.contrib.slim.evaluation : evaluate_once evaluation_loop
contrib.slim.queues : tfnb.v1.contrib.slim.data : NestedQueueRunnerError QueueRunners
contrib.slim.prefetch_queue : tfnb.v1.contrib.slim.data : prefetch_queue
contrib.slim.parallel_reader : tfnb.v1.contrib.slim.data : ParallelReader get_data_files parallel_read
contrib.slim.parallel_reader : tfnb.v1.contrib.slim.data : single_pass_read
contrib.slim.dataset : tfnb.v1.contrib.slim.data : Dataset
contrib.slim.data_provider : tfnb.v1.contrib.slim.data : DataProvider
contrib.slim.dataset_data_provider : tfnb.v1.contrib.slim.data : DatasetDataProvider
contrib.framework : tfnb.v1.contrib.framework.checkpoints : init_from_checkpoint list_variables load_checkpoint
contrib.framework : tfnb.v1.contrib.framework.checkpoints : load_variable
contrib.quantize : tfnb.v1.contrib.quantize.graphs : create_eval_graph create_training_graph
contrib.quantize : tfnb.v1.contrib.quantize.graphs : experimental_create_eval_graph
contrib.quantize : tfnb.v1.contrib.quantize.graphs : experimental_create_training_graph
contrib.opt : tfnb.v1.contrib.opt.adam_variants : AdaMaxOptimizer AdamGSOptimizer AdamWOptimizer
contrib.opt : tfnb.v1.contrib.opt.adam_variants : DecoupledWeightDecayExtension LazyAdamGSOptimizer LazyAdamOptimizer
contrib.opt : tfnb.v1.contrib.opt.adam_variants : MomentumWOptimizer NadamOptimizer extend_with_decoupled_weight_decay
contrib.opt : tfnb.v1.contrib.opt.sign_optimizers : AddSignOptimizer LARSOptimizer PowerSignOptimizer
contrib.opt : tfnb.v1.contrib.opt.sign_optimizers : RegAdagradOptimizer get_cosine_decay_fn get_linear_decay_fn
contrib.opt : tfnb.v1.contrib.opt.sign_optimizers : get_restart_decay_fn
contrib.opt : tfnb.v1.contrib.opt.wrapping_optimizers : DropStaleGradientOptimizer MovingAverageOptimizer
contrib.opt : tfnb.v1.contrib.opt.wrapping_optimizers : MultitaskOptimizerWrapper VariableClippingOptimizer
contrib.opt : tfnb.v1.contrib.opt.wrapping_optimizers : clip_gradients_by_global_norm
contrib.gan.losses : tfnb.v1.contrib.gan.training : least_squares_discriminator_loss least_squares_generator_loss
contrib.gan.losses : tfnb.v1.contrib.gan.training : minimax_discriminator_loss minimax_generator_loss
contrib.gan.losses : tfnb.v1.contrib.gan.training : modified_discriminator_loss modified_generator_loss
contrib.gan.losses : tfnb.v1.contrib.gan.training : wasserstein_discriminator_loss wasserstein_generator_loss
contrib.gan.losses : tfnb.v1.contrib.gan.training : wasserstein_gradient_penalty
contrib.gan.losses.wargs : tfnb.v1.contrib.gan.losses : least_squares_discriminator_loss
contrib.gan.losses.wargs : tfnb.v1.contrib.gan.losses : least_squares_generator_loss
contrib.gan.losses.wargs : tfnb.v1.contrib.gan.losses : minimax_discriminator_loss minimax_generator_loss
contrib.gan.losses.wargs : tfnb.v1.contrib.gan.losses : modified_discriminator_loss modified_generator_loss
contrib.gan.losses.wargs : tfnb.v1.contrib.gan.losses : wasserstein_discriminator_loss wasserstein_generator_loss
contrib.gan.losses.wargs : tfnb.v1.contrib.gan.losses : wasserstein_gradient_penalty
contrib.gan : tfnb.v1.contrib.gan.training : GANLoss GANModel GANTrainOps GANTrainSteps RunTrainOpsHook gan_loss
contrib.gan : tfnb.v1.contrib.gan.training : gan_model gan_train gan_train_ops get_joint_train_hooks
contrib.gan : tfnb.v1.contrib.gan.training : get_sequential_train_hooks get_sequential_train_steps
feature_column contrib.feature_column : tfnb.v1.feature_columns.sequence : sequence_numeric_column
contrib.feature_column : tfnb.v1.feature_columns.sequence : sequence_categorical_column_with_hash_bucket
contrib.feature_column : tfnb.v1.feature_columns.sequence : sequence_categorical_column_with_identity
contrib.feature_column : tfnb.v1.feature_columns.sequence : sequence_categorical_column_with_vocabulary_file
contrib.feature_column : tfnb.v1.feature_columns.sequence : sequence_categorical_column_with_vocabulary_list
contrib.feature_column : tfnb.v1.feature_columns.sequence : sequence_input_layer
contrib.crf : tfnb.v1.contrib.crf : CrfDecodeBackwardRnnCell CrfDecodeForwardRnnCell CrfForwardRnnCell
contrib.crf : tfnb.v1.contrib.crf : crf_binary_score crf_decode crf_log_likelihood crf_log_norm
contrib.crf : tfnb.v1.contrib.crf : crf_multitag_sequence_score crf_sequence_score crf_unary_score viterbi_decode
contrib.distributions : tfnb.v1.distributions.transformed : ConditionalDistribution
contrib.distributions : tfnb.v1.distributions.transformed : ConditionalTransformedDistribution SeedStream
contrib.distributions : tfnb.v1.distributions.transformed : TransformedDistribution
contrib.distributions : tfnb.v1.distributions.mixtures : Mixture MixtureSameFamily
contrib.distributions : tfnb.v1.distributions.composed : Autoregressive BatchReshape Independent
contrib.distributions : tfnb.v1.distributions.composed : QuantizedDistribution
contrib.distributions : tfnb.v1.distributions.further_continuous : BetaWithSoftplusConcentration Cauchy Chi2
contrib.distributions : tfnb.v1.distributions.further_continuous : Chi2WithAbsDf ExponentialWithSoftplusRate
contrib.distributions : tfnb.v1.distributions.further_continuous : GammaWithSoftplusConcentrationRate HalfNormal
contrib.distributions : tfnb.v1.distributions.further_continuous : InverseGamma
contrib.distributions : tfnb.v1.distributions.further_continuous : InverseGammaWithSoftplusConcentrationRate
contrib.distributions : tfnb.v1.distributions.further_continuous : Kumaraswamy LaplaceWithSoftplusScale Logistic
contrib.distributions : tfnb.v1.distributions.further_continuous : NormalWithSoftplusScale SinhArcsinh
contrib.distributions : tfnb.v1.distributions.further_continuous : StudentTWithAbsDfSoftplusScale
contrib.distributions : tfnb.v1.distributions.further_discrete : Binomial Deterministic ExpRelaxedOneHotCategorical
contrib.distributions : tfnb.v1.distributions.further_discrete : Geometric NegativeBinomial RelaxedBernoulli
contrib.distributions : tfnb.v1.distributions.further_discrete : RelaxedOneHotCategorical VectorDeterministic
contrib.distributions : tfnb.v1.distributions.multivariate : MultivariateNormalDiagPlusLowRank
contrib.distributions : tfnb.v1.distributions.multivariate : MultivariateNormalDiagWithSoftplusScale
contrib.distributions : tfnb.v1.distributions.multivariate : MultivariateNormalFullCovariance
contrib.distributions : tfnb.v1.distributions.multivariate : MultivariateNormalTriL VectorExponentialDiag
contrib.distributions : tfnb.v1.distributions.multivariate : VectorLaplaceDiag VectorSinhArcsinhDiag
contrib.distributions : tfnb.v1.distributions.matrices : WishartCholesky WishartFull
contrib.distributions : tfnb.v1.distributions.statistics : assign_log_moving_mean_exp assign_moving_mean_variance
contrib.distributions : tfnb.v1.distributions.statistics : auto_correlation moving_mean_variance
contrib.distributions : tfnb.v1.distributions.statistics : normal_conjugates_known_scale_posterior
contrib.distributions : tfnb.v1.distributions.statistics : normal_conjugates_known_scale_predictive percentile
contrib.distributions : tfnb.v1.distributions.statistics : reduce_weighted_logsumexp
contrib.distributions : tfnb.v1.distributions.matrix_forms : fill_triangular fill_triangular_inverse
contrib.distributions : tfnb.v1.distributions.matrix_forms : matrix_diag_transform softplus_inverse tridiag
contrib.distributions.bijectors : tfnb.v1.bijectors.bijector : Bijector Chain ConditionalBijector
contrib.distributions.bijectors : tfnb.v1.bijectors.bijector : Identity Inline
contrib.distributions.bijectors : tfnb.v1.bijectors.bijector : Invert
contrib.distributions.bijectors : tfnb.v1.bijectors.scalar : AbsoluteValue AffineScalar Exp Gumbel
contrib.distributions.bijectors : tfnb.v1.bijectors.scalar : Kumaraswamy
contrib.distributions.bijectors : tfnb.v1.bijectors.scalar : PowerTransform Sigmoid SinhArcsinh Softplus
contrib.distributions.bijectors : tfnb.v1.bijectors.scalar : Softsign
contrib.distributions.bijectors : tfnb.v1.bijectors.scalar : Square
contrib.nccl python.ops.nccl_ops : tfnb.v1.contrib.nccl : all_max all_min all_prod all_sum broadcast reduce_sum
contrib.memory_stats : tfnb.v1.contrib.memory_stats : BytesInUse BytesLimit MaxBytesInUse
contrib.distributions.bijectors : tfnb.v1.bijectors.vectors : Affine AffineLinearOperator
contrib.distributions.bijectors : tfnb.v1.bijectors.vectors : CholeskyOuterProduct FillTriangular
contrib.distributions.bijectors : tfnb.v1.bijectors.vectors : MatrixInverseTriL Ordered Permute Reshape
contrib.distributions.bijectors : tfnb.v1.bijectors.vectors : ScaleTriL
contrib.distributions.bijectors : tfnb.v1.bijectors.vectors : SoftmaxCentered TransformDiagonal
contrib.distributions.bijectors : tfnb.v1.bijectors.flows : BatchNormalization MaskedAutoregressiveFlow
contrib.distributions.bijectors : tfnb.v1.bijectors.flows : RealNVP
contrib.distributions.bijectors : tfnb.v1.bijectors.flows : masked_autoregressive_default_template
contrib.distributions.bijectors : tfnb.v1.bijectors.flows : masked_dense
contrib.distributions.bijectors : tfnb.v1.bijectors.flows : real_nvp_default_template
contrib.signal : tfnb.client.signal.spectra : frame hamming_window hann_window inverse_stft
contrib.signal : tfnb.client.signal.spectra : inverse_stft_window_fn linear_to_mel_weight_matrix
contrib.signal : tfnb.client.signal.spectra : mfccs_from_log_mel_spectrograms overlap_and_add stft
contrib.image : tfnb.v1.contrib.image : angles_to_projective_transforms compose_transforms dense_image_warp
contrib.image : tfnb.v1.contrib.image : flat_transforms_to_matrices matrices_to_flat_transforms rotate
contrib.image : tfnb.v1.contrib.splines : interpolate_spline sparse_image_warp
contrib.image : tfnb.v1.contrib.image : transform translate translations_to_projective_transforms
contrib.graph_editor : tfnb.v1.contrib.graph_editor.edit : bypass connect detach detach_control_inputs
contrib.graph_editor : tfnb.v1.contrib.graph_editor.edit : detach_control_outputs detach_inputs detach_outputs
contrib.graph_editor : tfnb.v1.contrib.graph_editor.elements : ControlOutputs get_consuming_ops get_generating_ops
contrib.graph_editor : tfnb.v1.contrib.graph_editor.elements : get_tensors make_list_of_op make_list_of_t
contrib.graph_editor : tfnb.v1.contrib.graph_editor.elements : make_placeholder_from_dtype_and_shape
contrib.graph_editor : tfnb.v1.contrib.graph_editor.elements : make_placeholder_from_tensor
contrib.graph_editor : tfnb.v1.contrib.graph_editor.elements : ph=make_placeholder_from_dtype_and_shape
contrib.graph_editor : tfnb.v1.contrib.graph_editor.elements : placeholder_name
contrib.graph_editor : tfnb.v1.contrib.graph_editor.reroute : add_control_inputs remove_control_inputs
contrib.graph_editor : tfnb.v1.contrib.graph_editor.reroute : reroute_inputs reroute_ios reroute_outputs
contrib.graph_editor : tfnb.v1.contrib.graph_editor.reroute : reroute_ts swap_inputs swap_ios swap_outputs swap_ts
contrib.graph_editor : tfnb.v1.contrib.graph_editor.select : can_be_regex check_cios compute_boundary_ts
contrib.graph_editor : tfnb.v1.contrib.graph_editor.select : filter_ops filter_ops_from_regex filter_ts
contrib.graph_editor : tfnb.v1.contrib.graph_editor.select : filter_ts_from_regex get_backward_walk_ops
contrib.graph_editor : tfnb.v1.contrib.graph_editor.select : get_forward_walk_ops get_name_scope_ops get_ops_ios
contrib.graph_editor : tfnb.v1.contrib.graph_editor.select : get_walks_intersection_ops get_walks_union_ops
contrib.graph_editor : tfnb.v1.contrib.graph_editor.select : get_within_boundary_ops make_regex select_ops
contrib.graph_editor : tfnb.v1.contrib.graph_editor.select : select_ops_and_ts select_ts
contrib.graph_editor : tfnb.v1.contrib.graph_editor.subgraph : SubGraphView make_view make_view_from_scope
contrib.graph_editor : tfnb.v1.contrib.graph_editor.subgraph : sgv=make_view sgv_scope=make_view_from_scope
contrib.graph_editor : tfnb.v1.contrib.graph_editor.transform : Transformer TransformerInfo
contrib.graph_editor : tfnb.v1.contrib.graph_editor.transform : assign_renamed_collections_handler copy
contrib.graph_editor : tfnb.v1.contrib.graph_editor.transform : copy_op_handler copy_with_input_replacements
contrib.graph_editor : tfnb.v1.contrib.graph_editor.transform : graph_replace keep_t_if_possible_handler
contrib.graph_editor : tfnb.v1.contrib.graph_editor.transform : replace_t_with_placeholder_handler
contrib.graph_editor : tfnb.v1.contrib.graph_editor.transform : transform_op_if_inside_handler
contrib.graph_editor.edit : tfnb.v1.contrib.graph_editor.edit : bypass connect detach detach_control_inputs
contrib.graph_editor.edit : tfnb.v1.contrib.graph_editor.edit : detach_control_outputs detach_inputs
contrib.graph_editor.edit : tfnb.v1.contrib.graph_editor.edit : detach_outputs
contrib.graph_editor.reroute : tfnb.v1.contrib.graph_editor.reroute : add_control_inputs remove_control_inputs
contrib.graph_editor.reroute : tfnb.v1.contrib.graph_editor.reroute : reroute_inputs reroute_ios reroute_outputs
contrib.graph_editor.reroute : tfnb.v1.contrib.graph_editor.reroute : reroute_ts swap_inputs swap_ios swap_outputs
contrib.graph_editor.reroute : tfnb.v1.contrib.graph_editor.reroute : swap_ts
contrib.graph_editor.select : tfnb.v1.contrib.graph_editor.select : can_be_regex check_cios compute_boundary_ts
contrib.graph_editor.select : tfnb.v1.contrib.graph_editor.select : filter_ops filter_ops_from_regex filter_ts
contrib.graph_editor.select : tfnb.v1.contrib.graph_editor.select : filter_ts_from_regex get_backward_walk_ops
contrib.graph_editor.select : tfnb.v1.contrib.graph_editor.select : get_forward_walk_ops get_name_scope_ops
contrib.graph_editor.select : tfnb.v1.contrib.graph_editor.select : get_ops_ios get_walks_intersection_ops
contrib.graph_editor.select : tfnb.v1.contrib.graph_editor.select : get_walks_union_ops get_within_boundary_ops
contrib.graph_editor.select : tfnb.v1.contrib.graph_editor.select : make_regex select_ops select_ops_and_ts
contrib.graph_editor.select : tfnb.v1.contrib.graph_editor.select : select_ts
contrib.graph_editor.subgraph : tfnb.v1.contrib.graph_editor.subgraph : SubGraphView make_view
contrib.graph_editor.subgraph : tfnb.v1.contrib.graph_editor.subgraph : make_view_from_scope
contrib.graph_editor.transform : tfnb.v1.contrib.graph_editor.transform : Transformer TransformerInfo
contrib.graph_editor.transform : tfnb.v1.contrib.graph_editor.transform : assign_renamed_collections_handler copy
contrib.graph_editor.transform : tfnb.v1.contrib.graph_editor.transform : copy_op_handler
contrib.graph_editor.transform : tfnb.v1.contrib.graph_editor.transform : copy_with_input_replacements
contrib.graph_editor.transform : tfnb.v1.contrib.graph_editor.transform : graph_replace keep_t_if_possible_handler
contrib.graph_editor.transform : tfnb.v1.contrib.graph_editor.transform : replace_t_with_placeholder_handler
contrib.graph_editor.transform : tfnb.v1.contrib.graph_editor.transform : transform_op_if_inside_handler
contrib.graph_editor.util : tfnb.v1.contrib.graph_editor.elements : ControlOutputs ListView check_graphs
contrib.graph_editor.util : tfnb.v1.contrib.graph_editor.elements : concatenate_unique find_corresponding
contrib.graph_editor.util : tfnb.v1.contrib.graph_editor.elements : find_corresponding_elem flatten_tree
contrib.graph_editor.util : tfnb.v1.contrib.graph_editor.elements : get_consuming_ops get_generating_ops
contrib.graph_editor.util : tfnb.v1.contrib.graph_editor.elements : get_predefined_collection_names get_tensors
contrib.graph_editor.util : tfnb.v1.contrib.graph_editor.elements : get_unique_graph is_iterable make_list_of_op
contrib.graph_editor.util : tfnb.v1.contrib.graph_editor.elements : make_list_of_t
contrib.graph_editor.util : tfnb.v1.contrib.graph_editor.elements : make_placeholder_from_dtype_and_shape
contrib.graph_editor.util : tfnb.v1.contrib.graph_editor.elements : make_placeholder_from_tensor placeholder_name
contrib.graph_editor.util : tfnb.v1.contrib.graph_editor.elements : scope_basename scope_dirname scope_finalize
contrib.graph_editor.util : tfnb.v1.contrib.graph_editor.elements : transform_tree
contrib.copy_graph : tfnb.v1.contrib.copy_graph : copy_op_to_graph copy_variable_to_graph
contrib.copy_graph : tfnb.v1.contrib.copy_graph : get_copied_op
contrib.staging : tfnb.v1.contrib.staging : StagingArea
contrib.resampler : tfnb.v1.contrib.resampler : resampler
contrib.solvers.lanczos : tfnb.v1.contrib.solvers : bidiag_matmul lanczos_bidiag
contrib.solvers.least_squares : tfnb.v1.contrib.solvers : cgls
contrib.solvers.linear_equations : tfnb.v1.contrib.solvers : conjugate_gradient
contrib.solvers.util : tfnb.v1.contrib.solvers : create_operator dot identity_operator l2norm l2normalize
contrib.solvers.util : tfnb.v1.contrib.solvers : l2norm_squared
contrib.specs : builtins : exec_=exec
contrib.specs : math : acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh degrees e erf erfc exp expm1 fabs
contrib.specs : math : factorial floor fmod frexp fsum gamma gcd hypot inf isclose isfinite isinf isnan ldexp lgamma
contrib.specs : math : log log10 log1p log2 modf nan pi pow radians remainder sin sinh sqrt tan tanh tau trunc
contrib.specs : tfnb.v1.contrib.specs.descriptions : SHORT_NAMES SHORT_NAMES_SRC tf_left_split tf_num_params
contrib.specs : tfnb.v1.contrib.specs.descriptions : tf_parameter_iter tf_parameter_summary tf_print tf_spec_print
contrib.specs : tfnb.v1.contrib.specs.descriptions : tf_spec_structure tf_spec_summary tf_structure
contrib.specs : tfnb.v1.contrib.specs.functions : Callable Composable Composition External Function Import
contrib.specs : tfnb.v1.contrib.specs.functions : KEYWORDS Operator QUOTED check_keywords debug debug_
contrib.specs : tfnb.v1.contrib.specs.functions : get_positional
contrib.specs : tfnb.v1.contrib.specs.layers : Ap Bn Cl Cm Conc Cr Cs Ct Cx Do Dwm Dws Expand Fl Flat Fm Fr Fs Ft
contrib.specs : tfnb.v1.contrib.specs.layers : Fun Fx Id Idx Lrn Mp Print Relu Reshape Shared Sig Smax Squeeze
contrib.specs : tfnb.v1.contrib.specs.layers : Tanh Transpose Unit Var
contrib.specs : tfnb.v1.contrib.specs.networks : LocalImport create_net create_net_fun eval_params eval_spec
contrib.specs : tfnb.v1.contrib.specs.parameters : Lf Li Nt Uf Ui
contrib.specs.params_ops : tfnb.v1.contrib.specs.parameters : Lf Li Nt Uf Ui
contrib.specs.specs : tfnb.v1.contrib.specs.networks : LocalImport create_net create_net_fun eval_params eval_spec
contrib.specs.specs_lib : tfnb.v1.contrib.specs.functions : Callable Composable Composition External Function
contrib.specs.specs_lib : tfnb.v1.contrib.specs.functions : Import Operator check_keywords debug get_positional
contrib.specs.specs_ops : tfnb.v1.contrib.specs.functions : External Import debug
contrib.specs.specs_ops : tfnb.v1.contrib.specs.layers : Ap Bn Cl Cm Conc Cr Cs Ct Cx Do Dwm Dws Expand Fl Flat Fm
contrib.specs.specs_ops : tfnb.v1.contrib.specs.layers : Fr Fs Ft Fun Fx Id Idx Lrn Mp Print Relu Reshape Shared
contrib.specs.specs_ops : tfnb.v1.contrib.specs.layers : Sig Smax Squeeze Tanh Transpose Unit Var
contrib.specs.summaries : tfnb.v1.contrib.specs.descriptions : tf_left_split tf_num_params tf_parameter_iter
contrib.specs.summaries : tfnb.v1.contrib.specs.descriptions : tf_parameter_summary tf_print tf_spec_print
contrib.specs.summaries : tfnb.v1.contrib.specs.descriptions : tf_spec_structure tf_spec_summary tf_structure
contrib.sparsemax : tfnb.v1.contrib.sparsemax : sparsemax sparsemax_loss
contrib.integrate : tfnb.v1.contrib.integrate : odeint odeint_fixed
contrib.nn : tfnb.v1.contrib.nn : alpha_dropout scaled_softplus
contrib.util : tfnb.v1.contrib.nn : ops_used_by_graph_def
contrib.learn.preprocessing : tfnb.datasets.vocabulary : ByteProcessor CategoricalVocabulary VocabularyProcessor
contrib.learn.preprocessing : tfnb.datasets.vocabulary : tokenizer
contrib.learn.datasets contrib.learn.datasets.base : tfnb.datasets.tables : load_boston load_iris
contrib.learn.datasets : tfnb.datasets.tables : load_dataset make_dataset
contrib.learn.datasets.base : tfnb.datasets.tables : Dataset Datasets load_csv_with_header load_csv_without_header
contrib.learn.datasets.mnist : tfnb.datasets.batches : DataSet dense_to_one_hot
contrib.learn.datasets.mnist : tfnb.datasets.mnist : read_data_sets
contrib.learn.python.learn.datasets.mnist : tfnb.datasets.batches : DataSet
contrib.learn.python.learn.datasets.mnist : tfnb.datasets.mnist : read_data_sets
contrib.proto : tfnb.client.io.proto_functions : decode_proto encode_proto
contrib.tpu : tfnb.v1.contrib.tpu_names : CrossShardOptimizer
contrib.cluster_resolver distribute.cluster_resolver : tfnb.v1.contrib.tpu_names : TPUClusterResolver
contrib.learn.datasets.mnist contrib.learn.python.learn.datasets.mnist : tfnb.datasets.mnist : load_mnist
"""
API: dict[str, Any] = dict(lazy_names(_TABLE))
