"""A conv net with batch normalisation written by hand: moments, and moving averages that keep them."""

RATE = 0.05


def build(tf, data, rate):
    x = tf.placeholder(tf.float32, [None, 14, 14, 1])
    y = tf.placeholder(tf.int32, [None])

    def batch_norm(h, n, scope):
        with tf.variable_scope(scope):
            beta = tf.get_variable("beta", [n], initializer=tf.constant_initializer(0.0))
            gamma = tf.get_variable("gamma", [n], initializer=tf.constant_initializer(1.0))
            mean, var = tf.nn.moments(h, [0, 1, 2], name="moments")
            ema = tf.train.ExponentialMovingAverage(decay=0.9)
            with tf.control_dependencies([ema.apply([mean, var])]):
                return tf.nn.batch_normalization(h, tf.identity(mean), tf.identity(var), beta, gamma, 1e-3)

    h = x
    for i, n in enumerate((4, 6)):
        with tf.variable_scope("conv%d" % i):
            w = tf.get_variable(
                "w", [3, 3, h.get_shape()[3].value, n], initializer=tf.random_normal_initializer(stddev=0.2)
            )
            h = tf.nn.conv2d(h, w, [1, 2, 2, 1], padding="SAME")
            h = tf.nn.relu(batch_norm(h, n, "bn"))
    h = tf.reduce_mean(h, [1, 2])
    w = tf.get_variable("w", [6, 10], initializer=tf.random_normal_initializer(stddev=0.2))
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=tf.matmul(h, w)))
    train = tf.train.MomentumOptimizer(rate, 0.9).minimize(loss)

    def feeds(step):
        return {x: data.small(step, 16), y: data.digits(step, 16)[1]}

    return loss, train, feeds
