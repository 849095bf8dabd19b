"""Recurrent networks of TensorFlow 0.12: its orders of arguments, its states, the names of its variables.

The argument is a checkpoint that this program has written under TensorFlow 0.12.1.
"""
import sys
import numpy as np
import tensorflow as tf
from tensorflow.python.ops import rnn, rnn_cell

x = tf.placeholder(tf.float32, [2, 3, 4])
steps = [tf.squeeze(part, [1]) for part in tf.split(1, 3, x)]
with tf.variable_scope('model', initializer=tf.random_uniform_initializer(-0.5, 0.5)):
    many = rnn_cell.MultiRNNCell([rnn_cell.BasicLSTMCell(5, 0.0, 4)] * 2)
    outputs, state = rnn.rnn(many, steps, dtype=tf.float32)
    with tf.variable_scope('dynamic'):
        full = rnn_cell.LSTMCell(5, use_peepholes=True, num_proj=3)
        hidden, _ = tf.nn.dynamic_rnn(full, x, [3, 3], dtype=tf.float32)
    both, _ = tf.nn.bidirectional_dynamic_rnn(rnn_cell.GRUCell(3), rnn_cell.BasicRNNCell(3), x, [3, 3], dtype=tf.float32)
joined = tf.concat(1, outputs + [tf.concat(0, hidden[:, 0])])
loss = tf.nn.weighted_cross_entropy_with_logits(joined, tf.ones_like(joined), 2.0)
total = tf.reduce_sum(loss) + tf.reduce_sum(tf.concat(2, both))
print('\n'.join(sorted('%s %s' % (v.op.name, v.get_shape().as_list()) for v in tf.all_variables())))
saver = tf.train.Saver()
with tf.Session() as sess:
    saver.restore(sess, sys.argv[1])
    print('total %.4f' % sess.run(total, {x: np.linspace(-1, 1, 24).reshape(2, 3, 4)}))
