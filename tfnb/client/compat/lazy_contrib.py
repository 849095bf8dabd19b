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
contrib.distributions.bijectors : tfnb.client.bijectors.vectors : Affine AffineLinearOperator BatchNormalization
contrib.distributions.bijectors : tfnb.client.bijectors.vectors : CholeskyOuterProduct FillTriangular
contrib.distributions.bijectors : tfnb.client.bijectors.vectors : MatrixInverseTriL Ordered Permute Reshape ScaleTriL
contrib.distributions.bijectors : tfnb.client.bijectors.vectors : SoftmaxCentered TransformDiagonal
contrib.distributions.bijectors : tfnb.client.bijectors.flows : MaskedAutoregressiveFlow RealNVP
contrib.distributions.bijectors : tfnb.client.bijectors.flows : masked_autoregressive_default_template masked_dense
contrib.distributions.bijectors : tfnb.client.bijectors.flows : real_nvp_default_template
signal contrib.signal : tfnb.client.contrib.signal : frame hamming_window hann_window inverse_stft
signal contrib.signal : tfnb.client.contrib.signal : inverse_stft_window_fn linear_to_mel_weight_matrix
signal contrib.signal : tfnb.client.contrib.signal : mfccs_from_log_mel_spectrograms overlap_and_add stft
contrib.image : tfnb.client.contrib.image : angles_to_projective_transforms compose_transforms dense_image_warp
contrib.image : tfnb.client.contrib.image : flat_transforms_to_matrices matrices_to_flat_transforms rotate
contrib.image : tfnb.client.contrib.image : transform translate translations_to_projective_transforms
contrib.sparsemax : tfnb.client.contrib.sparsemax : sparsemax sparsemax_loss
contrib.integrate : tfnb.client.contrib.integrate : odeint odeint_fixed
contrib.nn : tfnb.client.contrib.nn : alpha_dropout scaled_softplus
contrib.util : tfnb.client.contrib.nn : ops_used_by_graph_def
"""
API: dict[str, Any] = dict(lazy_names(_TABLE))
