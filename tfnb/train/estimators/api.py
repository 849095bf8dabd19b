"""The public names of `tf.estimator` for which tfnb has code of its own.

Invariant: the module is imported on first use, since it imports sessions.
"""

from __future__ import annotations

from tfnb.train.estimators import export, inputs
from tfnb.train.estimators.canned import (
    DNNClassifier,
    DNNRegressor,
    LinearClassifier,
    LinearRegressor,
)
from tfnb.train.estimators.estimator import Estimator
from tfnb.train.estimators.spec import EstimatorSpec, ModeKeys, RunConfig

__all__ = [
    "DNNClassifier",
    "DNNRegressor",
    "Estimator",
    "EstimatorSpec",
    "LinearClassifier",
    "LinearRegressor",
    "ModeKeys",
    "RunConfig",
    "export",
    "inputs",
]
