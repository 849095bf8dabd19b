"""A conv net in the way of LeNet-5: weight_variable, bias_variable, conv2d, max_pool_2x2."""

RATE = 1e-3


def build(tf, data, rate):
    def weight_variable(shape):
        return tf.Variable(tf.truncated_normal(shape, stddev=0.1))

    def bias_variable(shape):
        return tf.Variable(tf.constant(0.1, shape=shape))

    def conv2d(x, W):
        return tf.nn.conv2d(x, W, strides=[1, 1, 1, 1], padding="SAME")

    def max_pool_2x2(x):
        return tf.nn.max_pool(x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")

    x = tf.placeholder(tf.float32, shape=[None, 784])
    y_ = tf.placeholder(tf.float32, shape=[None, 10])
    x_image = tf.reshape(x, [-1, 28, 28, 1])
    W_conv1, b_conv1 = weight_variable([5, 5, 1, 4]), bias_variable([4])
    h_pool1 = max_pool_2x2(tf.nn.relu(conv2d(x_image, W_conv1) + b_conv1))
    W_conv2, b_conv2 = weight_variable([5, 5, 4, 8]), bias_variable([8])
    h_pool2 = max_pool_2x2(tf.nn.relu(conv2d(h_pool1, W_conv2) + b_conv2))
    W_fc1, b_fc1 = weight_variable([7 * 7 * 8, 32]), bias_variable([32])
    h_fc1 = tf.nn.relu(tf.matmul(tf.reshape(h_pool2, [-1, 7 * 7 * 8]), W_fc1) + b_fc1)
    W_fc2, b_fc2 = weight_variable([32, 10]), bias_variable([10])
    y_conv = tf.matmul(h_fc1, W_fc2) + b_fc2
    cross_entropy = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y_, logits=y_conv))
    train_step = tf.train.AdamOptimizer(rate).minimize(cross_entropy)

    def feeds(step):
        images, digits = data.digits(step, 16)
        return {x: images, y_: data.one_hot(digits)}

    return cross_entropy, train_step, feeds
