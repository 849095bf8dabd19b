"""Public names beside `tf.contrib` whose modules belong to this house: estimators, feature columns, operators.

Each line is "places : module : names"; see `lazy_names`. Invariant: the names of a module stand in one line for each
set of places.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.namespace import lazy_names

__all__ = ["API"]

_TABLE = """
tf : tfnb.v1.python_internals.seldom_used : extract_volume_patches get_logger
tf quantization : tfnb.v1.python_internals.seldom_used : quantized_concat
quantization : tfnb.v1.python_internals.seldom_used : quantize_and_dequantize
tf io : tfnb.v1.python_internals.seldom_used : decode_compressed
audio : tfnb.v1.python_internals.seldom_used : decode_wav encode_wav
nn : tfnb.v1.python_internals.seldom_used : avg_pool_v2 compute_average_loss ctc_loss_v2 max_pool_v2
nn : tfnb.v1.python_internals.seldom_used : scale_regularization_loss
sparse : tfnb.v1.python_internals.seldom_used : cross cross_hashed expand_dims eye=sparse_eye
logging : tfnb.v1.python_internals.seldom_used : TaskLevelStatusMessage=task_level_status_message
graph_util : tfnb.v1.python_internals.seldom_used : must_run_on_cpu
linalg : tfnb.v1.linear_operators.api : LinearOperator LinearOperatorAdjoint LinearOperatorBlockDiag
linalg : tfnb.v1.linear_operators.api : LinearOperatorCirculant LinearOperatorCirculant2D
linalg : tfnb.v1.linear_operators.api : LinearOperatorCirculant3D LinearOperatorComposition
linalg : tfnb.v1.linear_operators.api : LinearOperatorDiag
linalg : tfnb.v1.linear_operators.api : LinearOperatorFullMatrix LinearOperatorHouseholder
linalg : tfnb.v1.linear_operators.api : LinearOperatorIdentity
linalg : tfnb.v1.linear_operators.api : LinearOperatorInversion LinearOperatorKronecker
linalg : tfnb.v1.linear_operators.api : LinearOperatorLowRankUpdate LinearOperatorLowerTriangular
linalg : tfnb.v1.linear_operators.api : LinearOperatorScaledIdentity LinearOperatorToeplitz
linalg : tfnb.v1.linear_operators.api : LinearOperatorZeros
estimator.experimental : tfnb.v1.estimators.early_stopping : InMemoryEvaluatorHook make_early_stopping_hook
estimator.experimental : tfnb.v1.estimators.early_stopping : make_stop_at_checkpoint_step_hook stop_if_higher_hook
estimator.experimental : tfnb.v1.estimators.early_stopping : stop_if_lower_hook stop_if_no_decrease_hook
estimator.experimental : tfnb.v1.estimators.early_stopping : stop_if_no_increase_hook
estimator.experimental : tfnb.v1.estimators.export : build_raw_supervised_input_receiver_fn
train : tfnb.v1.estimators.warm_start : VocabInfo warm_start
estimator.experimental : tfnb.v1.learn.clustering : KMeans=KMeansClustering
examples.tutorials.mnist.mnist : tfnb.v1.programs.mnist_tutorial : IMAGE_PIXELS IMAGE_SIZE NUM_CLASSES evaluation
examples.tutorials.mnist.mnist : tfnb.v1.programs.mnist_tutorial : inference loss training
summary : tfnb.v1.contrib.summary.writers : all_v2_summary_ops=all_summary_ops initialize
train : tfnb.v1.contrib.training.evaluation : checkpoints_iterator
feature_column : tfnb.v1.feature_columns.columns : bucketized_column numeric_column
feature_column : tfnb.v1.feature_columns.categorical : categorical_column_with_hash_bucket
feature_column : tfnb.v1.feature_columns.categorical : categorical_column_with_identity crossed_column
feature_column : tfnb.v1.feature_columns.categorical : categorical_column_with_vocabulary_file
feature_column : tfnb.v1.feature_columns.categorical : categorical_column_with_vocabulary_list
feature_column : tfnb.v1.feature_columns.categorical : weighted_categorical_column
feature_column : tfnb.v1.feature_columns.embedding : embedding_column indicator_column shared_embedding_columns
feature_column : tfnb.v1.feature_columns.layers : input_layer linear_model make_parse_example_spec
estimator : tfnb.v1.feature_columns.layers : classifier_parse_example_spec regressor_parse_example_spec
feature_column : tfnb.v1.feature_columns.sequence : sequence_categorical_column_with_hash_bucket
feature_column : tfnb.v1.feature_columns.sequence : sequence_categorical_column_with_identity
feature_column : tfnb.v1.feature_columns.sequence : sequence_categorical_column_with_vocabulary_file
feature_column : tfnb.v1.feature_columns.sequence : sequence_categorical_column_with_vocabulary_list
estimator : tfnb.v1.estimators.api : BaselineClassifier BaselineEstimator BaselineRegressor BestExporter
estimator : tfnb.v1.estimators.api : BinaryClassHead DNNClassifier DNNEstimator DNNLinearCombinedClassifier
estimator : tfnb.v1.estimators.api : DNNLinearCombinedEstimator DNNLinearCombinedRegressor DNNRegressor Estimator
estimator : tfnb.v1.estimators.api : EstimatorSpec EvalSpec Exporter FinalExporter Head LatestExporter
estimator : tfnb.v1.estimators.api : LinearClassifier LinearEstimator LinearRegressor LogisticRegressionHead ModeKeys
estimator : tfnb.v1.estimators.api : MultiClassHead MultiHead MultiLabelHead PoissonRegressionHead RegressionHead
estimator : tfnb.v1.estimators.api : RunConfig TrainSpec VocabInfo WarmStartSettings add_metrics export inputs
estimator : tfnb.v1.estimators.api : train_and_evaluate
tf : tfnb.v1.estimators.model : Model
tf : tfnb.v1.programs.hook : install real_tensorflow uninstall
examples.tutorials.mnist.input_data : tfnb.datasets.mnist : VALIDATION_SIZE extract_images extract_labels
examples.tutorials.mnist.input_data : tfnb.datasets.mnist : maybe_download read_data_sets
tools.graph_transforms : tfnb.v1.contrib.graph_transforms : TransformGraph
"""
API: dict[str, Any] = dict(lazy_names(_TABLE))
