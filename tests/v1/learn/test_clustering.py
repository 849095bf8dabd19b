"""K-means of tf.contrib.factorization: clusters that are far apart are found."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

RNG = np.random.default_rng(0)
CENTRES = np.float32([[0, 0], [10, 0], [0, 10]])
POINTS = (CENTRES[np.arange(60) % 3] + RNG.normal(scale=0.3, size=(60, 2))).astype("f")


def data():
    return tf.constant(POINTS)


@pytest.mark.parametrize("use_mini_batch", [False, True])
def test_an_estimator(tmp_path, use_mini_batch):
    kinds = tf.contrib.factorization
    model = kinds.KMeansClustering(
        3,
        str(tmp_path),
        kinds.KMEANS_PLUS_PLUS_INIT,
        use_mini_batch=use_mini_batch,
        random_seed=1,
        relative_tolerance=1e-4,
    )
    model.train(data, steps=20)
    found = model.cluster_centers()
    order = [int(np.argmin(((found - c) ** 2).sum(1))) for c in CENTRES]
    assert sorted(order) == [0, 1, 2]
    np.testing.assert_allclose(found[order], CENTRES, atol=0.5)
    once = tf.estimator.inputs.numpy_input_fn(POINTS, shuffle=False)
    index = list(model.predict_cluster_index(once))
    assert index == [order[i % 3] for i in range(60)]
    distances = np.stack(list(model.transform(once)))
    exact = ((POINTS[:, None] - found) ** 2).sum(2)
    np.testing.assert_allclose(distances, exact, atol=1e-2)
    assert model.score(once) == pytest.approx(exact.min(1).sum(), rel=1e-2)


def test_the_graph_and_cosine_distances():
    first = np.float32([[1, 0], [0, 1]])
    made = tf.contrib.factorization.KMeans(POINTS[POINTS[:, 0] + POINTS[:, 1] > 5], 2, first, distance_metric="cosine")
    _, nearest, scores, _, init, step = made.training_graph()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(init)
        for _ in range(3):
            session.run(step)
        index, score = session.run([nearest[0], scores[0]])
    assert sorted(np.bincount(index)) == [20, 20] and score.max() < 0.01


def test_what_is_refused():
    with pytest.raises(errors.InvalidArgumentError, match="metric"):
        tf.contrib.factorization.KMeans(POINTS, 2, distance_metric="manhattan")
    with pytest.raises(errors.InvalidArgumentError, match="mini_batch"):
        tf.contrib.factorization.KMeans(POINTS, 2, mini_batch_steps_per_iteration=3)
