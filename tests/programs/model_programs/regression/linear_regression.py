"""A line through noisy points, by gradient descent: the first program of every tutorial."""

RATE = 0.1


def build(tf, data, rate):
    X = tf.placeholder("float")
    Y = tf.placeholder("float")
    W = tf.Variable(0.3, name="weight")
    b = tf.Variable(-0.2, name="bias")
    pred = tf.add(tf.multiply(X, W), b)
    cost = tf.reduce_sum(tf.pow(pred - Y, 2)) / (2 * 20)
    train = tf.train.GradientDescentOptimizer(rate).minimize(cost)

    def feeds(step):
        x = data.normal(step, 20)
        return {X: x, Y: 2.0 * x + 1.0 + 0.1 * data.normal(step + 50, 20)}

    return cost, train, feeds
