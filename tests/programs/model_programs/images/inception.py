"""An inception module: convolutions of three sizes and a pool side by side, joined along the channels."""

RATE = 0.01


def build(tf, data, rate):
    x = tf.placeholder(tf.float32, [None, 14, 14, 1])
    y = tf.placeholder(tf.int64, [None])

    def conv(h, n, k, name):
        return tf.layers.conv2d(h, n, k, padding="same", activation=tf.nn.relu, name=name)

    with tf.variable_scope("stem"):
        h = tf.nn.lrn(conv(x, 4, 3, "conv"), depth_radius=2, bias=1.0, alpha=0.001, beta=0.75)
        h = tf.layers.max_pooling2d(h, 3, 2, padding="same")
    with tf.variable_scope("mixed"):
        branches = [
            conv(h, 3, 1, "1x1"),
            conv(conv(h, 2, 1, "3x3_reduce"), 4, 3, "3x3"),
            conv(conv(h, 2, 1, "5x5_reduce"), 2, 5, "5x5"),
            conv(tf.layers.max_pooling2d(h, 3, 1, padding="same"), 2, 1, "pool_project"),
        ]
        h = tf.concat(branches, axis=3)
    h = tf.layers.flatten(tf.layers.average_pooling2d(h, 7, 7))
    logits = tf.layers.dense(h, 10, name="logits")
    loss = tf.losses.softmax_cross_entropy(tf.one_hot(y, 10), logits, label_smoothing=0.1)
    train = tf.train.RMSPropOptimizer(rate, decay=0.9, momentum=0.9, epsilon=1.0).minimize(loss)

    def feeds(step):
        return {x: data.small(step, 12), y: data.digits(step, 12)[1]}

    return loss, train, feeds
