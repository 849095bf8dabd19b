"""Lookup tables (`tf.lookup`, `tf.contrib.lookup`) and what is made of them."""
