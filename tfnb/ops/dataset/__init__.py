"""Data sets (tf.data): sources, transformations, iterators, and the ops that make them."""

FAMILIES = ("dataset_ops",)
