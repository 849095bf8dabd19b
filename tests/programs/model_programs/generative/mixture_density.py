"""A mixture density network: the inverse of a function that has several values."""

import numpy as np

RATE = 0.01


def build(tf, data, rate):
    kmix = 4
    x = tf.placeholder(dtype=tf.float32, shape=[None, 1], name="x")
    y = tf.placeholder(dtype=tf.float32, shape=[None, 1], name="y")
    Wh = tf.Variable(tf.random_normal([1, 12], stddev=0.5, dtype=tf.float32))
    bh = tf.Variable(tf.random_normal([1, 12], stddev=0.5, dtype=tf.float32))
    Wo = tf.Variable(tf.random_normal([12, kmix * 3], stddev=0.5, dtype=tf.float32))
    bo = tf.Variable(tf.random_normal([1, kmix * 3], stddev=0.5, dtype=tf.float32))
    output = tf.matmul(tf.nn.tanh(tf.matmul(x, Wh) + bh), Wo) + bo
    out_pi, out_sigma, out_mu = tf.split(output, 3, 1)
    max_pi = tf.reduce_max(out_pi, 1, keep_dims=True)
    out_pi = tf.exp(tf.subtract(out_pi, max_pi))
    out_pi = tf.multiply(tf.reciprocal(tf.reduce_sum(out_pi, 1, keep_dims=True)), out_pi)
    out_sigma = tf.exp(out_sigma)
    result = tf.multiply(tf.subtract(y, out_mu), tf.reciprocal(out_sigma))
    result = -tf.square(result) / 2
    normal = tf.multiply(tf.exp(result), tf.reciprocal(out_sigma)) / np.sqrt(2 * np.pi)
    likelihood = tf.reduce_sum(tf.multiply(normal, out_pi), 1, keep_dims=True)
    loss = tf.reduce_mean(-tf.log(likelihood))
    train = tf.train.AdamOptimizer(rate).minimize(loss)

    def feeds(step):
        t = (2 * data.uniform(step, 40, 1) - 1).astype(np.float32)
        return {x: np.sin(5 * t) + 0.5 * t, y: t}

    return loss, train, feeds
