"""Probability distributions (`tf.distributions`, `tf.contrib.distributions`): graphs of their densities and samples."""
