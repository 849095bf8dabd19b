"""tf.metrics against TensorFlow's: value after two batches, the updates' results, with and without weights."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tfnb

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    tensorflow = pytest.importorskip("tensorflow")
tf1 = tensorflow.compat.v1

pytestmark = pytest.mark.filterwarnings("ignore")
RNG = np.random.default_rng(4)
P = RNG.random((2, 12)).astype("f")
Y = (RNG.random((2, 12)) < 0.4).astype(np.int64)
CLASSES = RNG.integers(0, 4, (2, 12))
GUESS = np.where(RNG.random((2, 12)) < 0.5, CLASSES, RNG.integers(0, 4, (2, 12)))
W = RNG.random((2, 12)).astype("f")
CASES = {
    "accuracy": (CLASSES, GUESS, {}),
    "mean_squared_error": (Y.astype("f"), P, {}),
    "root_mean_squared_error": (Y.astype("f"), P, {}),
    "mean_absolute_error": (Y.astype("f"), P, {}),
    "mean_relative_error": (Y.astype("f"), P, {"normalizer": np.full(12, 0.5, "f")}),
    "mean_iou": (CLASSES, GUESS, {"num_classes": 5}),
    "true_positives": (Y, P > 0.5, {}),
    "false_positives": (Y, P > 0.5, {}),
    "true_negatives": (Y, P > 0.5, {}),
    "false_negatives": (Y, P > 0.5, {}),
    "precision": (Y, P > 0.5, {}),
    "recall": (Y, P > 0.5, {}),
    "auc": (Y, P, {}),
    "auc PR": (Y, P, {"curve": "PR", "num_thresholds": 50}),
    "auc minoring": (Y, P, {"summation_method": "minoring"}),
    "precision_at_thresholds": (Y, P, {"thresholds": [0.2, 0.5, 0.8]}),
    "recall_at_thresholds": (Y, P, {"thresholds": [0.2, 0.5, 0.8]}),
    "true_positives_at_thresholds": (Y, P, {"thresholds": [0.2, 0.5]}),
    "sensitivity_at_specificity": (Y, P, {"specificity": 0.6}),
    "specificity_at_sensitivity": (Y, P, {"sensitivity": 0.6}),
    "mean": (P, None, {}),
    "mean_tensor": (P, None, {}),
    "percentage_below": (P, None, {"threshold": 0.4}),
}


def run(tf, name, labels, predictions, weights, more):
    function = getattr(tf.metrics, name.split()[0])
    with tf.Graph().as_default(), tf.Session() as session:
        given = [a for a in (labels, predictions) if a is not None]
        inputs = [tf.placeholder(a.dtype, a.shape[1:]) for a in given]
        w = None if weights is None else tf.placeholder(tf.float32, [12])
        value, update = (
            function(*inputs, *more.values(), weights=w)
            if name.split()[0] in ("mean_relative_error", "sensitivity_at_specificity", "specificity_at_sensitivity")
            else function(*inputs, weights=w, **more)
        )
        session.run(tf.local_variables_initializer())
        found = [session.run(value)]
        for k in range(2):
            feeds = dict(zip(inputs, (a[k] for a in given), strict=True))
            if w is not None:
                feeds[w] = weights[k]
            found.append(session.run(update, feeds))
            found.append(session.run(value))
        names = sorted(v.op.name for v in tf.local_variables())
    return found, names


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("weights", [None, W], ids=["plain", "weighted"])
def test_metric(name, weights):
    labels, predictions, more = CASES[name]
    ours, names = run(tfnb, name, labels, predictions, weights, more)
    theirs, wanted = run(tf1, name, labels, predictions, weights, more)
    for k, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6, err_msg=f"{name}, result {k}")
    if "specificity" not in name:
        assert names == wanted
