"""A variational autoencoder; the normal noise of the reparametrisation is fed."""

RATE = 0.002


def build(tf, data, rate):
    x = tf.placeholder(tf.float32, [None, 784])
    eps = tf.placeholder(tf.float32, [None, 5])

    def layer(h, n, name, activation=None):
        with tf.variable_scope(name):
            size = h.get_shape().as_list()[1]
            w = tf.get_variable("w", [size, n], tf.float32, tf.random_normal_initializer(stddev=0.05))
            b = tf.get_variable("b", [n], initializer=tf.constant_initializer(0.0))
            y = tf.matmul(h, w) + b
            return y if activation is None else activation(y)

    with tf.variable_scope("recognition"):
        h = layer(x, 48, "h1", tf.nn.softplus)
        z_mean = layer(h, 5, "mean")
        z_log_sigma_sq = layer(h, 5, "log_sigma")
    z = tf.add(z_mean, tf.multiply(tf.sqrt(tf.exp(z_log_sigma_sq)), eps))
    with tf.variable_scope("generator"):
        logits = layer(layer(z, 48, "h1", tf.nn.softplus), 784, "out")
    reconstruction = tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=logits), 1)
    latent = -0.5 * tf.reduce_sum(1 + z_log_sigma_sq - tf.square(z_mean) - tf.exp(z_log_sigma_sq), 1)
    cost = tf.reduce_mean(reconstruction + latent)
    train = tf.train.AdamOptimizer(learning_rate=rate).minimize(cost)

    def feeds(step):
        return {x: data.digits(step, 32)[0], eps: data.normal(step, 32, 5)}

    return cost, train, feeds
