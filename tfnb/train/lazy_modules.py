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
train : tfnb.train.estimators.warm_start : VocabInfo warm_start
contrib.predictor : tfnb.train.estimators.predictor : from_contrib_estimator from_estimator from_saved_model
"""
API: dict[str, Any] = dict(lazy_names(_TABLE))
