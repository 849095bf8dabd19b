"""Weights of small magnitude are masked while a model is trained: `tf.contrib.model_pruning`."""
