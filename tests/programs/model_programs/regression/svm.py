"""A linear support vector machine: hinge loss and a penalty on the weights."""

import numpy as np

RATE = 0.02


def build(tf, data, rate):
    x_data = tf.placeholder(shape=[None, 784], dtype=tf.float32)
    y_target = tf.placeholder(shape=[None, 1], dtype=tf.float32)
    A = tf.Variable(tf.random_normal(shape=[784, 1], stddev=0.05))
    b = tf.Variable(tf.random_normal(shape=[1, 1]))
    model_output = tf.subtract(tf.matmul(x_data, A), b)
    l2_norm = tf.reduce_sum(tf.square(A))
    classification_term = tf.reduce_mean(tf.maximum(0.0, 1.0 - y_target * model_output))
    loss = tf.add(classification_term, tf.multiply(0.01, l2_norm))
    prediction = tf.sign(model_output)
    tf.add_to_collection("fetch", tf.reduce_mean(tf.cast(tf.equal(prediction, y_target), tf.float32)))
    train_step = tf.train.GradientDescentOptimizer(rate).minimize(loss)

    def feeds(step):
        images, digits = data.digits(step, 32)
        return {x_data: images, y_target: np.where(digits < 5, -1, 1).astype(np.float32)[:, None]}

    return loss, train_step, feeds
