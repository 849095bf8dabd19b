"""A small network of contrib.slim, whose model is in a file beside the program, as in repositories of 2017."""
import numpy as np
import tensorflow as tf
import tensorflow.contrib.slim as slim
from tensorflow.python.framework import ops
from tensorflow.python.ops import control_flow_ops, math_ops

import slim_model

tf.logging.set_verbosity(tf.logging.ERROR)
ops.reset_default_graph()
tf.set_random_seed(1)
images = tf.placeholder(tf.float32, [None, 8, 8, 1])
labels = tf.placeholder(tf.int64, [None])
logits, end_points = slim_model.small(images, num_classes=2)
loss = tf.losses.sparse_softmax_cross_entropy(labels=labels, logits=logits)
total = math_ops.add_n([loss] + tf.get_collection(ops.GraphKeys.REGULARIZATION_LOSSES))
updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
with tf.control_dependencies(updates):
    train_op = slim.learning.create_train_op(total, tf.train.AdamOptimizer(0.01)) \
        if hasattr(slim, 'learning') else tf.train.AdamOptimizer(0.01).minimize(total)
rng = np.random.RandomState(0)
xs = rng.rand(32, 8, 8, 1).astype('f')
ys = (xs[:, :4].mean((1, 2, 3)) > xs[:, 4:].mean((1, 2, 3))).astype('i8')
with tf.Session() as sess:
    sess.run(control_flow_ops.group(tf.global_variables_initializer(), tf.local_variables_initializer()))
    losses = [sess.run([loss, train_op], {images: xs, labels: ys})[0] for _ in range(30)]
print('falls', losses[-1] < 0.5 * losses[0])
print('names', [v.op.name for v in slim.get_model_variables()])
