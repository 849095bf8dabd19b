"""Ratings from the product of a user's and an item's vector; only the rows that were read are changed."""

RATE = 0.3


def build(tf, data, rate):
    users, items = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [None])
    ratings = tf.placeholder(tf.float32, [None])
    with tf.variable_scope("factors"):
        init = tf.truncated_normal_initializer(stddev=0.3)
        P = tf.get_variable("P", [30, 4], initializer=init)
        Q = tf.get_variable("Q", [20, 4], initializer=init)
        bu = tf.get_variable("bias_user", [30], initializer=tf.zeros_initializer())
        bi = tf.get_variable("bias_item", [20], initializer=tf.zeros_initializer())
        mu = tf.get_variable("mean", [], initializer=tf.constant_initializer(2.0))
    p, q = tf.nn.embedding_lookup(P, users), tf.nn.embedding_lookup(Q, items)
    bias = tf.nn.embedding_lookup(bu, users) + tf.nn.embedding_lookup(bi, items)
    estimate = mu + bias + tf.reduce_sum(tf.multiply(p, q), 1)
    penalty = tf.nn.l2_loss(p) + tf.nn.l2_loss(q)
    loss = tf.nn.l2_loss(estimate - ratings) + 0.02 * penalty
    train = tf.train.AdagradOptimizer(rate).minimize(loss)

    def feeds(step):
        u, i = data.integers(step, 30, 24), data.integers(step + 99, 20, 24)
        return {users: u, items: i, ratings: 1.0 + (u * 7 + i * 3) % 5}

    return loss, train, feeds
