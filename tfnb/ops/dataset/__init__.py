"""Data sets (`tf.data`): sources of elements, transformations, iterators, and the operations that create them."""

FAMILIES = ("choices", "iterator_ops", "source_ops", "transform_ops")
