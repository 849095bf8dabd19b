"""A siamese net: two copies with the same weights, a contrastive loss on their distance."""

import numpy as np

RATE = 0.02


def build(tf, data, rate):
    x1, x2 = tf.placeholder(tf.float32, [None, 784]), tf.placeholder(tf.float32, [None, 784])
    y = tf.placeholder(tf.float32, [None])

    def network(x):
        for i, n in enumerate((32, 2)):
            w = tf.get_variable(
                "fc%dW" % i, [x.get_shape()[1], n], initializer=tf.truncated_normal_initializer(stddev=0.05)
            )
            b = tf.get_variable("fc%db" % i, initializer=tf.constant(0.01, shape=[n], dtype=tf.float32))
            x = tf.nn.bias_add(tf.matmul(x, w), b)
            x = tf.nn.relu(x) if i == 0 else x
        return x

    with tf.variable_scope("siamese") as scope:
        o1 = network(x1)
        scope.reuse_variables()
        o2 = network(x2)
    eucd2 = tf.reduce_sum(tf.pow(tf.subtract(o1, o2), 2), 1)
    eucd = tf.sqrt(eucd2 + 1e-6, name="eucd")
    margin = tf.constant(5.0)
    pos = tf.multiply(y, eucd2)
    neg = tf.multiply(tf.subtract(1.0, y), tf.pow(tf.maximum(tf.subtract(margin, eucd), 0), 2))
    loss = tf.reduce_mean(tf.add(pos, neg), name="loss")
    train = tf.train.GradientDescentOptimizer(rate).minimize(loss)

    def feeds(step):
        a, la = data.digits(2 * step, 16)
        b, lb = data.digits(2 * step + 1, 16)
        return {x1: a, x2: b, y: (la == lb).astype(np.float32)}

    return loss, train, feeds
