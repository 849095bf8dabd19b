"""A denoising autoencoder with tied weights; the mask of corrupted pixels is fed."""

import numpy as np

RATE = 0.05


def build(tf, data, rate):
    X = tf.placeholder("float", [None, 784], name="X")
    mask = tf.placeholder("float", [None, 784], name="mask")
    limit = 4 * np.sqrt(6.0 / (784 + 40))
    W = tf.Variable(tf.random_uniform([784, 40], minval=-limit, maxval=limit), name="W")
    b = tf.Variable(tf.zeros([40]), name="b")
    W_prime = tf.transpose(W)
    b_prime = tf.Variable(tf.zeros([784]), name="b_prime")
    Y = tf.nn.sigmoid(tf.matmul(mask * X, W) + b)
    Z = tf.nn.sigmoid(tf.matmul(Y, W_prime) + b_prime)
    cost = tf.reduce_sum(tf.pow(X - Z, 2)) / 32
    train_op = tf.train.GradientDescentOptimizer(rate).minimize(cost)

    def feeds(step):
        keep = data.uniform(step, 32, 784) < 0.7
        return {X: data.digits(step, 32)[0], mask: keep.astype(np.float32)}

    return cost, train_op, feeds
