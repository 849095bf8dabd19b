"""Soft attention: a query looks at all outputs of a GRU and answers from what it reads there."""

RATE = 0.02


def build(tf, data, rate):
    steps, size = 4, 8
    words = tf.placeholder(tf.int32, [None, steps])
    answer = tf.placeholder(tf.int32, [None])
    table = tf.get_variable("table", [12, size], initializer=tf.random_normal_initializer(stddev=0.5))
    cell = tf.nn.rnn_cell.GRUCell(size)
    inputs = tf.unstack(tf.nn.embedding_lookup(table, words), axis=1)
    outputs, query = tf.nn.static_rnn(cell, inputs, dtype=tf.float32)
    memory = tf.stack(outputs, axis=1)
    with tf.variable_scope("attention", initializer=tf.random_normal_initializer(stddev=0.4)):
        W = tf.get_variable("W", [size, size])
        U = tf.get_variable("U", [size, size])
        v = tf.get_variable("v", [size])
        keys = tf.reshape(tf.matmul(tf.reshape(memory, [-1, size]), W), [-1, steps, size])
        score = tf.reduce_sum(v * tf.tanh(keys + tf.expand_dims(tf.matmul(query, U), 1)), 2)
        weights = tf.nn.softmax(score)
    read = tf.reduce_sum(tf.expand_dims(weights, -1) * memory, 1)
    logits = tf.layers.dense(tf.concat([read, query], 1), 12, name="answer")
    loss = tf.losses.sparse_softmax_cross_entropy(answer, logits)
    train = tf.train.AdamOptimizer(rate).minimize(loss)

    def feeds(step):
        ids = data.integers(step, 12, 24, steps)
        return {words: ids, answer: ids[:, 1]}

    return loss, train, feeds
