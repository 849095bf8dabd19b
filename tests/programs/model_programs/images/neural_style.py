"""Style transfer: an image is optimised so that its features and their Gram matrix fit; total variation smooths it."""

RATE = 0.05


def build(tf, data, rate):
    content = tf.placeholder(tf.float32, [1, 14, 14, 1])
    style = tf.placeholder(tf.float32, [1, 14, 14, 1])
    kernel = tf.constant(data.normal(3, 3, 3, 1, 4) * 0.3)
    image = tf.Variable(tf.random_normal([1, 14, 14, 1], stddev=0.256), name="image")

    def features(x):
        return tf.nn.relu(tf.nn.conv2d(x, kernel, [1, 1, 1, 1], "SAME"))

    def gram(f):
        flat = tf.reshape(f, [-1, 4])
        return tf.matmul(tf.transpose(flat), flat) / (14 * 14 * 4)

    f = features(image)
    content_loss = tf.nn.l2_loss(f - features(content)) / 100
    style_loss = tf.nn.l2_loss(gram(f) - gram(features(style)))
    variation = tf.nn.l2_loss(image[:, 1:, :, :] - image[:, :13, :, :])
    variation += tf.nn.l2_loss(image[:, :, 1:, :] - image[:, :, :13, :])
    loss = content_loss + 10.0 * style_loss + 0.01 * variation
    train = tf.train.AdamOptimizer(rate).minimize(loss)
    return loss, train, lambda step: {content: data.small(0, 1), style: data.small(5, 1)}
