"""Softmax regression as in the appendix of "A Tour of TensorFlow" (2016)."""

RATE = 0.5


def build(tf, data, rate):
    examples = tf.placeholder(tf.float32, [None, 784])
    labels = tf.placeholder(tf.float32, [None, 10])
    weights = tf.Variable(tf.truncated_normal(shape=[784, 10], stddev=0.1))
    bias = tf.Variable(tf.constant(0.1, shape=[10]))
    logits = tf.matmul(examples, weights) + bias
    estimates = tf.nn.softmax(logits)
    cross_entropy = -tf.reduce_sum(labels * tf.log(estimates), reduction_indices=[1])
    loss = tf.reduce_mean(cross_entropy)
    train = tf.train.GradientDescentOptimizer(rate).minimize(loss)

    def feeds(step):
        images, digits = data.digits(step, 50)
        return {examples: images, labels: data.one_hot(digits)}

    return loss, train, feeds
