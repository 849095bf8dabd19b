"""Softmax regression with L1 and L2 penalties collected by variable scopes."""

RATE = 0.1


def build(tf, data, rate):
    x = tf.placeholder(tf.float32, [None, 784], name="x")
    y = tf.placeholder(tf.int64, [None], name="y")

    def penalty(w):
        return 1e-3 * tf.nn.l2_loss(w) + 1e-4 * tf.reduce_sum(tf.abs(w))

    with tf.variable_scope("softmax", regularizer=penalty):
        W = tf.get_variable("W", [784, 10], initializer=tf.random_normal_initializer(stddev=0.05))
        b = tf.get_variable("b", [10], initializer=tf.zeros_initializer())
    logits = tf.nn.xw_plus_b(x, W, b)
    entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=y)
    penalties = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    loss = tf.reduce_mean(entropy, name="entropy") + tf.add_n(penalties)
    tf.add_to_collection("accuracy", tf.reduce_mean(tf.to_float(tf.nn.in_top_k(logits, y, 1))))
    train = tf.train.AdagradOptimizer(rate).minimize(loss)

    def feeds(step):
        images, digits = data.digits(step, 40)
        return {x: images, y: digits}

    return loss, train, feeds
