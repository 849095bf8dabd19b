"""Where the partial gradients of a tensor are added when gradients are colocated with their operations."""

import tfnb as tf


def _product_of_one_matrix(device_x, device_y):
    w = tf.ones([1, 1])
    with tf.device(device_x):
        wx = tf.matmul(w, tf.ones([1, 2]))
    with tf.device(device_y):
        wy = tf.matmul(w, tf.ones([1, 2]))
    return w, wx, wx + wy


def test_partial_gradients_of_one_device_are_added_beside_the_first():
    with tf.Graph().as_default():
        w, wx, z = _product_of_one_matrix(None, None)
        (gradient,) = tf.gradients(z, [w], colocate_gradients_with_ops=True)
        assert gradient.op.type == "AddN"
        assert gradient.op.colocation_groups() == wx.op.colocation_groups()
        (gradient,) = tf.gradients(z, [w])
        assert gradient.op.colocation_groups() != wx.op.colocation_groups()


def test_partial_gradients_of_several_devices_are_added_at_the_tensor():
    with tf.Graph().as_default(), tf.Session() as sess:
        w, _, z = _product_of_one_matrix("/task:1", "/task:2")
        (gradient,) = tf.gradients(z, [w], colocate_gradients_with_ops=True)
        assert gradient.op.colocation_groups() == w.op.colocation_groups()
    with tf.Graph().as_default(), tf.Session() as sess:
        w, _, z = _product_of_one_matrix(None, None)
        assert sess.run(tf.gradients(z, [w], colocate_gradients_with_ops=True)) == [[[4.0]]]
