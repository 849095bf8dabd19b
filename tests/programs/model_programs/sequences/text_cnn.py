"""Sentences classified by convolutions over words: filters of several widths, the largest answer of each."""

RATE = 0.01


def build(tf, data, rate):
    length, size, filters = 8, 6, 4
    input_x = tf.placeholder(tf.int32, [None, length], name="input_x")
    input_y = tf.placeholder(tf.float32, [None, 2], name="input_y")
    with tf.device("/cpu:0"), tf.name_scope("embedding"):
        W = tf.Variable(tf.random_uniform([27, size], -1.0, 1.0), name="W")
        embedded = tf.expand_dims(tf.nn.embedding_lookup(W, input_x), -1)
    pooled = []
    for width in (2, 3):
        with tf.name_scope("conv-maxpool-%s" % width):
            W = tf.Variable(tf.truncated_normal([width, size, 1, filters], stddev=0.1), name="W")
            b = tf.Variable(tf.constant(0.1, shape=[filters]), name="b")
            conv = tf.nn.conv2d(embedded, W, strides=[1, 1, 1, 1], padding="VALID", name="conv")
            h = tf.nn.relu(tf.nn.bias_add(conv, b), name="relu")
            ksize = [1, length - width + 1, 1, 1]
            pooled.append(tf.nn.max_pool(h, ksize=ksize, strides=[1, 1, 1, 1], padding="VALID", name="pool"))
    h = tf.reshape(tf.concat(pooled, 3), [-1, 2 * filters])
    with tf.name_scope("output"):
        W = tf.Variable(tf.truncated_normal([2 * filters, 2], stddev=0.3), name="W")
        b = tf.Variable(tf.constant(0.1, shape=[2]), name="b")
        scores = tf.nn.xw_plus_b(h, W, b, name="scores")
        losses = tf.nn.softmax_cross_entropy_with_logits(labels=input_y, logits=scores)
        loss = tf.reduce_mean(losses) + 0.01 * (tf.nn.l2_loss(W) + tf.nn.l2_loss(b))
    optimizer = tf.train.AdamOptimizer(rate)
    grads_and_vars = optimizer.compute_gradients(loss)
    train_op = optimizer.apply_gradients(grads_and_vars)

    def feeds(step):
        ids = data.integers(step, 27, 24, length)
        return {input_x: ids, input_y: data.one_hot((ids < 4).any(1).astype(int), 2)}

    return loss, train_op, feeds
