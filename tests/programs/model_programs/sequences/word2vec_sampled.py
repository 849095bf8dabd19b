"""Word vectors from the mean of the context (CBOW) with a sampled softmax; the candidates are fed."""

import numpy as np

RATE = 0.5


def build(tf, data, rate):
    vocabulary, size, sampled, batch = 27, 8, 6, 12
    context = tf.placeholder(tf.int32, shape=[batch, 2])
    target = tf.placeholder(tf.int64, shape=[batch, 1])
    candidates = tf.placeholder(tf.int64, shape=[sampled])
    embeddings = tf.get_variable("embeddings", [vocabulary, size], initializer=tf.random_uniform_initializer(-1.0, 1.0))
    mean = tf.reduce_mean(tf.nn.embedding_lookup(embeddings, context), 1)
    weights = tf.get_variable("weights", [vocabulary, size], initializer=tf.truncated_normal_initializer(stddev=0.3))
    biases = tf.get_variable("biases", [vocabulary], initializer=tf.zeros_initializer())
    values = (candidates, tf.ones([batch, 1]) * 0.4, tf.ones([sampled]) * 0.25)
    losses = tf.nn.sampled_softmax_loss(weights, biases, target, mean, sampled, vocabulary, sampled_values=values)
    loss = tf.reduce_mean(losses)
    train = tf.train.AdagradOptimizer(rate).minimize(loss)

    def feeds(step):
        text = data.text()[step : step + batch + 2]
        around = np.stack([text[:-2], text[2:]], 1)
        drawn = np.random.default_rng(step).permutation(vocabulary)[:sampled]
        return {context: around, target: text[1:-1, None], candidates: drawn}

    return loss, train, feeds
