"""An autoencoder whose hidden units shall be active 5% of the time: a Kullback-Leibler penalty."""

RATE = 0.01


def build(tf, data, rate):
    x = tf.placeholder(tf.float32, [None, 784])
    W1 = tf.get_variable("W1", [784, 24], initializer=tf.glorot_uniform_initializer())
    b1 = tf.get_variable("b1", [24], initializer=tf.zeros_initializer())
    W2 = tf.get_variable("W2", [24, 784], initializer=tf.glorot_uniform_initializer())
    b2 = tf.get_variable("b2", [784], initializer=tf.zeros_initializer())
    h = tf.sigmoid(tf.matmul(x, W1) + b1)
    rho_hat, rho = tf.reduce_mean(h, axis=0), 0.05
    kl = rho * tf.log(rho / rho_hat) + (1 - rho) * tf.log((1 - rho) / (1 - rho_hat))
    y = tf.matmul(h, W2) + b2
    loss = tf.losses.mean_squared_error(x, y) + 0.01 * tf.reduce_sum(kl)
    train = tf.train.AdamOptimizer(rate, beta1=0.8, epsilon=1e-4).minimize(loss)
    return loss, train, lambda step: {x: data.digits(step, 32)[0]}
