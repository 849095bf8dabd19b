"""A GRU over sequences of several lengths: how large is the sum of what was seen?"""

import numpy as np

RATE = 0.05


def build(tf, data, rate):
    x = tf.placeholder(tf.float32, [None, 5, 2])
    lengths = tf.placeholder(tf.int32, [None])
    y = tf.placeholder(tf.float32, [None, 1])
    inputs = [tf.squeeze(t, [1]) for t in tf.split(x, 5, 1)]
    with tf.variable_scope("encoder"):
        cell = tf.nn.rnn_cell.GRUCell(8)
        _, state = tf.nn.static_rnn(cell, inputs, dtype=tf.float32, sequence_length=lengths)
    with tf.variable_scope("regression"):
        w = tf.get_variable("w", [8, 1], initializer=tf.truncated_normal_initializer(stddev=0.3))
        estimate = tf.matmul(state, w)
    loss = tf.reduce_mean(tf.square(estimate - y))
    train = tf.train.GradientDescentOptimizer(rate).minimize(loss)

    def feeds(step):
        values, ends = data.normal(step, 12, 5, 2), data.integers(step, 6, 12)
        seen = np.arange(5) < ends[:, None]
        total = np.sum(values[:, :, 0] * seen, axis=1, keepdims=True)
        return {x: values, lengths: ends, y: total.astype(np.float32)}

    return loss, train, feeds
