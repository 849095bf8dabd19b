"""Metrics beside those of an estimator's model function.

Invariant: the model and its checkpoints stay what they are; only evaluations change.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tfnb.errors import InvalidArgumentError
from tfnb.v1.estimators.estimator import Estimator
from tfnb.v1.estimators.spec import EstimatorSpec, ModeKeys, RunConfig

__all__ = ["add_metrics"]


def add_metrics(estimator: Estimator, metric_fn: Callable[..., Any]) -> Estimator:
    """Returns an estimator of the same model and folder that evaluates the metrics of `metric_fn`, too.

    metric_fn: takes those of features, labels, predictions and config that its parameters name, and returns a dict of
    name to (value, update op). Metrics of the same name are replaced. Raises `InvalidArgumentError` for other
    parameters.
    """
    wanted = list(inspect.signature(metric_fn).parameters)
    unknown = [n for n in wanted if n not in ("features", "labels", "predictions", "config")]
    if unknown:
        raise InvalidArgumentError(f"metric_fn ({metric_fn}) has following not expected args: {unknown}")

    def model_fn(features: object, labels: object, mode: str, config: RunConfig) -> EstimatorSpec:
        spec = estimator.spec_of(features, labels, mode)
        if mode != ModeKeys.EVAL:
            return spec
        known = {"features": features, "labels": labels, "predictions": spec.predictions, "config": config}
        found = {**(spec.eval_metric_ops or {}), **metric_fn(**{n: known[n] for n in wanted})}
        return spec._replace(eval_metric_ops=found)

    return Estimator(model_fn, estimator.model_dir, estimator.config, warm_start_from=estimator.warm_start_from)
