"""A highway network: gates decide how much of a layer's input goes through unchanged."""

RATE = 0.05


def build(tf, data, rate):
    x = tf.placeholder(tf.float32, [None, 784])
    y = tf.placeholder(tf.float32, [None, 10])

    def weight_bias(W_shape, bias_init=0.1):
        W = tf.Variable(tf.truncated_normal(W_shape, stddev=0.1), name="weight")
        return W, tf.Variable(tf.constant(bias_init, shape=W_shape[-1:]), name="bias")

    def highway(x, size, carry_bias):
        W, b = weight_bias([size, size])
        with tf.name_scope("transform_gate"):
            W_T, b_T = weight_bias([size, size])
        with tf.name_scope("carry_gate"):
            b_C = tf.constant(-carry_bias)
        H = tf.nn.relu(tf.matmul(x, W) + b, name="activation")
        T = tf.sigmoid(tf.matmul(x, W_T) + b_T - carry_bias, name="transform_gate")
        C = tf.subtract(1.0, T, name="carry_gate")
        return tf.add(tf.multiply(H, T), tf.multiply(x, C) + 0.0 * b_C, "y")

    W, b = weight_bias([784, 16])
    h = tf.nn.relu(tf.matmul(x, W) + b)
    for _ in range(3):
        h = highway(h, 16, 1.0)
    W, b = weight_bias([16, 10])
    y_hat = tf.nn.softmax(tf.matmul(h, W) + b)
    loss = -tf.reduce_mean(tf.reduce_sum(y * tf.log(tf.clip_by_value(y_hat, 1e-10, 1.0)), 1))
    train = tf.train.GradientDescentOptimizer(rate).minimize(loss)

    def feeds(step):
        images, digits = data.digits(step, 32)
        return {x: images, y: data.one_hot(digits)}

    return loss, train, feeds
