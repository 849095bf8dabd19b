"""Figure 1 of "TensorFlow: A System for Large-Scale Machine Learning" (OSDI 2016), run as printed.

Changed are only the import, the source of the digits, and the figure's misprint in `layer_1`, which
adds `b_2` where `b_1` is meant. The program of the figure ends with the training loop; below it, the
same graph is asked how many of the test digits it reads: about 87%, in real TensorFlow too. The
figure's weights are all positive; drawn from -0.1 to 0.1 instead, they lead to 94%.
"""

import tfnb as tf
from tfnb.datasets import mnist

BATCH_SIZE = 100
NUM_STEPS = 3000

digits = mnist.read_data_sets(one_hot=True)

# 1. The graph of the model: a hidden layer of 100 rectified units, then a linear one.
x = tf.placeholder(tf.float32, [BATCH_SIZE, 784])
y = tf.placeholder(tf.float32, [BATCH_SIZE, 10])

W_1 = tf.Variable(tf.random_uniform([784, 100]))
b_1 = tf.Variable(tf.zeros([100]))
layer_1 = tf.nn.relu(tf.matmul(x, W_1) + b_1)

W_2 = tf.Variable(tf.random_uniform([100, 10]))
b_2 = tf.Variable(tf.zeros([10]))
layer_2 = tf.matmul(layer_1, W_2) + b_2

# 2. The nodes that optimise it.
loss = tf.nn.softmax_cross_entropy_with_logits(layer_2, y)
train_op = tf.train.AdagradOptimizer(0.01).minimize(loss)

correct = tf.reduce_sum(tf.cast(tf.equal(tf.argmax(layer_2, 1), tf.argmax(y, 1)), tf.float32))

# 3. Batches of digits, fed to the graph.
with tf.Session() as sess:
    sess.run(tf.initialize_all_variables())
    for _ in range(NUM_STEPS):
        x_data, y_data = digits.train.next_batch(BATCH_SIZE)
        sess.run(train_op, {x: x_data, y: y_data})

    batches = digits.test.num_examples // BATCH_SIZE
    hits = 0.0
    for _ in range(batches):
        x_data, y_data = digits.test.next_batch(BATCH_SIZE, shuffle=False)
        hits += sess.run(correct, {x: x_data, y: y_data})
    accuracy = hits / (batches * BATCH_SIZE)
    print(f"test accuracy after {NUM_STEPS} steps: {accuracy:.4f}")
