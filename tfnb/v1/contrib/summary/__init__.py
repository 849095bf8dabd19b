"""Summaries that a step writes itself, and what tests ask of them: `tf.contrib.summary`, `tf.contrib.testing`."""
