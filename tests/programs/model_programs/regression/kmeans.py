"""k-means: each step moves the centroids to the mean of the points next to them."""

import numpy as np

RATE = 1.0


def build(tf, data, rate):
    k = 4
    points = tf.placeholder(tf.float32, [None, 2])
    centroids = tf.Variable(tf.random_normal([k, 2], stddev=2.0), name="centroids")
    expanded_points, expanded_centroids = tf.expand_dims(points, 0), tf.expand_dims(centroids, 1)
    distances = tf.reduce_sum(tf.square(tf.subtract(expanded_points, expanded_centroids)), 2)
    assignments = tf.argmin(distances, 0)
    loss = tf.reduce_mean(tf.reduce_min(distances, 0))
    mine = tf.one_hot(assignments, k, axis=0)
    count = tf.reduce_sum(mine, 1, keep_dims=True)
    means = tf.matmul(mine, points) / tf.maximum(count, 1.0)
    new = tf.where(tf.squeeze(count, [1]) > 0, means, centroids)
    with tf.control_dependencies([loss]):
        train = tf.assign_add(centroids, rate * (new - centroids))
    where = np.array([[-2, -2], [2, 2], [-2, 2], [2, -2]], np.float32)

    def feeds(step):
        return {points: np.repeat(where, 10, axis=0) + 0.3 * data.normal(0, 40, 2)}

    return loss, train, feeds
