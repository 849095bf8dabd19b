"""Learning rate decay with a global step, and moving averages of the weights that are used for testing."""

RATE = 0.1


def build(tf, data, rate):
    x = tf.placeholder(tf.float32, [None, 784], name="x-input")
    y_ = tf.placeholder(tf.float32, [None, 10], name="y-input")
    weights1 = tf.Variable(tf.truncated_normal([784, 24], stddev=0.1))
    biases1 = tf.Variable(tf.constant(0.1, shape=[24]))
    weights2 = tf.Variable(tf.truncated_normal([24, 10], stddev=0.1))
    biases2 = tf.Variable(tf.constant(0.1, shape=[10]))

    def inference(avg):
        of = (lambda v: v) if avg is None else avg.average
        layer1 = tf.nn.relu(tf.matmul(x, of(weights1)) + of(biases1))
        return tf.matmul(layer1, of(weights2)) + of(biases2)

    y = inference(None)
    global_step = tf.Variable(0, trainable=False)
    variable_averages = tf.train.ExponentialMovingAverage(0.99, global_step)
    cross_entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(logits=y, labels=tf.argmax(y_, 1))
    tf.add_to_collection("losses", 1e-3 * tf.nn.l2_loss(weights1))
    tf.add_to_collection("losses", tf.reduce_mean(cross_entropy))
    loss = tf.add_n(tf.get_collection("losses"))
    learning_rate = tf.train.exponential_decay(rate, global_step, 3, 0.9, staircase=True)
    train_step = tf.train.GradientDescentOptimizer(learning_rate).minimize(loss, global_step=global_step)
    with tf.control_dependencies([train_step]):
        train_op = variable_averages.apply([weights1, biases1, weights2, biases2])
    tf.add_to_collection("fetch", inference(variable_averages))

    def feeds(step):
        images, digits = data.digits(step, 32)
        return {x: images, y_: data.one_hot(digits)}

    return loss, train_op, feeds
