"""Deep Q learning: a target network that is copied softly, a Huber loss on the temporal difference."""

RATE = 0.01


def build(tf, data, rate):
    state, next_state = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.float32, [None, 4])
    action = tf.placeholder(tf.int32, [None])
    reward = tf.placeholder(tf.float32, [None])

    def q_values(x, scope):
        with tf.variable_scope(scope):
            h = tf.layers.dense(x, 16, tf.nn.relu, kernel_initializer=tf.glorot_normal_initializer())
            return tf.layers.dense(h, 3, kernel_initializer=tf.glorot_normal_initializer())

    q = tf.reduce_sum(q_values(state, "online") * tf.one_hot(action, 3), axis=1)
    best = tf.reduce_max(q_values(next_state, "target"), axis=1)
    error = reward + 0.5 * tf.stop_gradient(best) - q
    small = tf.abs(error) <= 1.0
    loss = tf.reduce_mean(tf.where(small, 0.5 * tf.square(error), tf.abs(error) - 0.5))
    online, target = tf.trainable_variables("online"), tf.trainable_variables("target")
    step = tf.train.AdamOptimizer(rate).minimize(loss, var_list=online)
    with tf.control_dependencies([step]):
        copies = [t.assign(0.95 * t + 0.05 * o.read_value()) for o, t in zip(online, target)]
    train = tf.group(*copies)

    def feeds(step):
        s, n = data.normal(step, 32, 4), data.normal(step + 500, 32, 4)
        a = data.integers(step, 3, 32)
        return {state: s, next_state: n, action: a, reward: s[:, 0] * (a - 1)}

    return loss, train, feeds
