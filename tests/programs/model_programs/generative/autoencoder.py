"""An autoencoder with sigmoids, its weights in dictionaries, trained with RMSProp."""

RATE = 0.01


def build(tf, data, rate):
    X = tf.placeholder("float", [None, 784])
    weights = {
        "encoder_h1": tf.Variable(tf.random_normal([784, 32], stddev=0.1)),
        "encoder_h2": tf.Variable(tf.random_normal([32, 16], stddev=0.3)),
        "decoder_h1": tf.Variable(tf.random_normal([16, 32], stddev=0.3)),
        "decoder_h2": tf.Variable(tf.random_normal([32, 784], stddev=0.1)),
    }
    biases = {
        "encoder_b1": tf.Variable(tf.random_normal([32])),
        "encoder_b2": tf.Variable(tf.random_normal([16])),
        "decoder_b1": tf.Variable(tf.random_normal([32])),
        "decoder_b2": tf.Variable(tf.random_normal([784])),
    }
    h = X
    for layer in ("encoder", "decoder"):
        for k in "12":
            W, b = weights["%s_h%s" % (layer, k)], biases["%s_b%s" % (layer, k)]
            h = tf.nn.sigmoid(tf.add(tf.matmul(h, W), b))
    cost = tf.reduce_mean(tf.pow(X - h, 2))
    train = tf.train.RMSPropOptimizer(rate).minimize(cost)
    return cost, train, lambda step: {X: data.digits(step, 32)[0]}
