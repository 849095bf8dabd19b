"""Principal components as the linear autoencoder with the least error, kept near orthonormal by a penalty."""

RATE = 0.02


def build(tf, data, rate):
    x = tf.placeholder(tf.float32, [None, 196])
    centred = x - tf.reduce_mean(x, 0, keep_dims=True)
    W = tf.get_variable("components", [196, 6], initializer=tf.random_normal_initializer(stddev=0.07))
    directions = tf.nn.l2_normalize(W, 0)
    scores = tf.matmul(centred, directions)
    back = tf.matmul(scores, directions, transpose_b=True)
    gram = tf.matmul(directions, directions, transpose_a=True)
    off = gram - tf.diag(tf.diag_part(gram))
    loss = tf.reduce_mean(tf.reduce_sum(tf.squared_difference(centred, back), 1))
    loss += tf.reduce_sum(off * off)
    train = tf.train.RMSPropOptimizer(rate, decay=0.9, momentum=0.5, epsilon=1e-3).minimize(loss)
    return loss, train, lambda step: {x: data.small(step, 32).reshape(32, 196)}
