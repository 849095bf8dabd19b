"""Skip-gram word vectors with noise-contrastive estimation; the candidates are fed."""

import numpy as np

RATE = 0.5


def build(tf, data, rate):
    vocabulary, size, sampled = 27, 8, 6
    train_inputs = tf.placeholder(tf.int32, shape=[16])
    train_labels = tf.placeholder(tf.int64, shape=[16, 1])
    candidates = tf.placeholder(tf.int64, shape=[sampled])
    embeddings = tf.Variable(tf.random_uniform([vocabulary, size], -1.0, 1.0))
    embed = tf.nn.embedding_lookup(embeddings, train_inputs)
    nce_weights = tf.Variable(tf.truncated_normal([vocabulary, size], stddev=1.0 / size**0.5))
    nce_biases = tf.Variable(tf.zeros([vocabulary]))
    expected = (tf.fill([16, 1], 0.3), tf.fill([sampled], 0.2))
    loss = tf.reduce_mean(
        tf.nn.nce_loss(
            weights=nce_weights,
            biases=nce_biases,
            labels=train_labels,
            inputs=embed,
            num_sampled=sampled,
            num_classes=vocabulary,
            sampled_values=(candidates, expected[0], expected[1]),
        )
    )
    optimizer = tf.train.GradientDescentOptimizer(rate).minimize(loss)
    norm = tf.sqrt(tf.reduce_sum(tf.square(embeddings), 1, keep_dims=True))
    tf.add_to_collection("normalized", embeddings / norm)

    def feeds(step):
        text = data.text()[step : step + 17]
        drawn = np.random.default_rng(step).permutation(vocabulary)[:sampled]
        return {train_inputs: text[:-1], train_labels: text[1:, None], candidates: drawn}

    return loss, optimizer, feeds
