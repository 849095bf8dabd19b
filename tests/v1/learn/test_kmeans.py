"""`tf.contrib.learn.KMeansClustering`, an estimator of contrib.learn, against what TensorFlow 1.15.5 gives."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf

POINTS = np.array([[0, 0], [0, 1], [9, 9], [9, 8]], np.float32)


def points():
    return tf.constant(POINTS), None


@pytest.mark.opencl
def test_fit_clusters_score_and_predict(tmp_path):
    model = tf.contrib.learn.KMeansClustering(
        num_clusters=2, model_dir=str(tmp_path), initial_clusters=POINTS[[0, 2]], use_mini_batch=False
    )
    assert model.fit(input_fn=points, steps=5) is model
    # The values of TensorFlow 1.15.5 for these points.
    np.testing.assert_allclose(model.clusters(), [[0.0, 0.5], [9.0, 8.5]])
    assert model.score(input_fn=points, steps=1) == pytest.approx(1.0, rel=1e-5)
    distances = model.transform(input_fn=points)
    np.testing.assert_allclose(distances, [[0.25, 153.25], [0.25, 137.25], [153.25, 0.25], [137.25, 0.25]], rtol=1e-5)
    # The input is a constant, which has no end: one batch of it is predicted.
    assert list(model.predict_cluster_idx(input_fn=points)) == [0, 0, 1, 1]
    assert isinstance(model, tf.contrib.learn.Estimator)
    assert not isinstance(model, tf.contrib.factorization.KMeansClustering)


def test_labels_are_refused():
    model = tf.contrib.learn.KMeansClustering(2)
    with pytest.raises(tf.errors.InvalidArgumentError, match="labels"):
        model.fit(input_fn=lambda: (tf.constant(POINTS), tf.constant([0, 1, 0, 1])), steps=1)
