"""REINFORCE: the gradient of the log probability of the actions taken, weighted by their returns."""

import numpy as np

RATE = 0.05


def build(tf, data, rate):
    observations = tf.placeholder(tf.float32, [None, 4], name="input_x")
    actions = tf.placeholder(tf.int32, [None], name="input_y")
    advantages = tf.placeholder(tf.float32, [None], name="reward_signal")
    W1 = tf.get_variable("W1", shape=[4, 10], initializer=tf.glorot_uniform_initializer())
    W2 = tf.get_variable("W2", shape=[10, 3], initializer=tf.glorot_uniform_initializer())
    probability = tf.nn.softmax(tf.matmul(tf.nn.relu(tf.matmul(observations, W1)), W2))
    indexes = tf.range(0, tf.shape(probability)[0]) * tf.shape(probability)[1] + actions
    responsible = tf.gather(tf.reshape(probability, [-1]), indexes)
    loss = -tf.reduce_mean(tf.log(responsible) * advantages)
    adam = tf.train.AdamOptimizer(learning_rate=rate)
    gradients = adam.compute_gradients(loss, tf.trainable_variables())
    updateGrads = adam.apply_gradients([(g, v) for g, v in gradients])

    def feeds(step):
        seen, taken = data.normal(step, 24, 4), data.integers(step, 3, 24)
        good = np.where(taken == np.argmax(seen[:, :3], 1), 1.0, -0.1)
        return {observations: seen, actions: taken, advantages: good}

    return loss, updateGrads, feeds
