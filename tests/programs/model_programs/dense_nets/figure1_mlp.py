"""The program of Figure 1 of "TensorFlow: A System for Large-Scale Machine Learning" (2016)."""

RATE = 0.01


def build(tf, data, rate):
    x = tf.placeholder(tf.float32, [None, 784])
    y = tf.placeholder(tf.float32, [None, 10])
    W_1 = tf.Variable(tf.random_uniform([784, 100], -0.1, 0.1))
    b_1 = tf.Variable(tf.zeros([100]))
    layer_1 = tf.nn.relu(tf.matmul(x, W_1) + b_1)
    W_2 = tf.Variable(tf.random_uniform([100, 10], -0.1, 0.1))
    b_2 = tf.Variable(tf.zeros([10]))
    layer_2 = tf.matmul(layer_1, W_2) + b_2
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=layer_2))
    train = tf.train.AdagradOptimizer(rate).minimize(loss)

    def feeds(step):
        images, digits = data.digits(step, 100)
        return {x: images, y: data.one_hot(digits)}

    return loss, train, feeds
