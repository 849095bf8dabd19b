"""A sine approximated by a polynomial with an L2 penalty, trained with momentum."""

import numpy as np

RATE = 0.02


def build(tf, data, rate):
    X = tf.placeholder(tf.float32, [None], name="X")
    Y = tf.placeholder(tf.float32, [None], name="Y")
    prediction = tf.Variable(tf.random_normal([1]), name="bias")
    weights = []
    for power in range(1, 5):
        W = tf.Variable(tf.random_normal([1], stddev=0.1), name="weight_%d" % power)
        weights.append(W)
        prediction = tf.add(tf.multiply(tf.pow(X, power), W), prediction)
    cost = tf.reduce_sum(tf.pow(prediction - Y, 2)) / 19
    cost += 1e-3 * tf.add_n([tf.nn.l2_loss(W) for W in weights])
    train = tf.train.MomentumOptimizer(rate, 0.9).minimize(cost)

    def feeds(step):
        x = 2 * data.uniform(step, 20) - 1
        return {X: x, Y: np.sin(3 * x)}

    return cost, train, feeds
