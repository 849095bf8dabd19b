"""Generative adversarial networks: `tf.contrib.gan`."""
