"""Readers, record files and tf.Example as users know them."""
