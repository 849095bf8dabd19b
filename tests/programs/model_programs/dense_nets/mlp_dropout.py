"""Two hidden layers with dropout; the masks are fed, so that every run drops the same units."""

import numpy as np

RATE = 0.005


def build(tf, data, rate):
    x = tf.placeholder(tf.float32, [None, 784])
    y = tf.placeholder(tf.int32, [None])
    masks = [tf.placeholder(tf.float32, [None, n]) for n in (64, 32)]
    h = x
    for i, (n, mask) in enumerate(zip((64, 32), masks)):
        with tf.variable_scope("layer%d" % (i + 1)):
            size = h.get_shape()[1].value
            w = tf.get_variable("w", [size, n], initializer=tf.truncated_normal_initializer(stddev=size**-0.5))
            b = tf.get_variable("b", [n], initializer=tf.constant_initializer(0.0))
            h = tf.nn.relu(tf.nn.bias_add(tf.matmul(h, w), b)) * mask / 0.8
    with tf.variable_scope("out"):
        w = tf.get_variable("w", [32, 10], initializer=tf.truncated_normal_initializer(stddev=0.1))
        logits = tf.matmul(h, w)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    train = tf.train.AdamOptimizer(learning_rate=rate).minimize(loss)

    def feeds(step):
        images, digits = data.digits(step, 32)
        found = {x: images, y: digits}
        for k, (mask, n) in enumerate(zip(masks, (64, 32))):
            found[mask] = (data.uniform(1000 * k + step, 32, n) < 0.8).astype(np.float32)
        return found

    return loss, train, feeds
