"""Is it an odd digit? Logistic regression on the logits, with accuracy beside the loss."""

import numpy as np

RATE = 0.05


def build(tf, data, rate):
    x = tf.placeholder(tf.float32, [None, 784])
    y = tf.placeholder(tf.float32, [None, 1])
    W = tf.get_variable("W", [784, 1], initializer=tf.zeros_initializer())
    b = tf.get_variable("b", [1], initializer=tf.constant_initializer(0.1))
    logits = tf.matmul(x, W) + b
    with tf.name_scope("loss"):
        loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logits))
    correct = tf.equal(tf.cast(tf.sigmoid(logits) > 0.5, tf.float32), y)
    tf.add_to_collection("accuracy", tf.reduce_mean(tf.cast(correct, tf.float32)))
    train = tf.train.GradientDescentOptimizer(rate).minimize(loss)

    def feeds(step):
        images, labels = data.digits(step, 32)
        return {x: images, y: (labels % 2).astype(np.float32)[:, None]}

    return loss, train, feeds
