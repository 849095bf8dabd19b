"""The public names of the training library whose modules load when a program uses one of them.

Each line is "places : module : names"; see `lazy_names`. Invariant: the names of a module stand in one line for each
set of places.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.namespace import lazy_names

__all__ = ["API"]

_TABLE = """
estimator.experimental : tfnb.train.estimators.early_stopping : InMemoryEvaluatorHook make_early_stopping_hook
estimator.experimental : tfnb.train.estimators.early_stopping : make_stop_at_checkpoint_step_hook stop_if_higher_hook
estimator.experimental : tfnb.train.estimators.early_stopping : stop_if_lower_hook stop_if_no_decrease_hook
estimator.experimental : tfnb.train.estimators.early_stopping : stop_if_no_increase_hook
contrib.estimator : tfnb.train.estimators.early_stopping : InMemoryEvaluatorHook make_early_stopping_hook
contrib.estimator : tfnb.train.estimators.early_stopping : make_stop_at_checkpoint_step_hook stop_if_higher_hook
contrib.estimator : tfnb.train.estimators.early_stopping : stop_if_lower_hook stop_if_no_decrease_hook
contrib.estimator : tfnb.train.estimators.early_stopping : stop_if_no_increase_hook
estimator.experimental contrib.estimator : tfnb.train.estimators.parts : call_logit_fn dnn_logit_fn_builder
estimator.experimental contrib.estimator : tfnb.train.estimators.parts : linear_logit_fn_builder
contrib.estimator : tfnb.train.estimators.metrics : add_metrics
contrib.estimator : tfnb.train.estimators.canned : BaselineEstimator DNNEstimator LinearEstimator
contrib.estimator : tfnb.train.estimators.canned : DNNLinearCombinedEstimator
contrib.estimator : tfnb.train.estimators.late_parts : TowerOptimizer binary_classification_head
contrib.estimator : tfnb.train.estimators.late_parts : clip_gradients_by_norm forward_features logistic_regression_head
contrib.estimator : tfnb.train.estimators.late_parts : multi_class_head multi_head multi_label_head
contrib.estimator : tfnb.train.estimators.late_parts : poisson_regression_head regression_head replicate_model_fn
contrib.estimator : tfnb.train.estimators.export : build_raw_supervised_input_receiver_fn
estimator.experimental : tfnb.train.estimators.export : build_raw_supervised_input_receiver_fn
contrib.tpu estimator.tpu : tfnb.train.estimators.without_tpu : InputPipelineConfig TPUConfig TPUEstimator
contrib.tpu estimator.tpu : tfnb.train.estimators.without_tpu : RunConfig=TPURunConfig TPUEstimatorSpec
train : tfnb.train.estimators.warm_start : VocabInfo warm_start
contrib.predictor : tfnb.train.estimators.predictor : from_contrib_estimator from_estimator from_saved_model
contrib.learn : tfnb.train.learn.model_fn : InputFnOps MetricSpec ModeKeys ModelFnOps PredictionKey ProblemType
contrib.learn : tfnb.train.learn.model_fn : RunConfig TaskType
contrib.learn : tfnb.train.learn.estimator : BaseEstimator Estimator Evaluable NotFittedError SKCompat Trainable
contrib.learn : tfnb.train.learn.canned : DNNClassifier DNNEstimator DNNLinearCombinedClassifier
contrib.learn : tfnb.train.learn.canned : DNNLinearCombinedEstimator DNNLinearCombinedRegressor DNNRegressor
contrib.learn : tfnb.train.learn.canned : LinearClassifier LinearEstimator LinearRegressor
contrib.learn : tfnb.train.learn.canned : infer_real_valued_columns_from_input
contrib.learn : tfnb.train.learn.canned : infer_real_valued_columns_from_input_fn
contrib.learn.estimators : tfnb.train.learn.canned : DNNClassifier DNNEstimator DNNLinearCombinedClassifier
contrib.learn.estimators : tfnb.train.learn.canned : DNNLinearCombinedEstimator DNNLinearCombinedRegressor
contrib.learn.estimators : tfnb.train.learn.canned : DNNRegressor LinearClassifier LinearEstimator LinearRegressor
contrib.learn.estimators : tfnb.train.learn.estimator : Estimator SKCompat
contrib.learn.estimators : tfnb.train.learn.model_fn : RunConfig ModeKeys
contrib.learn.monitors : tfnb.train.learn.monitors : BaseMonitor CaptureVariable CheckpointSaver EveryN GraphDump
contrib.learn.monitors : tfnb.train.learn.monitors : LoggingTrainable NanLoss PrintTensor RunHookAdapterForMonitors
contrib.learn.monitors : tfnb.train.learn.monitors : StepCounter StopAtStep SummarySaver ValidationMonitor
contrib.learn.monitors : tfnb.train.learn.monitors : get_default_monitors replace_monitors_with_hooks
contrib.learn contrib.learn.monitors : tfnb.train.hooks.basic_hooks : NanLossDuringTrainingError
contrib.learn.graph_actions : tfnb.train.learn.graph_actions : clear_summary_writers evaluate get_summary_writer
contrib.learn.graph_actions : tfnb.train.learn.graph_actions : infer run_feeds run_feeds_iter run_n train
contrib.learn : tfnb.train.learn.graph_actions : evaluate infer run_feeds run_n train
contrib.learn : tfnb.train.learn.experiment : Experiment ExportStrategy build_parsing_serving_input_fn
contrib.learn : tfnb.train.learn.experiment : make_export_strategy
contrib.learn.utils : tfnb.train.learn.experiment : build_default_serving_input_fn build_parsing_serving_input_fn
contrib.learn.utils : tfnb.train.learn.experiment : make_export_strategy
contrib.learn.utils : tfnb.train.learn.model_fn : InputFnOps
contrib.learn.learn_runner : tfnb.train.learn.experiment : run tune
contrib.learn.io : tfnb.train.learn.io : extract_dask_data extract_dask_labels extract_pandas_data
contrib.learn.io : tfnb.train.learn.io : extract_pandas_labels extract_pandas_matrix generator_input_fn
contrib.learn.io : tfnb.train.learn.io : numpy_input_fn pandas_input_fn queue_parsed_features read_batch_examples
contrib.learn.io : tfnb.train.learn.io : read_batch_features read_batch_record_features read_keyed_batch_examples
contrib.learn.io : tfnb.train.learn.io : read_keyed_batch_examples_shared_queue read_keyed_batch_features
contrib.learn.io : tfnb.train.learn.io : read_keyed_batch_features_shared_queue
contrib.learn : tfnb.train.learn.io : extract_dask_data extract_dask_labels extract_pandas_data extract_pandas_labels
contrib.learn : tfnb.train.learn.io : extract_pandas_matrix read_batch_examples read_batch_features
contrib.learn : tfnb.train.learn.io : read_batch_record_features read_keyed_batch_examples
contrib.learn : tfnb.train.learn.io : read_keyed_batch_examples_shared_queue read_keyed_batch_features
contrib.learn : tfnb.train.learn.io : read_keyed_batch_features_shared_queue
contrib.factorization : tfnb.train.learn.clustering : COSINE_DISTANCE KMEANS_PLUS_PLUS_INIT KMeans KMeansClustering
contrib.factorization : tfnb.train.learn.clustering : RANDOM_INIT SQUARED_EUCLIDEAN_DISTANCE
contrib.learn : tfnb.train.learn.kmeans : KMeansClustering
estimator.experimental : tfnb.train.learn.clustering : KMeans=KMeansClustering
"""
API: dict[str, Any] = dict(lazy_names(_TABLE))
