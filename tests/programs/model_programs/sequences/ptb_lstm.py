"""A language model in the way of the PTB tutorial: steps by hand in a scope that reuses its variables."""

RATE = 1.0


def build(tf, data, rate):
    batch, steps, size, vocab = 6, 2, 8, 27
    x = tf.placeholder(tf.int32, [batch, steps])
    y = tf.placeholder(tf.int32, [batch, steps])
    initializer = tf.random_uniform_initializer(-0.3, 0.3)
    with tf.variable_scope("model", reuse=None, initializer=initializer):
        cells = [tf.nn.rnn_cell.LSTMCell(size, use_peepholes=True) for _ in range(2)]
        cell = tf.nn.rnn_cell.MultiRNNCell(cells, state_is_tuple=True)
        state = cell.zero_state(batch, tf.float32)
        embedding = tf.get_variable("embedding", [vocab, size])
        inputs = tf.nn.embedding_lookup(embedding, x)
        outputs = []
        with tf.variable_scope("RNN"):
            for time_step in range(steps):
                if time_step > 0:
                    tf.get_variable_scope().reuse_variables()
                cell_output, state = cell(inputs[:, time_step, :], state)
                outputs.append(cell_output)
        output = tf.reshape(tf.concat(axis=1, values=outputs), [-1, size])
        softmax_w = tf.get_variable("softmax_w", [size, vocab])
        softmax_b = tf.get_variable("softmax_b", [vocab])
        logits = tf.nn.xw_plus_b(output, softmax_w, softmax_b)
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.reshape(y, [-1]), logits=logits)
    cost = tf.reduce_sum(loss) / batch
    with tf.variable_scope("training"):
        lr = tf.Variable(0.0, trainable=False, name="rate")
        new_lr = tf.assign(lr, rate)
    tvars = tf.trainable_variables()
    grads, _ = tf.clip_by_global_norm(tf.gradients(cost, tvars), 5.0)
    with tf.control_dependencies([new_lr]):
        train_op = tf.train.GradientDescentOptimizer(new_lr).apply_gradients(list(zip(grads, tvars)))

    def feeds(step):
        text = data.text()[step : step + batch * (steps + 1)].reshape(batch, steps + 1)
        return {x: text[:, :-1], y: text[:, 1:]}

    return cost, train_op, feeds
