"""A character model in the way of char-rnn: two LSTM layers, gradients clipped by their global norm."""

RATE = 0.02


def build(tf, data, rate):
    batch_size, seq_length, vocab_size, rnn_size = 8, 3, 27, 12
    input_data = tf.placeholder(tf.int32, [batch_size, seq_length])
    targets = tf.placeholder(tf.int32, [batch_size, seq_length])
    cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.BasicLSTMCell(rnn_size) for _ in range(2)])
    initial_state = cell.zero_state(batch_size, tf.float32)
    with tf.variable_scope("rnnlm"):
        softmax_w = tf.get_variable("softmax_w", [rnn_size, vocab_size])
        softmax_b = tf.get_variable("softmax_b", [vocab_size])
        embedding = tf.get_variable("embedding", [vocab_size, rnn_size])
        inputs = tf.split(tf.nn.embedding_lookup(embedding, input_data), seq_length, 1)
        inputs = [tf.squeeze(i, [1]) for i in inputs]
    outputs, _ = tf.nn.static_rnn(cell, inputs, initial_state=initial_state, scope="rnnlm")
    output = tf.reshape(tf.concat(outputs, 1), [-1, rnn_size])
    logits = tf.matmul(output, softmax_w) + softmax_b
    entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.reshape(targets, [-1]), logits=logits)
    cost = tf.reduce_sum(entropy) / batch_size / seq_length
    lr = tf.Variable(rate, trainable=False, name="lr")
    tvars = tf.trainable_variables()
    grads, _ = tf.clip_by_global_norm(tf.gradients(cost, tvars), 1.0)
    train_op = tf.train.AdamOptimizer(lr).apply_gradients(zip(grads, tvars))

    def feeds(step):
        text = data.text()
        rows = [text[step * 7 + 29 * k :][: seq_length + 1] for k in range(batch_size)]
        return {input_data: [r[:-1] for r in rows], targets: [r[1:] for r in rows]}

    return cost, train_op, feeds
