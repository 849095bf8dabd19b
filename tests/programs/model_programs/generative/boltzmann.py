"""A restricted Boltzmann machine by contrastive divergence; the uniform numbers of the samples are fed."""

RATE = 0.5


def build(tf, data, rate):
    X = tf.placeholder("float", [16, 784])
    u_h, u_v = tf.placeholder("float", [16, 20]), tf.placeholder("float", [16, 784])
    W = tf.Variable(tf.random_normal([784, 20], stddev=0.01), name="rbm_w")
    vb = tf.Variable(tf.zeros([784]), name="rbm_vb")
    hb = tf.Variable(tf.zeros([20]), name="rbm_hb")

    def sample_prob(probs, uniform):
        return tf.nn.relu(tf.sign(probs - uniform))

    p_h0 = tf.nn.sigmoid(tf.matmul(X, W) + hb)
    h0 = sample_prob(p_h0, u_h)
    v1 = sample_prob(tf.nn.sigmoid(tf.matmul(h0, tf.transpose(W)) + vb), u_v)
    h1 = tf.nn.sigmoid(tf.matmul(v1, W) + hb)
    w_positive_grad = tf.matmul(tf.transpose(X), h0)
    w_negative_grad = tf.matmul(tf.transpose(v1), h1)
    n = tf.to_float(tf.shape(X)[0])
    steps = [
        (W, (w_positive_grad - w_negative_grad) / n),
        (vb, tf.reduce_mean(X - v1, 0)),
        (hb, tf.reduce_mean(h0 - h1, 0)),
    ]
    mean_field = tf.nn.sigmoid(tf.matmul(p_h0, W, transpose_b=True) + vb)
    loss = tf.reduce_mean(tf.square(X - mean_field))
    with tf.control_dependencies([loss] + [delta for _, delta in steps]):
        train = tf.group(*[tf.assign_add(v, rate * delta) for v, delta in steps])

    def feeds(step):
        x = data.digits(step, 16)[0]
        return {X: x, u_h: data.uniform(step, 16, 20), u_v: data.uniform(step + 99, 16, 784)}

    return loss, train, feeds
