"""tf.layers with batch normalisation: the moving averages move with the training op."""

RATE = 0.01


def build(tf, data, rate):
    x = tf.placeholder(tf.float32, [None, 784], name="images")
    y = tf.placeholder(tf.int64, [None], name="labels")
    is_training = tf.placeholder(tf.bool, [], name="is_training")
    h = tf.layers.dense(x, 32, activation=tf.nn.elu, name="hidden1")
    h = tf.layers.batch_normalization(h, training=is_training, momentum=0.9)
    h = tf.layers.dense(h, 16, activation=tf.nn.tanh, name="hidden2")
    logits = tf.layers.dense(h, 10, name="outputs")
    loss = tf.losses.sparse_softmax_cross_entropy(labels=y, logits=logits)
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        train = tf.train.MomentumOptimizer(rate, 0.9, use_nesterov=True).minimize(loss)

    def feeds(step):
        images, digits = data.digits(step, 32)
        return {x: images, y: digits, is_training: True}

    return loss, train, feeds
