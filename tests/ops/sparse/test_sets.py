"""Static shapes of the set operations."""

import tfnb as tf


def test_the_static_shape_of_set_sizes_is_unknown():
    with tf.Graph().as_default(), tf.Session() as sess:
        sets = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [1, 2, 3], [2, 2])
        sizes = tf.sets.set_size(sets)
        assert sizes.shape.dims is None
        assert sess.run(sizes).tolist() == [2, 1]
