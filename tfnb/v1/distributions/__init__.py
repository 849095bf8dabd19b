"""Probability distributions (`tf.distributions`, `tf.contrib.distributions`): densities and samples as graphs."""
