"""The public names of `tf.estimator` for which tfnb has code of its own.

Invariant: the module is imported on first use, since it imports sessions.
"""

from __future__ import annotations

from tfnb.v1.estimators import export, inputs
from tfnb.v1.estimators.canned import (
    BaselineClassifier,
    BaselineEstimator,
    BaselineRegressor,
    DNNClassifier,
    DNNEstimator,
    DNNLinearCombinedClassifier,
    DNNLinearCombinedEstimator,
    DNNLinearCombinedRegressor,
    DNNRegressor,
    LinearClassifier,
    LinearEstimator,
    LinearRegressor,
)
from tfnb.v1.estimators.class_heads import BinaryClassHead, MultiClassHead, MultiHead, MultiLabelHead
from tfnb.v1.estimators.estimator import Estimator
from tfnb.v1.estimators.exporters import BestExporter, Exporter, FinalExporter, LatestExporter
from tfnb.v1.estimators.heads import Head, LogisticRegressionHead, PoissonRegressionHead, RegressionHead
from tfnb.v1.estimators.metrics import add_metrics
from tfnb.v1.estimators.spec import EstimatorSpec, ModeKeys, RunConfig
from tfnb.v1.estimators.training import EvalSpec, TrainSpec, train_and_evaluate
from tfnb.v1.estimators.warm_start import VocabInfo, WarmStartSettings

__all__ = [
    "BaselineClassifier",
    "BaselineEstimator",
    "BaselineRegressor",
    "BestExporter",
    "BinaryClassHead",
    "DNNClassifier",
    "DNNEstimator",
    "DNNLinearCombinedClassifier",
    "DNNLinearCombinedEstimator",
    "DNNLinearCombinedRegressor",
    "DNNRegressor",
    "Estimator",
    "EstimatorSpec",
    "EvalSpec",
    "Exporter",
    "FinalExporter",
    "Head",
    "LatestExporter",
    "LinearClassifier",
    "LinearEstimator",
    "LinearRegressor",
    "LogisticRegressionHead",
    "ModeKeys",
    "MultiClassHead",
    "MultiHead",
    "MultiLabelHead",
    "PoissonRegressionHead",
    "RegressionHead",
    "RunConfig",
    "TrainSpec",
    "VocabInfo",
    "WarmStartSettings",
    "add_metrics",
    "export",
    "inputs",
    "train_and_evaluate",
]
