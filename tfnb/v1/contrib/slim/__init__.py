"""Training loops, evaluation and input of `tf.contrib.slim`."""
