"""Layers: tf.layers, fluent chains of them, and feature columns."""
