"""A small residual net: two blocks of convolutions whose input is added again, weight decay, momentum."""

RATE = 0.05


def build(tf, data, rate):
    x = tf.placeholder(tf.float32, [None, 14, 14, 1])
    y = tf.placeholder(tf.int64, [None])

    def conv(h, n, stride, name):
        with tf.variable_scope(name):
            w = tf.get_variable(
                "w", [3, 3, h.get_shape().as_list()[-1], n], tf.float32, tf.variance_scaling_initializer(scale=2.0)
            )
            tf.add_to_collection("decay", tf.nn.l2_loss(w))
            return tf.nn.conv2d(h, w, [1, stride, stride, 1], "SAME")

    def block(h, n, name):
        with tf.variable_scope(name):
            size = h.get_shape().as_list()[-1]
            stride = 1 if size == n else 2
            out = conv(tf.nn.relu(conv(h, n, stride, "a")), n, 1, "b")
            if stride == 2:
                h = tf.nn.avg_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
                h = tf.pad(h, [[0, 0], [0, 0], [0, 0], [0, n - size]])
            return tf.nn.relu(h + out)

    h = block(block(conv(x, 4, 1, "first"), 4, "block1"), 8, "block2")
    logits = tf.layers.dense(tf.reduce_mean(h, [1, 2]), 10, name="logits")
    entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
    loss = tf.reduce_mean(entropy) + 1e-4 * tf.add_n(tf.get_collection("decay"))
    train = tf.train.MomentumOptimizer(rate, 0.9).minimize(loss)

    def feeds(step):
        return {x: data.small(step, 12), y: data.digits(step, 12)[1]}

    return loss, train, feeds
