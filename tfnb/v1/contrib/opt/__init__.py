"""Optimizers of `tf.contrib.opt`: variants of Adam, by signs of gradients, and around other optimizers."""
