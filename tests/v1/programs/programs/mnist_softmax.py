"""Softmax regression on digits, with flags and tf.app.run: how a program of TensorFlow 0.8 looks."""
from __future__ import absolute_import
from __future__ import division
from __future__ import print_function

import sys

import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data

flags = tf.app.flags
FLAGS = flags.FLAGS
flags.DEFINE_string('data_dir', '/tmp/data/', 'Directory for storing data')
flags.DEFINE_integer('steps', 60, 'Number of steps to run trainer.')
flags.DEFINE_float('learning_rate', 0.5, 'Initial learning rate.')


def main(_):
    mnist = input_data.read_data_sets(FLAGS.data_dir, one_hot=True)
    sess = tf.InteractiveSession()
    x = tf.placeholder(tf.float32, [None, 784], name='x-input')
    y_ = tf.placeholder(tf.float32, [None, 10], name='y-input')
    W = tf.Variable(tf.zeros([784, 10]), name='weights')
    b = tf.Variable(tf.zeros([10], name='bias'))
    with tf.name_scope('Wx_b'):
        y = tf.nn.softmax(tf.matmul(x, W) + b)
    cross_entropy = -tf.reduce_sum(y_ * tf.log(tf.clip_by_value(y, 1e-10, 1.0)), reduction_indices=[1])
    train_step = tf.train.GradientDescentOptimizer(FLAGS.learning_rate).minimize(tf.reduce_mean(cross_entropy))
    correct = tf.equal(tf.argmax(y, 1), tf.argmax(y_, 1))
    accuracy = tf.reduce_mean(tf.cast(correct, tf.float32))
    tf.initialize_all_variables().run()
    for i in range(FLAGS.steps):
        batch_xs, batch_ys = mnist.train.next_batch(100)
        train_step.run({x: batch_xs, y_: batch_ys})
    print('version %s' % tf.__version__)
    print('accuracy %.2f' % accuracy.eval({x: mnist.test.images, y_: mnist.test.labels}))
    print('arguments %s' % sys.argv[1:])


if __name__ == '__main__':
    tf.app.run()
