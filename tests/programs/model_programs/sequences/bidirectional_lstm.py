"""Tags for every step of a sequence, from an LSTM in each direction."""

RATE = 0.02


def build(tf, data, rate):
    n_steps, n_hidden, n_tags = 4, 6, 3
    words = tf.placeholder(tf.int32, [None, n_steps])
    tags = tf.placeholder(tf.int32, [None, n_steps])
    table = tf.get_variable("embedding", [20, 5], initializer=tf.random_uniform_initializer(-0.5, 0.5))
    inputs = tf.unstack(tf.nn.embedding_lookup(table, words), n_steps, 1)
    fw = tf.nn.rnn_cell.BasicLSTMCell(n_hidden, forget_bias=1.0)
    bw = tf.nn.rnn_cell.BasicLSTMCell(n_hidden, forget_bias=1.0)
    outputs, _, _ = tf.nn.static_bidirectional_rnn(fw, bw, inputs, dtype=tf.float32)
    W = tf.Variable(tf.truncated_normal([2 * n_hidden, n_tags], stddev=0.3), name="W")
    b = tf.Variable(tf.zeros([n_tags]), name="b")
    logits = tf.stack([tf.matmul(h, W) + b for h in outputs], axis=1)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tags, logits=logits))
    train = tf.train.AdamOptimizer(rate).minimize(loss)

    def feeds(step):
        ids = data.integers(step, 20, 16, n_steps)
        return {words: ids, tags: (ids + ids[:, ::-1]) % n_tags}

    return loss, train, feeds
