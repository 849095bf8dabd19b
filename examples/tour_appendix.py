"""Softmax regression with the calls of Appendix I of "A Tour of TensorFlow" (Goldsborough, 2016).

It uses the API of TensorFlow 0.9 as that program does: keyword arguments that were renamed since
(`reduction_indices`, `dimension`), `initialize_all_variables`, and `run` as a method of operations.
"""

import tfnb as tf
from tfnb.datasets import mnist as input_data

mnist = input_data.read_data_sets("/tmp/mnist", one_hot=True)

graph = tf.Graph()
with graph.as_default():
    # The number of examples is left open, so any batch fits.
    examples = tf.placeholder(shape=[None, 784], dtype=tf.float32)
    labels = tf.placeholder(shape=[None, 10], dtype=tf.float32)

    weights = tf.Variable(tf.truncated_normal(shape=[784, 10], stddev=0.1))
    bias = tf.Variable(tf.constant(0.1, shape=[10]))

    logits = tf.matmul(examples, weights) + bias
    estimates = tf.nn.softmax(logits)

    cross_entropy = -tf.reduce_sum(labels * tf.log(estimates), reduction_indices=[1])
    loss = tf.reduce_mean(cross_entropy)
    optimizer = tf.train.GradientDescentOptimizer(0.5).minimize(loss)

    hits = tf.equal(tf.argmax(estimates, dimension=1), tf.argmax(labels, dimension=1))
    accuracy = tf.reduce_mean(tf.cast(hits, tf.float32))

with tf.Session(graph=graph) as session:
    tf.initialize_all_variables().run()
    for step in range(1001):
        example_batch, label_batch = mnist.train.next_batch(100)
        feed_dict = {examples: example_batch, labels: label_batch}
        if step % 100 == 0:
            _, loss_value, accuracy_value = session.run([optimizer, loss, accuracy], feed_dict=feed_dict)
            print(f"step {step}: loss {loss_value:.4f}, accuracy {accuracy_value:.2f}")
        else:
            optimizer.run(feed_dict)

    test_accuracy = accuracy.eval({examples: mnist.test.images, labels: mnist.test.labels})
    print(f"test accuracy: {test_accuracy:.4f}")
