"""A generative adversarial net: two losses, two optimizers, each with its own variables; the noise is fed."""

RATE = 0.002


def build(tf, data, rate):
    X = tf.placeholder(tf.float32, shape=[None, 784], name="X")
    Z = tf.placeholder(tf.float32, shape=[None, 10], name="Z")

    def dense(h, n, name):
        with tf.variable_scope(name):
            w = tf.get_variable("w", [int(h.get_shape()[1]), n], initializer=tf.random_normal_initializer(stddev=0.1))
            return tf.matmul(h, w) + tf.get_variable("b", [n], initializer=tf.zeros_initializer())

    def generator(z):
        with tf.variable_scope("G"):
            return tf.nn.sigmoid(dense(tf.nn.relu(dense(z, 32, "h")), 784, "out"))

    def discriminator(x, reuse):
        with tf.variable_scope("D", reuse=reuse):
            return tf.nn.sigmoid(dense(tf.nn.relu(dense(x, 32, "h")), 1, "out"))

    G_sample = generator(Z)
    D_real, D_fake = discriminator(X, False), discriminator(G_sample, True)
    D_loss = -tf.reduce_mean(tf.log(D_real) + tf.log(1.0 - D_fake))
    G_loss = -tf.reduce_mean(tf.log(D_fake))
    theta_D = [v for v in tf.trainable_variables() if v.name.startswith("D/")]
    theta_G = [v for v in tf.trainable_variables() if v.name.startswith("G/")]
    D_opt, G_opt = tf.train.AdamOptimizer(rate), tf.train.AdamOptimizer(rate * 0.1)
    # both gradients are of the weights before the step
    D_grads = D_opt.compute_gradients(D_loss, var_list=theta_D)
    G_grads = G_opt.compute_gradients(G_loss, var_list=theta_G)
    with tf.control_dependencies([g for g, _ in D_grads + G_grads]):
        solver = tf.group(D_opt.apply_gradients(D_grads), G_opt.apply_gradients(G_grads))

    def feeds(step):
        return {X: data.digits(step, 16)[0], Z: 2 * data.uniform(step, 16, 10) - 1}

    return D_loss, solver, feeds
