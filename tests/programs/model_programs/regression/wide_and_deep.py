"""A wide linear part by Ftrl and a deep part over embeddings by Adagrad, both on the same loss."""

import numpy as np

RATE = 0.2


def build(tf, data, rate):
    crossed = tf.placeholder(tf.int32, [None], name="crossed")
    category = tf.placeholder(tf.int32, [None], name="category")
    numbers = tf.placeholder(tf.float32, [None, 3], name="numbers")
    label = tf.placeholder(tf.float32, [None, 1], name="label")
    with tf.variable_scope("wide"):
        w = tf.get_variable("w", [40, 1], initializer=tf.zeros_initializer())
        wide = tf.nn.embedding_lookup(w, crossed)
    with tf.variable_scope("deep"):
        table = tf.get_variable("table", [10, 4], initializer=tf.truncated_normal_initializer(stddev=0.5))
        h = tf.concat([tf.nn.embedding_lookup(table, category), numbers], 1)
        h = tf.layers.dense(h, 8, activation=tf.nn.relu)
        deep = tf.layers.dense(h, 1)
    loss = tf.losses.sigmoid_cross_entropy(label, wide + deep)
    of = lambda scope: tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope)
    grads = tf.gradients(loss, of("wide") + of("deep"))
    n = len(of("wide"))
    linear = tf.train.FtrlOptimizer(max(rate, 1e-9), l1_regularization_strength=0.01)
    with tf.control_dependencies([tf.convert_to_tensor(g) for g in grads]):
        train = tf.group(
            linear.apply_gradients(zip(grads[:n], of("wide"))),
            tf.train.AdagradOptimizer(rate).apply_gradients(zip(grads[n:], of("deep"))),
        )

    def feeds(step):
        c, k, v = data.integers(step, 40, 32), data.integers(step + 9, 10, 32), data.normal(step, 32, 3)
        hot = (v[:, 0] + (c % 3) - (k % 2) > 0.5).astype(np.float32)
        return {crossed: c, category: k, numbers: v, label: hot[:, None]}

    return loss, train, feeds
