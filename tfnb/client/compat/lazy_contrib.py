"""The names of feature columns and of tf.contrib's later parts, whose modules load when one of them is first used.

Each line is "places : module : names"; see `lazy_names`. Invariant: the names of a module stand in one line for each
set of places.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.namespace import lazy_names

__all__ = ["API"]

_TABLE = """
feature_column : tfnb.client.feature_columns.columns : bucketized_column numeric_column
feature_column : tfnb.client.feature_columns.categorical : categorical_column_with_hash_bucket
feature_column : tfnb.client.feature_columns.categorical : categorical_column_with_identity crossed_column
feature_column : tfnb.client.feature_columns.categorical : categorical_column_with_vocabulary_file
feature_column : tfnb.client.feature_columns.categorical : categorical_column_with_vocabulary_list
feature_column : tfnb.client.feature_columns.categorical : weighted_categorical_column
feature_column : tfnb.client.feature_columns.embedding : embedding_column indicator_column shared_embedding_columns
feature_column : tfnb.client.feature_columns.layers : input_layer linear_model make_parse_example_spec
estimator : tfnb.client.feature_columns.layers : classifier_parse_example_spec regressor_parse_example_spec
feature_column contrib.feature_column : tfnb.client.feature_columns.sequence : sequence_numeric_column
feature_column : tfnb.client.feature_columns.sequence : sequence_categorical_column_with_hash_bucket
feature_column : tfnb.client.feature_columns.sequence : sequence_categorical_column_with_identity
feature_column : tfnb.client.feature_columns.sequence : sequence_categorical_column_with_vocabulary_file
feature_column : tfnb.client.feature_columns.sequence : sequence_categorical_column_with_vocabulary_list
contrib.feature_column : tfnb.client.feature_columns.sequence : sequence_categorical_column_with_hash_bucket
contrib.feature_column : tfnb.client.feature_columns.sequence : sequence_categorical_column_with_identity
contrib.feature_column : tfnb.client.feature_columns.sequence : sequence_categorical_column_with_vocabulary_file
contrib.feature_column : tfnb.client.feature_columns.sequence : sequence_categorical_column_with_vocabulary_list
contrib.feature_column : tfnb.client.feature_columns.sequence : sequence_input_layer
contrib.crf : tfnb.client.contrib.crf : CrfDecodeBackwardRnnCell CrfDecodeForwardRnnCell CrfForwardRnnCell
contrib.crf : tfnb.client.contrib.crf : crf_binary_score crf_decode crf_log_likelihood crf_log_norm
contrib.crf : tfnb.client.contrib.crf : crf_multitag_sequence_score crf_sequence_score crf_unary_score viterbi_decode
contrib.distributions : tfnb.client.distributions.transformed : ConditionalDistribution
contrib.distributions : tfnb.client.distributions.transformed : ConditionalTransformedDistribution SeedStream
contrib.distributions : tfnb.client.distributions.transformed : TransformedDistribution
contrib.distributions : tfnb.client.distributions.mixtures : Mixture MixtureSameFamily
contrib.distributions : tfnb.client.distributions.composed : Autoregressive BatchReshape Independent
contrib.distributions : tfnb.client.distributions.composed : QuantizedDistribution
contrib.distributions : tfnb.client.distributions.late_continuous : BetaWithSoftplusConcentration Cauchy Chi2
contrib.distributions : tfnb.client.distributions.late_continuous : Chi2WithAbsDf ExponentialWithSoftplusRate
contrib.distributions : tfnb.client.distributions.late_continuous : GammaWithSoftplusConcentrationRate HalfNormal
contrib.distributions : tfnb.client.distributions.late_continuous : InverseGamma
contrib.distributions : tfnb.client.distributions.late_continuous : InverseGammaWithSoftplusConcentrationRate
contrib.distributions : tfnb.client.distributions.late_continuous : Kumaraswamy LaplaceWithSoftplusScale Logistic
contrib.distributions : tfnb.client.distributions.late_continuous : NormalWithSoftplusScale SinhArcsinh
contrib.distributions : tfnb.client.distributions.late_continuous : StudentTWithAbsDfSoftplusScale
contrib.distributions : tfnb.client.distributions.late_discrete : Binomial Deterministic ExpRelaxedOneHotCategorical
contrib.distributions : tfnb.client.distributions.late_discrete : Geometric NegativeBinomial RelaxedBernoulli
contrib.distributions : tfnb.client.distributions.late_discrete : RelaxedOneHotCategorical VectorDeterministic
contrib.distributions : tfnb.client.distributions.multivariate : MultivariateNormalDiagPlusLowRank
contrib.distributions : tfnb.client.distributions.multivariate : MultivariateNormalDiagWithSoftplusScale
contrib.distributions : tfnb.client.distributions.multivariate : MultivariateNormalFullCovariance
contrib.distributions : tfnb.client.distributions.multivariate : MultivariateNormalTriL VectorExponentialDiag
contrib.distributions : tfnb.client.distributions.multivariate : VectorLaplaceDiag VectorSinhArcsinhDiag
contrib.distributions : tfnb.client.distributions.matrices : WishartCholesky WishartFull
contrib.distributions : tfnb.client.distributions.statistics : assign_log_moving_mean_exp assign_moving_mean_variance
contrib.distributions : tfnb.client.distributions.statistics : auto_correlation moving_mean_variance
contrib.distributions : tfnb.client.distributions.statistics : normal_conjugates_known_scale_posterior
contrib.distributions : tfnb.client.distributions.statistics : normal_conjugates_known_scale_predictive percentile
contrib.distributions : tfnb.client.distributions.statistics : reduce_weighted_logsumexp
contrib.distributions : tfnb.client.distributions.matrix_forms : fill_triangular fill_triangular_inverse
contrib.distributions : tfnb.client.distributions.matrix_forms : matrix_diag_transform softplus_inverse tridiag
contrib.distributions.bijectors : tfnb.client.bijectors.bijector : Bijector Chain ConditionalBijector Identity Inline
contrib.distributions.bijectors : tfnb.client.bijectors.bijector : Invert
contrib.distributions.bijectors : tfnb.client.bijectors.scalar : AbsoluteValue AffineScalar Exp Gumbel Kumaraswamy
contrib.distributions.bijectors : tfnb.client.bijectors.scalar : PowerTransform Sigmoid SinhArcsinh Softplus Softsign
contrib.distributions.bijectors : tfnb.client.bijectors.scalar : Square
contrib.nccl python.ops.nccl_ops : tfnb.client.contrib.nccl : all_max all_min all_prod all_sum broadcast reduce_sum
contrib.memory_stats : tfnb.client.contrib.memory_stats : BytesInUse BytesLimit MaxBytesInUse
contrib.distributions.bijectors : tfnb.client.bijectors.vectors : Affine AffineLinearOperator
contrib.distributions.bijectors : tfnb.client.bijectors.vectors : CholeskyOuterProduct FillTriangular
contrib.distributions.bijectors : tfnb.client.bijectors.vectors : MatrixInverseTriL Ordered Permute Reshape ScaleTriL
contrib.distributions.bijectors : tfnb.client.bijectors.vectors : SoftmaxCentered TransformDiagonal
contrib.distributions.bijectors : tfnb.client.bijectors.flows : BatchNormalization MaskedAutoregressiveFlow RealNVP
contrib.distributions.bijectors : tfnb.client.bijectors.flows : masked_autoregressive_default_template masked_dense
contrib.distributions.bijectors : tfnb.client.bijectors.flows : real_nvp_default_template
signal contrib.signal : tfnb.client.contrib.signal : frame hamming_window hann_window inverse_stft
signal contrib.signal : tfnb.client.contrib.signal : inverse_stft_window_fn linear_to_mel_weight_matrix
signal contrib.signal : tfnb.client.contrib.signal : mfccs_from_log_mel_spectrograms overlap_and_add stft
contrib.image : tfnb.client.contrib.image : angles_to_projective_transforms compose_transforms dense_image_warp
contrib.image : tfnb.client.contrib.image : flat_transforms_to_matrices matrices_to_flat_transforms rotate
contrib.image : tfnb.client.contrib.splines : interpolate_spline sparse_image_warp
contrib.image : tfnb.client.contrib.image : transform translate translations_to_projective_transforms
contrib.graph_editor : tfnb.client.contrib.graph_editor.edit : bypass connect detach detach_control_inputs
contrib.graph_editor : tfnb.client.contrib.graph_editor.edit : detach_control_outputs detach_inputs detach_outputs
contrib.graph_editor : tfnb.client.contrib.graph_editor.elements : ControlOutputs get_consuming_ops get_generating_ops
contrib.graph_editor : tfnb.client.contrib.graph_editor.elements : get_tensors make_list_of_op make_list_of_t
contrib.graph_editor : tfnb.client.contrib.graph_editor.elements : make_placeholder_from_dtype_and_shape
contrib.graph_editor : tfnb.client.contrib.graph_editor.elements : make_placeholder_from_tensor
contrib.graph_editor : tfnb.client.contrib.graph_editor.elements : ph=make_placeholder_from_dtype_and_shape
contrib.graph_editor : tfnb.client.contrib.graph_editor.elements : placeholder_name
contrib.graph_editor : tfnb.client.contrib.graph_editor.reroute : add_control_inputs remove_control_inputs
contrib.graph_editor : tfnb.client.contrib.graph_editor.reroute : reroute_inputs reroute_ios reroute_outputs
contrib.graph_editor : tfnb.client.contrib.graph_editor.reroute : reroute_ts swap_inputs swap_ios swap_outputs swap_ts
contrib.graph_editor : tfnb.client.contrib.graph_editor.select : can_be_regex check_cios compute_boundary_ts
contrib.graph_editor : tfnb.client.contrib.graph_editor.select : filter_ops filter_ops_from_regex filter_ts
contrib.graph_editor : tfnb.client.contrib.graph_editor.select : filter_ts_from_regex get_backward_walk_ops
contrib.graph_editor : tfnb.client.contrib.graph_editor.select : get_forward_walk_ops get_name_scope_ops get_ops_ios
contrib.graph_editor : tfnb.client.contrib.graph_editor.select : get_walks_intersection_ops get_walks_union_ops
contrib.graph_editor : tfnb.client.contrib.graph_editor.select : get_within_boundary_ops make_regex select_ops
contrib.graph_editor : tfnb.client.contrib.graph_editor.select : select_ops_and_ts select_ts
contrib.graph_editor : tfnb.client.contrib.graph_editor.subgraph : SubGraphView make_view make_view_from_scope
contrib.graph_editor : tfnb.client.contrib.graph_editor.subgraph : sgv=make_view sgv_scope=make_view_from_scope
contrib.graph_editor : tfnb.client.contrib.graph_editor.transform : Transformer TransformerInfo
contrib.graph_editor : tfnb.client.contrib.graph_editor.transform : assign_renamed_collections_handler copy
contrib.graph_editor : tfnb.client.contrib.graph_editor.transform : copy_op_handler copy_with_input_replacements
contrib.graph_editor : tfnb.client.contrib.graph_editor.transform : graph_replace keep_t_if_possible_handler
contrib.graph_editor : tfnb.client.contrib.graph_editor.transform : replace_t_with_placeholder_handler
contrib.graph_editor : tfnb.client.contrib.graph_editor.transform : transform_op_if_inside_handler
contrib.graph_editor.edit : tfnb.client.contrib.graph_editor.edit : bypass connect detach detach_control_inputs
contrib.graph_editor.edit : tfnb.client.contrib.graph_editor.edit : detach_control_outputs detach_inputs
contrib.graph_editor.edit : tfnb.client.contrib.graph_editor.edit : detach_outputs
contrib.graph_editor.reroute : tfnb.client.contrib.graph_editor.reroute : add_control_inputs remove_control_inputs
contrib.graph_editor.reroute : tfnb.client.contrib.graph_editor.reroute : reroute_inputs reroute_ios reroute_outputs
contrib.graph_editor.reroute : tfnb.client.contrib.graph_editor.reroute : reroute_ts swap_inputs swap_ios swap_outputs
contrib.graph_editor.reroute : tfnb.client.contrib.graph_editor.reroute : swap_ts
contrib.graph_editor.select : tfnb.client.contrib.graph_editor.select : can_be_regex check_cios compute_boundary_ts
contrib.graph_editor.select : tfnb.client.contrib.graph_editor.select : filter_ops filter_ops_from_regex filter_ts
contrib.graph_editor.select : tfnb.client.contrib.graph_editor.select : filter_ts_from_regex get_backward_walk_ops
contrib.graph_editor.select : tfnb.client.contrib.graph_editor.select : get_forward_walk_ops get_name_scope_ops
contrib.graph_editor.select : tfnb.client.contrib.graph_editor.select : get_ops_ios get_walks_intersection_ops
contrib.graph_editor.select : tfnb.client.contrib.graph_editor.select : get_walks_union_ops get_within_boundary_ops
contrib.graph_editor.select : tfnb.client.contrib.graph_editor.select : make_regex select_ops select_ops_and_ts
contrib.graph_editor.select : tfnb.client.contrib.graph_editor.select : select_ts
contrib.graph_editor.subgraph : tfnb.client.contrib.graph_editor.subgraph : SubGraphView make_view
contrib.graph_editor.subgraph : tfnb.client.contrib.graph_editor.subgraph : make_view_from_scope
contrib.graph_editor.transform : tfnb.client.contrib.graph_editor.transform : Transformer TransformerInfo
contrib.graph_editor.transform : tfnb.client.contrib.graph_editor.transform : assign_renamed_collections_handler copy
contrib.graph_editor.transform : tfnb.client.contrib.graph_editor.transform : copy_op_handler
contrib.graph_editor.transform : tfnb.client.contrib.graph_editor.transform : copy_with_input_replacements
contrib.graph_editor.transform : tfnb.client.contrib.graph_editor.transform : graph_replace keep_t_if_possible_handler
contrib.graph_editor.transform : tfnb.client.contrib.graph_editor.transform : replace_t_with_placeholder_handler
contrib.graph_editor.transform : tfnb.client.contrib.graph_editor.transform : transform_op_if_inside_handler
contrib.graph_editor.util : tfnb.client.contrib.graph_editor.elements : ControlOutputs ListView check_graphs
contrib.graph_editor.util : tfnb.client.contrib.graph_editor.elements : concatenate_unique find_corresponding
contrib.graph_editor.util : tfnb.client.contrib.graph_editor.elements : find_corresponding_elem flatten_tree
contrib.graph_editor.util : tfnb.client.contrib.graph_editor.elements : get_consuming_ops get_generating_ops
contrib.graph_editor.util : tfnb.client.contrib.graph_editor.elements : get_predefined_collection_names get_tensors
contrib.graph_editor.util : tfnb.client.contrib.graph_editor.elements : get_unique_graph is_iterable make_list_of_op
contrib.graph_editor.util : tfnb.client.contrib.graph_editor.elements : make_list_of_t
contrib.graph_editor.util : tfnb.client.contrib.graph_editor.elements : make_placeholder_from_dtype_and_shape
contrib.graph_editor.util : tfnb.client.contrib.graph_editor.elements : make_placeholder_from_tensor placeholder_name
contrib.graph_editor.util : tfnb.client.contrib.graph_editor.elements : scope_basename scope_dirname scope_finalize
contrib.graph_editor.util : tfnb.client.contrib.graph_editor.elements : transform_tree
contrib.copy_graph : tfnb.client.contrib.copy_graph : copy_op_to_graph copy_variable_to_graph
contrib.copy_graph : tfnb.client.contrib.copy_graph : get_copied_op
contrib.staging : tfnb.client.contrib.staging : StagingArea
contrib.resampler : tfnb.client.contrib.resampler : resampler
contrib.solvers.lanczos : tfnb.client.contrib.solvers : bidiag_matmul lanczos_bidiag
contrib.solvers.least_squares : tfnb.client.contrib.solvers : cgls
contrib.solvers.linear_equations : tfnb.client.contrib.solvers : conjugate_gradient
contrib.solvers.util : tfnb.client.contrib.solvers : create_operator dot identity_operator l2norm l2normalize
contrib.solvers.util : tfnb.client.contrib.solvers : l2norm_squared
contrib.specs : builtins : exec_=exec
contrib.specs : math : acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh degrees e erf erfc exp expm1 fabs
contrib.specs : math : factorial floor fmod frexp fsum gamma gcd hypot inf isclose isfinite isinf isnan ldexp lgamma
contrib.specs : math : log log10 log1p log2 modf nan pi pow radians remainder sin sinh sqrt tan tanh tau trunc
contrib.specs : tfnb.client.contrib.specs.descriptions : SHORT_NAMES SHORT_NAMES_SRC tf_left_split tf_num_params
contrib.specs : tfnb.client.contrib.specs.descriptions : tf_parameter_iter tf_parameter_summary tf_print tf_spec_print
contrib.specs : tfnb.client.contrib.specs.descriptions : tf_spec_structure tf_spec_summary tf_structure
contrib.specs : tfnb.client.contrib.specs.functions : Callable Composable Composition External Function Import
contrib.specs : tfnb.client.contrib.specs.functions : KEYWORDS Operator QUOTED check_keywords debug debug_
contrib.specs : tfnb.client.contrib.specs.functions : get_positional
contrib.specs : tfnb.client.contrib.specs.layers : Ap Bn Cl Cm Conc Cr Cs Ct Cx Do Dwm Dws Expand Fl Flat Fm Fr Fs Ft
contrib.specs : tfnb.client.contrib.specs.layers : Fun Fx Id Idx Lrn Mp Print Relu Reshape Shared Sig Smax Squeeze
contrib.specs : tfnb.client.contrib.specs.layers : Tanh Transpose Unit Var
contrib.specs : tfnb.client.contrib.specs.networks : LocalImport create_net create_net_fun eval_params eval_spec
contrib.specs : tfnb.client.contrib.specs.parameters : Lf Li Nt Uf Ui
contrib.specs.params_ops : tfnb.client.contrib.specs.parameters : Lf Li Nt Uf Ui
contrib.specs.specs : tfnb.client.contrib.specs.networks : LocalImport create_net create_net_fun eval_params eval_spec
contrib.specs.specs_lib : tfnb.client.contrib.specs.functions : Callable Composable Composition External Function
contrib.specs.specs_lib : tfnb.client.contrib.specs.functions : Import Operator check_keywords debug get_positional
contrib.specs.specs_ops : tfnb.client.contrib.specs.functions : External Import debug
contrib.specs.specs_ops : tfnb.client.contrib.specs.layers : Ap Bn Cl Cm Conc Cr Cs Ct Cx Do Dwm Dws Expand Fl Flat Fm
contrib.specs.specs_ops : tfnb.client.contrib.specs.layers : Fr Fs Ft Fun Fx Id Idx Lrn Mp Print Relu Reshape Shared
contrib.specs.specs_ops : tfnb.client.contrib.specs.layers : Sig Smax Squeeze Tanh Transpose Unit Var
contrib.specs.summaries : tfnb.client.contrib.specs.descriptions : tf_left_split tf_num_params tf_parameter_iter
contrib.specs.summaries : tfnb.client.contrib.specs.descriptions : tf_parameter_summary tf_print tf_spec_print
contrib.specs.summaries : tfnb.client.contrib.specs.descriptions : tf_spec_structure tf_spec_summary tf_structure
contrib.sparsemax : tfnb.client.contrib.sparsemax : sparsemax sparsemax_loss
contrib.integrate : tfnb.client.contrib.integrate : odeint odeint_fixed
contrib.nn : tfnb.client.contrib.nn : alpha_dropout scaled_softplus
contrib.util : tfnb.client.contrib.nn : ops_used_by_graph_def
"""
API: dict[str, Any] = dict(lazy_names(_TABLE))
