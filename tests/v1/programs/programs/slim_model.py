"""The model of slim_digits.py."""
import tensorflow as tf
from tensorflow.contrib.framework import arg_scope

slim = tf.contrib.slim


def small(images, num_classes, scope='small'):
    with tf.variable_scope(scope, 'small', [images]):
        with arg_scope([slim.conv2d, slim.fully_connected], weights_regularizer=slim.l2_regularizer(1e-4)):
            net = slim.conv2d(images, 4, [3, 3], normalizer_fn=slim.batch_norm, scope='conv1')
            net = slim.max_pool2d(net, [2, 2], scope='pool1')
            return slim.fully_connected(slim.flatten(net), num_classes, activation_fn=None, scope='logits'), {'net': net}
