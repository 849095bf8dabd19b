"""An LSTM reads a digit seven rows at a time; the last output is classified."""

RATE = 0.01


def build(tf, data, rate):
    n_steps, n_input, n_hidden = 4, 196, 16
    x = tf.placeholder("float", [None, n_steps, n_input])
    y = tf.placeholder("float", [None, 10])
    weights = tf.Variable(tf.random_normal([n_hidden, 10], stddev=0.2))
    biases = tf.Variable(tf.random_normal([10], stddev=0.1))
    steps = tf.unstack(x, n_steps, 1)
    cell = tf.nn.rnn_cell.BasicLSTMCell(n_hidden, forget_bias=1.0)
    outputs, states = tf.nn.static_rnn(cell, steps, dtype=tf.float32)
    pred = tf.matmul(outputs[-1], weights) + biases
    cost = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits=pred, labels=y))
    optimizer = tf.train.AdamOptimizer(learning_rate=rate).minimize(cost)

    def feeds(step):
        images, digits = data.digits(step, 16)
        return {x: images.reshape(16, n_steps, n_input), y: data.one_hot(digits)}

    return cost, optimizer, feeds
