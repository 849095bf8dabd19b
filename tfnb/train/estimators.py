"""The public names of `tf.estimator`.

Invariant: loaded on first use, since it needs sessions.
"""

from __future__ import annotations

import sys

from tfnb.train import estimator_export as export
from tfnb.train import estimator_inputs as inputs
from tfnb.train.canned import DNNClassifier, DNNRegressor, LinearClassifier, LinearRegressor
from tfnb.train.estimator import Estimator
from tfnb.train.estimator_spec import EstimatorSpec, ModeKeys, RunConfig

__all__ = [
    "DNNClassifier",
    "DNNRegressor",
    "Estimator",
    "EstimatorSpec",
    "LinearClassifier",
    "LinearRegressor",
    "ModeKeys",
    "RunConfig",
    "estimator",
    "export",
    "inputs",
]
estimator = sys.modules[__name__]  # what tf.estimator is
