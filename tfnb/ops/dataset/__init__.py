"""Data sets (tf.data): sources, transformations, iterators, and their ops."""

FAMILIES = ("dataset_ops",)
